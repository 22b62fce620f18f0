package journal_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/journal"
)

const platform = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

func entry(t testing.TB, sequence int64, previous journal.Hash, leads ...string) []byte {
	t.Helper()
	text, err := journal.Entry{
		Platform: platform, Sequence: sequence, Previous: previous, At: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), By: "operator", Reason: "request", Leads: leads,
	}.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The text of an entry from before KeepsConsent existed does not change, so neither does its hash.
func TestKeepsConsentIsOmitted(t *testing.T) {
	const old = `{"platform":"` + platform + `","sequence":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000",` +
		`"at":"2026-01-02T03:04:05.678Z","by":"operator","reason":"request","leads":["ld_1"]}`
	if text := entry(t, 1, journal.Hash{}, "ld_1"); string(text) != old {
		t.Errorf("got %s, want %s", text, old)
	}
	e, err := journal.Parse([]byte(old), platform, 1, journal.Hash{})
	if err != nil || e.KeepsConsent {
		t.Fatalf("got %+v, %v", e, err)
	}
	e.KeepsConsent = true
	text, err := e.Text()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := journal.Parse(text, platform, 1, journal.Hash{}); err != nil || !again.KeepsConsent {
		t.Errorf("got %+v, %v", again, err)
	}
}

func TestParseRejects(t *testing.T) {
	first := entry(t, 1, journal.Hash{}, "ld_1")
	second := entry(t, 2, journal.HashOf(first), "ld_2")
	if _, err := journal.Parse(second, platform, 2, journal.HashOf(first)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		text     []byte
		sequence int64
		previous journal.Hash
	}{
		"other sequence": {second, 3, journal.HashOf(first)},
		"other previous": {second, 2, journal.HashOf(second)},
		"not JSON":       {[]byte(`{`), 2, journal.HashOf(first)},
		"more text":      {append(bytes.Clone(second), ' '), 2, journal.HashOf(first)},
		"unknown field":  {bytes.Replace(second, []byte(`"by"`), []byte(`"x":1,"by"`), 1), 2, journal.HashOf(first)},
		"short hash":     {bytes.Replace(second, []byte(`"previous":"`), []byte(`"previous":"00`), 1), 2, journal.HashOf(first)},
	} {
		if e, err := journal.Parse(tt.text, platform, tt.sequence, tt.previous); err == nil {
			t.Errorf("%s: got %+v", name, e)
		}
	}
	if e, err := journal.Parse(second, "other", 2, journal.HashOf(first)); err == nil {
		t.Errorf("other platform: got %+v", e)
	}
}

func FuzzParse(f *testing.F) {
	first := entry(f, 1, journal.Hash{}, "ld_1")
	f.Add(first)
	f.Add([]byte(`{"sequence":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := journal.Parse(text, platform, 1, journal.Hash{})
		if err != nil {
			return
		}
		if again, err := e.Text(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("an accepted entry has another text: %s, %v", again, err)
		}
	})
}
