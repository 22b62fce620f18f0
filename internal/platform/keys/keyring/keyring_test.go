package keyring

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, KeySize) }

func keys(t testing.TB, fills ...byte) *Keys {
	t.Helper()
	var raw [][]byte
	for _, f := range fills {
		raw = append(raw, key(f))
	}
	k, err := NewKeys(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSealedValuesOpenUnderAnyConfiguredKey(t *testing.T) {
	owner, plain := []byte("partner-1"), []byte("the secret")
	value := keys(t, 1).Seal(SigningSecret, owner, plain)

	for name, k := range map[string]*Keys{"same": keys(t, 1), "rotated": keys(t, 2, 1)} {
		if got, err := k.Open(SigningSecret, owner, value); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := keys(t, 2).Open(SigningSecret, owner, value); err == nil {
		t.Error("opened without its key")
	}
	if _, err := keys(t, 1).Open(Body, owner, value); err == nil {
		t.Error("opened for another purpose")
	}
	if _, err := keys(t, 1).Open(SigningSecret, []byte("partner-2"), value); err == nil {
		t.Error("opened for another owner")
	}
}

func TestEveryChangedByteIsRejected(t *testing.T) {
	k := keys(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "plain")
		value := k.Seal(SigningSecret, nil, plain)
		at := rapid.IntRange(0, len(value)-1).Draw(t, "at")
		value[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if _, err := k.Open(SigningSecret, nil, value); err == nil {
			t.Fatalf("opened with byte %d changed", at)
		}
		if _, err := k.Open(SigningSecret, nil, value[:at]); err == nil {
			t.Fatalf("opened when truncated to %d bytes", at)
		}
	})
}

func TestDigestsMatchTheirKeyOnly(t *testing.T) {
	value := []byte("person@example.com")
	old := keys(t, 1).Digest(Lookup, value)
	both := keys(t, 2, 1)
	if !both.Matches(Lookup, value, old) {
		t.Error("a digest of the older key no longer matches")
	}
	if got := both.Digests(Lookup, value); len(got) != 2 || !bytes.Equal(got[1], old) {
		t.Errorf("the digests under both keys do not contain the old one")
	}
	for name, ok := range map[string]bool{
		"another value":   both.Matches(Lookup, []byte("other@example.com"), old),
		"another purpose": both.Matches(Body, value, old),
		"key removed":     keys(t, 2).Matches(Lookup, value, old),
		"no digest":       both.Matches(Lookup, value, nil),
	} {
		if ok {
			t.Errorf("%s: matched", name)
		}
	}
}

func TestNewKeysRejects(t *testing.T) {
	for name, raw := range map[string][][]byte{
		"none": nil, "short": {key(1)[:31]}, "twice": {key(1), key(1)},
	} {
		if _, err := NewKeys(raw); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
