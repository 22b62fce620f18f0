package quote

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/chacha20poly1305"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/money"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)

func sealer(t testing.TB, fills ...byte) *Sealer {
	t.Helper()
	var keys [][]byte
	for _, f := range fills {
		keys = append(keys, bytes.Repeat([]byte{f}, 32))
	}
	s, err := NewSealer(keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func random() (r [RandomSize]byte) { rand.Read(r[:]); return r }

func sample() Quote {
	return Quote{
		Price: money.Amount{Minor: 4560, Currency: money.GBP}, Country: [2]byte{'G', 'B'},
		TermID: 1077, Urgency: 1, Postcode: "SW1A 1AA", CardVersion: 7,
	}
}

func seal(t testing.TB, s *Sealer, q Quote, at time.Time) (string, Quote) {
	t.Helper()
	token, sealed, err := s.Seal(nil, q, at, random())
	if err != nil {
		t.Fatal(err)
	}
	return string(token), sealed
}

func TestSealedQuoteOpensUnchanged(t *testing.T) {
	s := sealer(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		q := Quote{
			Price: money.Amount{
				Minor:    rapid.Int64Range(0, maxNumber).Draw(t, "minor"),
				Currency: rapid.SampledFrom(money.Currencies[:]).Draw(t, "currency"),
			},
			Country:     [2]byte{byte(rapid.IntRange('A', 'Z').Draw(t, "c1")), byte(rapid.IntRange('A', 'Z').Draw(t, "c2"))},
			TermID:      rapid.IntRange(0, maxNumber).Draw(t, "term"),
			Urgency:     uint8(rapid.IntRange(0, urgencyMask).Draw(t, "urgency")),
			Postcode:    text(1, maxPostcode).Draw(t, "postcode"),
			CardVersion: rapid.IntRange(0, maxNumber).Draw(t, "card"),
			Sandbox:     rapid.Bool().Draw(t, "sandbox"),
			Reference:   Tag{Value: text(0, 64).Draw(t, "reference")},
			SubID:       Tag{Value: text(0, 32).Draw(t, "subId")},
		}
		if rapid.Bool().Draw(t, "named") {
			q.Partner = uuid.New()
		}
		issued := at.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "later")))
		token, sealed, err := s.Seal(nil, q, issued, random())
		if err != nil {
			t.Fatal(err)
		}
		if len(token) > MaxLength {
			t.Fatalf("token has %d characters", len(token))
		}
		got, err := s.Open(string(token), issued)
		if err != nil || got != sealed {
			t.Fatalf("sealed %+v, opened %+v (error %v)", sealed, got, err)
		}
		q.ID = sealed.ID
		for _, tag := range []struct{ sent, sealed *Tag }{{&q.Reference, &sealed.Reference}, {&q.SubID, &sealed.SubID}} {
			if tag.sealed.Dropped {
				*tag.sent = Tag{Dropped: true}
			}
		}
		if got != q {
			t.Fatalf("sealed %+v, opened %+v", q, got)
		}
	})
}

// text returns strings without the separator of tags.
func text(shortest, longest int) *rapid.Generator[string] {
	return rapid.StringN(shortest, longest, -1).Filter(func(s string) bool { return !strings.Contains(s, separator) })
}

// A reference has priority over a subId, and each is dropped only if it does not fit (decision 63).
func TestTagsThatDoNotFitAreDropped(t *testing.T) {
	s := sealer(t, 1)
	of := func(n int) Tag { return Tag{Value: strings.Repeat("x", n)} }
	dropped := Tag{Dropped: true}
	for name, c := range map[string]struct{ reference, subID, wantReference, wantSubID Tag }{
		"none":               {},
		"both":               {of(36), of(30), of(36), of(30)},
		"longest reference":  {of(64), Tag{}, of(64), Tag{}},
		"longest subId":      {Tag{}, of(32), Tag{}, of(32)},
		"only the reference": {of(64), of(32), of(64), dropped},
		"only the subId":     {Tag{Value: strings.Repeat("€", 64)}, of(32), dropped, of(32)},
		"neither":            {Tag{Value: strings.Repeat("€", 64)}, Tag{Value: strings.Repeat("€", 32)}, dropped, dropped},
		"dropped before":     {dropped, of(32), dropped, of(32)},
	} {
		q := sample()
		q.Partner, q.Reference, q.SubID = uuid.New(), c.reference, c.subID
		token, sealed := seal(t, s, q, at)
		if sealed.Reference != c.wantReference || sealed.SubID != c.wantSubID || len(token) > MaxLength {
			t.Errorf("%s: got %+v and %+v in %d characters", name, sealed.Reference, sealed.SubID, len(token))
		}
		if got, err := s.Open(token, at); err != nil || got != sealed {
			t.Errorf("%s: sealed %+v, opened %+v (error %v)", name, sealed, got, err)
		}
	}
}

