package signing

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	now    = time.Date(2026, 1, 2, 3, 4, 5, 999_000_000, time.UTC)
	secret = []byte("a secret of sixteen characters and more")
	body   = []byte(`{"transactionId":"tx_1"}`)
)

func stamp(offset int64) string { return strconv.FormatInt(now.Unix()+offset, 10) }

// headers returns the headers that sign body at ts, after change has modified them.
func headers(ts string, change func(*Headers)) Headers {
	h := Headers{Timestamp: []string{ts}, Signature: []string{Sign(secret, ts, body)}}
	if change != nil {
		change(&h)
	}
	return h
}

func TestKnownSignature(t *testing.T) {
	// printf %s '1767323045.{"a":1}' | openssl dgst -sha256 -hmac 'key'
	const want = "7a74ddb6c5eee22d6198e210cf7a4aae6004fa7dc07f66752779c1d480cc319f"
	if got := Sign([]byte("key"), "1767323045", []byte(`{"a":1}`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		name string
		h    Headers
		want error
	}{
		{"signed now", headers(stamp(0), nil), nil},
		{"300 s behind", headers(stamp(-300), nil), nil},
		{"300 s ahead", headers(stamp(300), nil), nil},
		{"301 s behind", headers(stamp(-301), nil), ErrTimestampWindow},
		{"301 s ahead", headers(stamp(301), nil), ErrTimestampWindow},
		{"milliseconds", headers(stamp(0)+"000", nil), ErrTimestampWindow},
		{"beyond 64 bits", headers(strings.Repeat("9", 40), nil), ErrTimestampWindow},
		{"leading zeros", headers("000"+stamp(0), nil), nil},
		{"blanks around", headers(stamp(0), func(h *Headers) { h.Timestamp[0] = " \t" + h.Timestamp[0] + " " }), nil},
		{"empty timestamp", headers("", nil), ErrTimestampFormat},
		{"negative", headers("-"+stamp(0), nil), ErrTimestampFormat},
		{"plus", headers("+"+stamp(0), nil), ErrTimestampFormat},
		{"fraction", headers(stamp(0)+".5", nil), ErrTimestampFormat},
		{"exponent", headers("1e9", nil), ErrTimestampFormat},
		{"other digits", headers("١٢٣", nil), ErrTimestampFormat},
		{"no-break space", headers(stamp(0)+"\u00a0", nil), ErrTimestampFormat},
		{"two timestamps", headers(stamp(0), func(h *Headers) { h.Timestamp = append(h.Timestamp, h.Timestamp[0]) }), ErrTimestampFormat},
		{"no timestamp", headers(stamp(0), func(h *Headers) { h.Timestamp = nil }), ErrNoTimestamp},
		{"alias", headers(stamp(0), func(h *Headers) { h.Alias, h.Signature = h.Signature, nil }), nil},
		{"both names, equal", headers(stamp(0), func(h *Headers) { h.Alias = []string{strings.ToUpper(h.Signature[0])} }), nil},
		{"both names, different", headers(stamp(0), func(h *Headers) { h.Alias = []string{strings.Repeat("0", 64)} }), ErrSignature},
		{"repeated", headers(stamp(0), func(h *Headers) { h.Signature = append(h.Signature, h.Signature[0]) }), ErrSignature},
		{"alias repeated", headers(stamp(0), func(h *Headers) { h.Alias = []string{h.Signature[0], h.Signature[0]} }), ErrSignature},
		{"upper case", headers(stamp(0), func(h *Headers) { h.Signature[0] = strings.ToUpper(h.Signature[0]) }), nil},
		{"signature with blanks", headers(stamp(0), func(h *Headers) { h.Signature[0] = "\t" + h.Signature[0] + " " }), nil},
		{"empty signature", headers(stamp(0), func(h *Headers) { h.Signature[0] = "" }), ErrSignature},
		{"prefix", headers(stamp(0), func(h *Headers) { h.Signature[0] = "sha256=" + h.Signature[0] }), ErrSignature},
		{"short", headers(stamp(0), func(h *Headers) { h.Signature[0] = h.Signature[0][1:] }), ErrSignature},
		{"long", headers(stamp(0), func(h *Headers) { h.Signature[0] += "00" }), ErrSignature},
		{"not hex", headers(stamp(0), func(h *Headers) { h.Signature[0] = strings.Repeat("g", 64) }), ErrSignature},
		{"the timestamp is checked first", headers("x", func(h *Headers) { h.Signature[0] = "" }), ErrTimestampFormat},
		{"unsigned", Headers{}, nil},
		{"unsigned with a timestamp", Headers{Timestamp: []string{stamp(0)}}, nil},
		{"unsigned with an invalid timestamp", Headers{Timestamp: []string{"soon"}}, ErrTimestampFormat},
		{"unsigned with an old timestamp", Headers{Timestamp: []string{stamp(-301)}}, ErrTimestampWindow},
	} {
		claim, err := Check(c.h, now)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if want := len(c.h.Signature)+len(c.h.Alias) > 0; claim.Signed != want {
			t.Errorf("%s: got signed %v", c.name, claim.Signed)
		}
		if got := NewVerifier(secret).Verify(claim, body); got != (c.want == nil && claim.Signed) {
			t.Errorf("%s: got verified %v", c.name, got)
		}
	}
}

func TestVerifyRejectsOtherBytesAndSecrets(t *testing.T) {
	claim, err := Check(headers(stamp(0), nil), now)
	if err != nil {
		t.Fatal(err)
	}
	v := NewVerifier(secret)
	for name, ok := range map[string]bool{
		"another secret": NewVerifier([]byte("another secret of some length")).Verify(claim, body),
		"re-serialised":  v.Verify(claim, bytes.ReplaceAll(body, []byte(":"), []byte(": "))),
		"newline":        v.Verify(claim, append(bytes.Clone(body), '\n')),
		"empty":          v.Verify(claim, nil),
		"no claim":       v.Verify(Claim{}, body),
	} {
		if ok {
			t.Errorf("%s: verified", name)
		}
	}
	if !v.Verify(claim, body) {
		t.Error("a valid signature is rejected after invalid ones")
	}
}

func TestOnlyTheSignedBytesVerify(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		signed := rapid.SliceOf(rapid.Byte()).Draw(t, "signed")
		sent := rapid.SliceOf(rapid.Byte()).Draw(t, "sent")
		key := rapid.SliceOfN(rapid.Byte(), 16, 256).Draw(t, "key")
		ts := stamp(0)
		claim, err := Check(Headers{Timestamp: []string{ts}, Signature: []string{Sign(key, ts, signed)}}, now)
		if err != nil {
			t.Fatal(err)
		}
		v := NewVerifier(key)
		if !v.Verify(claim, signed) || v.Verify(claim, sent) != bytes.Equal(signed, sent) {
			t.Fatal("Verify accepts bytes that were not signed, or rejects those that were")
		}
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add(stamp(0), Sign(secret, stamp(0), body), "")
	f.Add("", "", "x")
	f.Fuzz(func(t *testing.T, ts, sig, alias string) {
		claim, err := Check(Headers{Timestamp: []string{ts}, Signature: []string{sig}, Alias: []string{alias}}, now)
		if err == nil && NewVerifier([]byte("an unknown secret")).Verify(claim, body) {
			t.Fatal("verified with a secret that did not sign the body")
		}
	})
}

func BenchmarkVerify2KiB(b *testing.B) {
	big := bytes.Repeat([]byte("x"), 2048)
	ts := stamp(0)
	h := Headers{Timestamp: []string{ts}, Signature: []string{Sign(secret, ts, big)}}
	v := NewVerifier(secret)
	b.ReportAllocs()
	for b.Loop() {
		claim, err := Check(h, now)
		if err != nil || !v.Verify(claim, big) {
			b.Fatal("not verified")
		}
	}
}

// BenchmarkBareVerify2KiB measures only the hashes that BenchmarkVerify2KiB needs: SHA-256 over the timestamp,
// the dot and the body, and then over the digest.
func BenchmarkBareVerify2KiB(b *testing.B) {
	message := bytes.Repeat([]byte("x"), len("1767323045.")+2048)
	for b.Loop() {
		digest := sha256.Sum256(message)
		sha256.Sum256(digest[:])
	}
}
