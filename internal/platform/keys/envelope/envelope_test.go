package envelope

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func local(t testing.TB, fill byte) *Local {
	t.Helper()
	l, err := NewLocal(bytes.Repeat([]byte{fill}, KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func sealFor(t testing.TB, w *Wrappers, lead, partner uuid.UUID, plain []byte) Envelope {
	t.Helper()
	key, err := w.DataKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer key.Zero()
	e, err := Seal(key, lead, partner, plain)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func open(t testing.TB, w *Wrappers, e Envelope, lead, partner uuid.UUID) ([]byte, error) {
	t.Helper()
	result := w.Unwrap(t.Context(), [][]byte{e.Wrapped})[0]
	if result.Err != nil {
		return nil, result.Err
	}
	return Open(e, result.Key, lead, partner)
}

func TestRoundTrip(t *testing.T) {
	w := NewWrappers(local(t, 1))
	rapid.Check(t, func(rt *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(rt, "plain")
		lead, partner := uuid.New(), uuid.New()
		e := sealFor(t, w, lead, partner, plain)
		if got, err := open(t, w, e, lead, partner); err != nil || !bytes.Equal(got, plain) {
			rt.Fatalf("got %[2]q, %[3]v, want %[1]q", plain, got, err)
		}
	})
}

func TestChangedEnvelopeDoesNotOpen(t *testing.T) {
	w := NewWrappers(local(t, 1))
	lead, partner, other := uuid.New(), uuid.New(), uuid.New()
	e, theirs := sealFor(t, w, lead, partner, []byte("person@example.com")), sealFor(t, w, other, partner, []byte("someone else here!"))

	check := func(name string, e Envelope, lead, partner uuid.UUID) {
		t.Helper()
		if got, err := open(t, w, e, lead, partner); err == nil {
			t.Errorf("%s: decrypted as %q", name, got)
		}
	}
	check("another lead", e, other, partner)
	check("another partner", e, lead, other)
	check("lead and partner swapped", e, partner, lead)

	swap := func(name string, change func(*Envelope)) {
		t.Helper()
		c := e
		change(&c)
		check(name, c, lead, partner)
	}
	swap("ciphertext from another lead",
		func(c *Envelope) { c.Ciphertext, c.AuthTag, c.IV = theirs.Ciphertext, theirs.AuthTag, theirs.IV })
	swap("data key from another lead", func(c *Envelope) { c.Wrapped = theirs.Wrapped })
	swap("salt from another lead", func(c *Envelope) { c.Salt = theirs.Salt })
	swap("iv from another lead", func(c *Envelope) { c.IV = theirs.IV })
	swap("salt erased", func(c *Envelope) { c.Salt = nil })
	swap("no tag", func(c *Envelope) { c.AuthTag = nil })

	for name, part := range map[string]func(*Envelope) *[]byte{
		"ciphertext": func(c *Envelope) *[]byte { return &c.Ciphertext },
		"iv":         func(c *Envelope) *[]byte { return &c.IV },
		"tag":        func(c *Envelope) *[]byte { return &c.AuthTag },
		"data key":   func(c *Envelope) *[]byte { return &c.Wrapped },
		"salt":       func(c *Envelope) *[]byte { return &c.Salt },
	} {
		for i := range *part(&e) {
			swap(name+": one bit changed", func(c *Envelope) {
				changed := bytes.Clone(*part(c))
				changed[i] ^= 1
				*part(c) = changed
			})
		}
	}
	if got, err := open(t, w, e, lead, partner); err != nil || string(got) != "person@example.com" {
		t.Fatalf("unchanged envelope: got %q, %v", got, err)
	}
}

func TestEveryEnvelopeDiffers(t *testing.T) {
	w := NewWrappers(local(t, 1))
	lead, partner := uuid.New(), uuid.New()
	a, b := sealFor(t, w, lead, partner, []byte("same")), sealFor(t, w, lead, partner, []byte("same"))
	if bytes.Equal(a.Ciphertext, b.Ciphertext) || bytes.Equal(a.IV, b.IV) || bytes.Equal(a.Salt, b.Salt) ||
		bytes.Equal(a.Wrapped, b.Wrapped) {
		t.Error("two envelopes share key, salt, iv or ciphertext")
	}
}

func TestLocalKeysHaveDistinctVersions(t *testing.T) {
	one, two := local(t, 1), local(t, 2)
	keys, err := NewDataKeys(t.Context(), one, 1)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := two.Unwrap(t.Context(), [][]byte{keys[0].Wrapped})
	if err != nil || !errors.Is(opened[0].Err, ErrNotWrapped) {
		t.Errorf("another key unwrapped the data key: %v, %v", opened, err)
	}
	wrapper, version, err := ParseWrapped(keys[0].Wrapped)
	if err != nil || wrapper != LocalName || len(version) != 8 || !one.Reads(version) || two.Reads(version) {
		t.Errorf("ParseWrapped() = %q, %q, %v", wrapper, version, err)
	}
	for _, bad := range []string{"", "local", "local:", "local:x", "::", ":x:y"} {
		if _, _, err := ParseWrapped([]byte(bad)); err == nil {
			t.Errorf("ParseWrapped(%q) did not fail", bad)
		}
	}
}

func TestWithoutAWrapper(t *testing.T) {
	w := NewWrappers(nil)
	if w.Configured() || w.Writer() != "" {
		t.Error("got a writer, but none is configured")
	}
	if _, err := w.DataKey(t.Context()); err == nil {
		t.Error("got a data key without a wrapper")
	}
	if result := w.Unwrap(t.Context(), [][]byte{[]byte("vault:v1:AAAA")})[0]; !errors.Is(result.Err, ErrNotWrapped) {
		t.Errorf("unwrapping without a wrapper: %v", result.Err)
	}
}

func TestContentKeyIsHKDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := [KeySize]byte(rapid.SliceOfN(rapid.Byte(), KeySize, KeySize).Draw(t, "key"))
		salt := [SaltSize]byte(rapid.SliceOfN(rapid.Byte(), SaltSize, SaltSize).Draw(t, "salt"))
		want, err := hkdf.Key(sha256.New, key[:], salt[:], info, KeySize)
		if err != nil {
			t.Fatal(err)
		}
		if got := contentKey(&key, &salt); !bytes.Equal(got[:], want) {
			t.Fatalf("got %x, want %x", got, want)
		}
	})
}

func TestZeroOverwritesTheKey(t *testing.T) {
	keys, err := NewDataKeys(t.Context(), local(t, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	key := &keys[0]
	key.Zero()
	if key.Plain != [KeySize]byte{} {
		t.Error("the key was not overwritten")
	}
}

func BenchmarkSealLocal(b *testing.B) {
	w, lead, partner := NewWrappers(local(b, 1)), uuid.New(), uuid.New()
	plain := bytes.Repeat([]byte("x"), 300)
	b.ReportAllocs()
	for b.Loop() {
		key, err := w.DataKey(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Seal(key, lead, partner, plain); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareSealLocal measures only the cryptography that BenchmarkSealLocal needs: random bytes, as many
// compressions of SHA-256 as HKDF, and AES-256-GCM for the record and its key.
func BenchmarkBareSealLocal(b *testing.B) {
	newGCM := func(key []byte) cipher.AEAD {
		block, err := aes.NewCipher(key)
		if err != nil {
			b.Fatal(err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			b.Fatal(err)
		}
		return aead
	}
	wrapper, plain, message := newGCM(make([]byte, KeySize)), make([]byte, 300), make([]byte, 8*sha256.BlockSize-9)
	var random [KeySize + 16 + 12 + 12]byte // a key, a salt and two nonces
	space := make([]byte, 0, 2*len(plain))
	for b.Loop() {
		rand.Read(random[:])
		key := sha256.Sum256(message)
		newGCM(key[:]).Seal(space, random[KeySize+16:][:12], plain, random[:KeySize])
		wrapper.Seal(space, random[KeySize+28:], random[:KeySize], nil)
	}
}

// Of several local keys, the first one wraps, and all of them unwrap. A rewrap moves data keys to the first.
func TestSeveralLocalKeys(t *testing.T) {
	kek := func(fill byte) []byte { return bytes.Repeat([]byte{fill}, KeySize) }
	older, newer := local(t, 1), local(t, 2)
	both, err := NewLocal(kek(2), kek(1))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := both.Keys(), []string{newer.Keys()[0], older.Keys()[0]}; !slices.Equal(got, want) {
		t.Errorf("got keys %v, want %v", got, want)
	}
	for _, version := range both.Keys() {
		if !both.Reads(version) {
			t.Errorf("Reads returned false for %s", version)
		}
	}
	before, err := NewDataKeys(t.Context(), older, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := NewWrappers(both).Unwrap(t.Context(), [][]byte{before[0].Wrapped})[0]; got.Err != nil || got.Key != before[0].Plain {
		t.Errorf("with the second key: %v", got.Err)
	}
	moved := NewWrappers(both).Rewrap(t.Context(), [][]byte{before[0].Wrapped})[0]
	if moved.Err != nil {
		t.Fatal(moved.Err)
	}
	if got := NewWrappers(newer).Unwrap(t.Context(), [][]byte{moved.Wrapped})[0]; got.Err != nil || got.Key != before[0].Plain {
		t.Errorf("after the rewrap, with the first key only: %v", got.Err)
	}
	key, err := NewWrappers(both).DataKey(t.Context())
	if want := (WrappingKey{LocalName, newer.Keys()[0]}); err != nil || key.WrappingKey != want {
		t.Errorf("a new data key is wrapped by %s (%v), want %s", key.WrappingKey, err, want)
	}
	if _, err := NewLocal(); err == nil {
		t.Error("a wrapper without keys was created")
	}
}