func TestUsualLength(t *testing.T) {
	token, _ := seal(t, sealer(t, 1), sample(), at)
	if len(token) > 100 || !strings.HasPrefix(token, Prefix) {
		t.Errorf("token has %d characters: %s", len(token), token)
	}
}

func TestValidityToTheMillisecond(t *testing.T) {
	s := sealer(t, 1)
	token, sealed := seal(t, s, sample(), at)
	if want := at.Truncate(time.Millisecond).Add(15 * time.Minute); !sealed.ExpiresAt().Equal(want) {
		t.Errorf("expires at %s, want %s", sealed.ExpiresAt(), want)
	}
	for _, c := range []struct {
		after time.Duration
		want  error
	}{
		{0, nil},
		{15 * time.Minute, nil},
		{15*time.Minute + time.Millisecond, ErrExpired},
		{24 * time.Hour, ErrExpired},
		{-5 * time.Second, nil},
		{-5*time.Second - time.Millisecond, ErrFormat},
	} {
		q, err := s.Open(token, at.Truncate(time.Millisecond).Add(c.after))
		if !errors.Is(err, c.want) {
			t.Errorf("after %s: got error %v, want %v", c.after, err, c.want)
		}
		if errors.Is(err, ErrExpired) && q.ID != sealed.ID {
			t.Errorf("after %s: got ErrExpired without the quote", c.after)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	token, _ := seal(t, sealer(t, 1), sample(), at)
	if _, err := sealer(t, 2, 1).Open(token, at); err != nil {
		t.Errorf("opening with the older key: %v", err)
	}
	if _, err := sealer(t, 2).Open(token, at); !errors.Is(err, ErrFormat) {
		t.Errorf("opening without its key: got error %v", err)
	}
}

func TestTwoKeysWithOneID(t *testing.T) {
	byID := map[byte]byte{}
	for fill := range 256 {
		s := sealer(t, byte(fill))
		other, taken := byID[(*s.keys.Load())[0].id]
		if !taken {
			byID[(*s.keys.Load())[0].id] = byte(fill)
			continue
		}
		token, _ := seal(t, sealer(t, byte(fill)), sample(), at)
		if _, err := sealer(t, other, byte(fill)).Open(token, at); err != nil {
			t.Errorf("opening with two keys of the same id: %v", err)
		}
		return
	}
	t.Fatal("none of 256 keys share an id")
}

func TestEveryChangedCharacterIsRejected(t *testing.T) {
	s := sealer(t, 1)
	token, _ := seal(t, s, sample(), at)
	for i := range token {
		for _, c := range []byte("A_-z0=\n \x00\xff") {
			if token[i] == c {
				continue
			}
			changed := token[:i] + string(c) + token[i+1:]
			if _, err := s.Open(changed, at); !errors.Is(err, ErrFormat) {
				t.Fatalf("with character %d set to %q: got error %v", i, c, err)
			}
		}
		for name, changed := range map[string]string{
			"cut":        token[:i],
			"line break": token[:i] + "\n" + token[i:],
			"doubled":    token[:i] + token[i:i+1] + token[i:],
		} {
			if _, err := s.Open(changed, at); !errors.Is(err, ErrFormat) {
				t.Fatalf("%s at %d: %v", name, i, err)
			}
		}
	}
}

func TestOnlyTheIssuedTokenOpens(t *testing.T) {
	s := sealer(t, 1)
	// With this postcode, the last character has spare bits, which a lenient decoder
	// ignores.
	q := sample()
	q.Postcode = "SW1A 1A"
	token, _ := seal(t, s, q, at)
	raw, err := base64.RawURLEncoding.DecodeString(token[len(Prefix):])
	if err != nil || len(raw)%3 == 0 {
		t.Fatalf("token of %d bytes has no spare bits (%v)", len(raw), err)
	}
	opened := 0
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, c := range alphabet {
		if _, err := s.Open(token[:len(token)-1]+string(c), at); err == nil {
			opened++
		}
	}
	if opened != 1 {
		t.Errorf("%d texts open as the same quote, want 1", opened)
	}
	for _, other := range []string{
		strings.ToUpper(Prefix) + token[3:], token + "=", token + "==", " " + token, token + " ",
		base64.StdEncoding.EncodeToString(raw), Prefix + base64.StdEncoding.EncodeToString(raw), "", Prefix, token[3:],
	} {
		if _, err := s.Open(other, at); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", other, err)
		}
	}
}

func TestAppendRejectsOutOfRangeFields(t *testing.T) {
	s := sealer(t, 1)
	for name, change := range map[string]func(*Quote){
		"negative price":    func(q *Quote) { q.Price.Minor = -1 },
		"no currency":       func(q *Quote) { q.Price.Currency = 0 },
		"long postcode":     func(q *Quote) { q.Postcode = strings.Repeat("é", 17) },
		"urgency":           func(q *Quote) { q.Urgency = 16 },
		"negative term id":  func(q *Quote) { q.TermID = -1 },
		"card out of range": func(q *Quote) { q.CardVersion = maxNumber + 1 },
		"separator":         func(q *Quote) { q.Reference.Value = separator },
	} {
		q := sample()
		change(&q)
		if token, _, err := s.Seal(nil, q, at, random()); err == nil || len(token) != 0 {
			t.Errorf("%s: sealed as %q", name, token)
		}
	}
}

func FuzzOpen(f *testing.F) {
	s := sealer(f, 1)
	// The token is fixed, because all fuzzing processes must use the same one.
	sealed, _, err := s.Seal(nil, sample(), at, [RandomSize]byte{1, 2, 3})
	if err != nil {
		f.Fatal(err)
	}
	token := string(sealed)
	f.Add(token)
	f.Add(Prefix)
	f.Add("tx_" + strings.Repeat("A", 197))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.Open(text, at); err == nil && text != token {
			t.Fatalf("a forged token opened: %q", text)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	s, q, fresh := sealer(b, 1), sample(), random()
	var dst [MaxLength]byte
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Seal(dst[:0], q, at, fresh); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	s := sealer(b, 1)
	token, _ := seal(b, s, sample(), at)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Open(token, at); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareSeal measures only what the format prescribes for BenchmarkSeal: the encryption and base64.
func BenchmarkBareSeal(b *testing.B) {
	aead, raw := bareCipher(b)
	space, text := make([]byte, 0, len(raw)), make([]byte, base64.RawURLEncoding.EncodedLen(len(raw)))
	for b.Loop() {
		aead.Seal(space, raw[:aead.NonceSize()], raw[:32], raw[:2])
		base64.RawURLEncoding.Encode(text, raw)
	}
}

// BenchmarkBareOpen measures only what the format prescribes for BenchmarkOpen.
func BenchmarkBareOpen(b *testing.B) {
	aead, raw := bareCipher(b)
	nonce := raw[:aead.NonceSize()]
	sealed, text := aead.Seal(nil, nonce, raw[:32], raw[:2]), base64.RawURLEncoding.AppendEncode(nil, raw)
	space := make([]byte, len(raw))
	for b.Loop() {
		if _, err := base64.RawURLEncoding.Decode(space, text); err != nil {
			b.Fatal(err)
		}
		if _, err := aead.Open(space[:0], nonce, sealed, raw[:2]); err != nil {
			b.Fatal(err)
		}
	}
}

// bareCipher returns a cipher, and as many random bytes as a token contains.
func bareCipher(b *testing.B) (aead cipher.AEAD, raw []byte) {
	b.Helper()
	aead, err := chacha20poly1305.NewX(make([]byte, chacha20poly1305.KeySize))
	if err != nil {
		b.Fatal(err)
	}
	raw = make([]byte, 2+aead.NonceSize()+32+aead.Overhead())
	rand.Read(raw)
	return aead, raw
}
