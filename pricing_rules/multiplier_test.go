package pricingrules

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAndFormatMultiplier(t *testing.T) {
	for text, want := range map[string]int64{
		"1.5":    15000,
		"1":      10000,
		"0.85":   8500,
		"0.0001": 1,
		"100":    1000000,
		"1.0500": 10500,
		"0":      0,
	} {
		if got, err := ParseMultiplier(text); err != nil || got != want {
			t.Errorf("ParseMultiplier(%s) = %d, %v, want %d", text, got, err, want)
		}
	}
	for m, want := range map[int64]string{
		15000:   "1.5",
		10000:   "1",
		8500:    "0.85",
		1:       "0.0001",
		1000000: "100",
		10500:   "1.05",
	} {
		if got := FormatMultiplier(m); got != want {
			t.Errorf("FormatMultiplier(%d) = %s, want %s", m, got, want)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "1.00005", "-1", "+1", "1e2", "1,5", " 1", "0x1", "1_0",
		"99999999999999999999"} {
		if got, err := ParseMultiplier(text); err == nil {
			t.Errorf("ParseMultiplier(%q) = %d, want an error", text, got)
		}
	}
}

func TestMultiplierRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Int64Range(0, math.MaxInt64).Draw(t, "multiplier")
		if got, err := ParseMultiplier(FormatMultiplier(m)); err != nil || got != m {
			t.Fatalf("got %d (%v), want %d", got, err, m)
		}
	})
}
