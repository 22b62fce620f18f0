package journal_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/platform/journal"
)

const platform = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// signer returns one of the keys of a platform.
func signer(fill byte) (ed25519.PrivateKey, ed25519.PublicKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{fill}, ed25519.SeedSize))
	return key, key.Public().(ed25519.PublicKey)
}

// entry returns the text of an entry that is signed with the first key.
func entry(t testing.TB, sequence int64, previous journal.Hash, leads ...string) []byte {
	t.Helper()
	key, public := signer(1)
	return sign(t, newEntry(sequence, previous, public, leads...), key)
}

func newEntry(sequence int64, previous journal.Hash, next ed25519.PublicKey, leads ...string) journal.Entry {
	return journal.Entry{
		Platform: platform, Sequence: sequence, Previous: previous, At: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
		By: "operator", Reason: "request", Leads: leads, Key: next,
	}
}

func sign(t testing.TB, e journal.Entry, key ed25519.PrivateKey) []byte {
	t.Helper()
	text, err := e.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The signature covers the text of an entry without its member "signature", as the documentation states.
func TestSignature(t *testing.T) {
	_, public := signer(1)
	text := entry(t, 1, journal.Hash{}, "ld_1")
	var e struct{ Signature []byte }
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	unsigned, _, found := strings.Cut(string(text), `,"signature":`)
	if !found || !ed25519.Verify(public, []byte(unsigned+"}"), e.Signature) {
		t.Errorf("the signature of %s is not valid", text)
	}
	if strings.Contains(string(text), "keeps_consent") {
		t.Errorf("got %s, want no keeps_consent", text)
	}
}

// Each entry is signed with the key in the previous one.
func TestNextFollowsChangesOfKey(t *testing.T) {
	first, firstPublic := signer(1)
	second, secondPublic := signer(2)
	head := journal.Head{}
	for i, tt := range []struct {
		signer ed25519.PrivateKey
		next   ed25519.PublicKey
		valid  bool
	}{
		{first, secondPublic, false}, // the first entry is signed with its own key
		{first, firstPublic, true},
		{second, secondPublic, false}, // a stranger takes over
		{first, secondPublic, true},
		{first, firstPublic, false}, // the first key is no longer valid
		{first, secondPublic, false},
		{second, secondPublic, true},
		{second, firstPublic, true},
		{first, firstPublic, true},
	} {
		e, next, err := head.Next(sign(t, newEntry(head.Sequence+1, head.Hash, tt.next, "ld_1"), tt.signer), platform)
		if (err == nil) != tt.valid {
			t.Errorf("entry %d: got %v, want valid: %t", i, err, tt.valid)
		}
		if err == nil && (next.Sequence != e.Sequence || !next.Key.Equal(tt.next)) {
			t.Errorf("entry %d: got head %+v", i, next)
		}
		head = next
	}
}

func TestNextRejects(t *testing.T) {
	key, public := signer(1)
	stranger, _ := signer(3)
	first := entry(t, 1, journal.Hash{}, "ld_1")
	_, head, err := journal.Head{}.Next(first, platform)
	if err != nil {
		t.Fatal(err)
	}
	second := entry(t, 2, head.Hash, "ld_2")
	if _, _, err := head.Next(second, platform); err != nil {
		t.Fatal(err)
	}
	unsigned, _, _ := strings.Cut(string(second), `,"signature":`)
	for name, text := range map[string][]byte{
		"other sequence": entry(t, 3, head.Hash, "ld_2"),
		"other previous": entry(t, 2, journal.HashOf(second), "ld_2"),
		"not JSON":       []byte(`{`),
		"empty":          []byte(`{}`),
		"more text":      append(bytes.Clone(second), ' '),
		"unknown field":  bytes.Replace(second, []byte(`"by"`), []byte(`"x":1,"by"`), 1),
		"short hash":     bytes.Replace(second, []byte(`"previous":"`), []byte(`"previous":"00`), 1),
		"changed lead":   bytes.Replace(second, []byte(`ld_2`), []byte(`ld_3`), 1),
		"unsigned":       []byte(unsigned + "}"),
		"other signer":   sign(t, newEntry(2, head.Hash, public, "ld_2"), stranger),
		"no key":         sign(t, newEntry(2, head.Hash, nil, "ld_2"), key),
		"short key":      sign(t, newEntry(2, head.Hash, public[:31], "ld_2"), key),
	} {
		if e, _, err := head.Next(text, platform); err == nil {
			t.Errorf("%s: got %+v", name, e)
		}
	}
	if e, _, err := head.Next(second, "other"); err == nil {
		t.Errorf("other platform: got %+v", e)
	}
}

func FuzzNext(f *testing.F) {
	f.Add(entry(f, 1, journal.Hash{}, "ld_1"))
	f.Add([]byte(`{"sequence":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, _, err := journal.Head{}.Next(text, platform)
		if err != nil {
			return
		}
		if again, err := json.Marshal(e); err != nil || !bytes.Equal(again, text) {
			t.Errorf("an accepted entry has a different text: %s, %v", again, err)
		}
	})
}
