package quote

import (
	"bytes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/pingpost/pingpost/internal/base/id"
)

const (
	nonceAt = 2
	bodyAt  = nonceAt + 24
)

func rawOf(t testing.TB, token string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(token[len(Prefix):])
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func tokenOf(raw []byte) string { return Prefix + base64.RawURLEncoding.EncodeToString(raw) }

func aeadOf(t testing.TB, fill byte) cipher.AEAD {
	t.Helper()
	aead, err := chacha20poly1305.NewX(bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return aead
}

// The nonce is the identity of the transaction followed by the last eight random bytes,
// without reusing any byte (decision 1).
func TestNonceIsIdentityAndRandomBytes(t *testing.T) {
	s, r := sealer(t, 1), random()
	token, q, err := s.Seal(nil, sample(), at, r)
	if err != nil {
		t.Fatal(err)
	}
	want := append(q.ID[:], r[RandomSize-8:]...)
	if nonce := rawOf(t, string(token))[nonceAt:bodyAt]; !bytes.Equal(nonce, want) {
		t.Errorf("got nonce %x, want %x", nonce, want)
	}
}

// The version and the key id are additional data (decision 1). A token can be opened only if
// neither of them has changed.
func TestVersionAndKeyIDAreAuthenticated(t *testing.T) {
	s, aead := sealer(t, 1), aeadOf(t, 1)
	token, _ := seal(t, s, sample(), at)
	raw := rawOf(t, token)
	nonce := raw[nonceAt:bodyAt]
	plain, err := aead.Open(nil, nonce, raw[bodyAt:], raw[:nonceAt])
	if err != nil {
		t.Fatalf("opening a token from Append: %v", err)
	}
	id := raw[1]
	for name, c := range map[string]struct {
		authenticated []byte
		want          error
	}{
		"version and key id": {[]byte{1, id}, nil},
		"nothing":            {nil, ErrFormat},
		"version only":       {[]byte{1}, ErrFormat},
		"key id only":        {[]byte{id}, ErrFormat},
		"another version":    {[]byte{2, id}, ErrFormat},
		"another key id":     {[]byte{1, id ^ 1}, ErrFormat},
	} {
		made := aead.Seal(bytes.Clone(raw[:bodyAt]), nonce, plain, c.authenticated)
		if _, err := s.Open(tokenOf(made), at); !errors.Is(err, c.want) {
			t.Errorf("%s: got error %v, want %v", name, err, c.want)
		}
	}
	later := append([]byte{2, id}, nonce...) // a genuine token from a future version
	if _, err := s.Open(tokenOf(aead.Seal(later, nonce, plain, []byte{2, id})), at); !errors.Is(err, ErrFormat) {
		t.Errorf("unknown version: got error %v", err)
	}
}

// A token with a changed version or key id cannot be opened, whether with one key, with two keys
// that share an id, or with keys for nearly every id.
func TestTokenWithChangedHeadDoesNotOpen(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	one, other := twins(t)
	for name, fills := range map[string][]byte{"one key": {one}, "two of one id": {other, one}, "all": all} {
		s := sealer(t, fills...)
		for _, fill := range []byte{one, other} {
			token, _ := seal(t, sealer(t, fill), sample(), at)
			raw := rawOf(t, token)
			for place := range nonceAt {
				for change := 1; change < 256; change++ {
					forged := bytes.Clone(raw)
					forged[place] ^= byte(change)
					if _, err := s.Open(tokenOf(forged), at); !errors.Is(err, ErrFormat) {
						t.Fatalf("%s: byte %d changed by %#x: %v", name, place, change, err)
					}
				}
			}
		}
	}
}

// twins returns two keys that share an id.
func twins(t testing.TB) (one, other byte) {
	t.Helper()
	known := map[byte]byte{}
	for fill := range 256 {
		id := idOf(aeadOf(t, byte(fill)))
		if twin, taken := known[id]; taken {
			return twin, byte(fill)
		}
		known[id] = byte(fill)
	}
	t.Fatal("none of 256 keys share an id")
	return 0, 0
}

func TestParseLead(t *testing.T) {
	s, r := sealer(t, 1), random()
	token, q, err := s.Seal(nil, sample(), at, r)
	if err != nil {
		t.Fatal(err)
	}
	leadID := id.Format(id.Lead, q.ID)
	for _, text := range []string{
		string(token), leadID, strings.ToUpper(leadID), " \t" + leadID + "\u00a0\n",
		"\u200b" + leadID + "\ufeff", `"` + string(token) + `"`, "“" + leadID + "”",
	} {
		if got, err := ParseLead(text); err != nil || got != q.ID {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, q.ID)
		}
	}
	for _, text := range []string{"", "ld_", Prefix, leadID[3:], string(token[3:]), id.Format(id.Return, q.ID)} {
		if got, err := ParseLead(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

// TestIdentity checks that Identity returns the same identity as Open, without a key.
func TestIdentity(t *testing.T) {
	s, r := sealer(t, 1), random()
	token, q, err := s.Seal(nil, sample(), at, r)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Identity(string(token)); err != nil || got != q.ID {
		t.Errorf("got %s, %v; want %s", got, err, q.ID)
	}
	raw := rawOf(t, string(token))
	older := append([]byte{version + 1}, raw[1:]...)
	for name, text := range map[string]string{
		"empty":            "",
		"prefix only":      Prefix,
		"another prefix":   "ld_" + string(token[3:]),
		"no prefix":        string(token[3:]),
		"another version":  tokenOf(older),
		"too short":        tokenOf(raw[:overhead-1]),
		"too long":         string(token) + string(bytes.Repeat([]byte{'A'}, MaxLength)),
		"another alphabet": string(token[:10]) + "+" + string(token[11:]),
		"a line break":     string(token[:10]) + "\n" + string(token[10:]),
	} {
		if got, err := Identity(text); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}
