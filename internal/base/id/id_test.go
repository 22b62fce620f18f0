package id

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestFormatAndParseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var u uuid.UUID
		copy(u[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		text := Format(Lead, u)
		for _, form := range []string{text, strings.ToLower(text), strings.ToUpper(text)} {
			if got, err := Parse(Lead, form); err != nil || got != u {
				t.Fatalf("got %[2]s, %[3]v, want %[1]s", form, got, err)
			}
		}
	})
}

func TestTextSortsLikeTheBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "b")
		if strings.Compare(string(a), string(b)) != strings.Compare(Format(Lead, uuid.UUID(a)), Format(Lead, uuid.UUID(b))) {
			t.Fatalf("%x and %x sort differently as text", a, b)
		}
	})
}

func TestParseReadsLookAlikes(t *testing.T) {
	want := uuid.UUID{15: 0x20 | 1} // ...11 in base32
	for _, text := range []string{"00000000000000000000000011", "OOooOOooOOooOOooOOooOOooIl"} {
		if got, err := Parse(Lead, "ld_"+text); err != nil || got != want {
			t.Errorf("Parse(%q) = %s, %v", text, got, err)
		}
	}
}

func TestParseRejects(t *testing.T) {
	good := Format(Lead, uuid.Must(uuid.NewV7()))
	for name, text := range map[string]string{
		"empty": "", "prefix only": "ld_", "another kind": "pt_" + good[3:], "short": good[:28],
		"long": good + "0", "more than 128 bits": "ld_8" + good[4:], "invalid letter": good[:28] + "U",
		"blank": " " + good[1:], "non-ASCII": good[:27] + "é",
	} {
		if _, err := Parse(Lead, text); err == nil {
			t.Errorf("%s: %q was accepted", name, text)
		}
	}
}

func TestNewHasItsTimeAndIsUnique(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_912_345, time.UTC)
	seen := map[uuid.UUID]bool{}
	for range 1000 {
		u := New(at)
		if u.Version() != 7 || !Time(u).Equal(at.Truncate(time.Millisecond)) {
			t.Fatalf("%s has version %d and time %s", u, u.Version(), Time(u))
		}
		if seen[u] {
			t.Fatalf("%s was returned twice", u)
		}
		seen[u] = true
	}
}

func TestNewV7(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_912_345, time.UTC)
	u := NewV7(at, [10]byte{0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7})
	if u.Version() != 7 || u.Variant() != uuid.RFC4122 {
		t.Errorf("%s has version %d, variant %s", u, u.Version(), u.Variant())
	}
	if !Time(u).Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("got time %s, want %s", Time(u), at)
	}
}
