package main

import (
	"slices"
	"testing"
	"time"
)

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		f      figure
		want   string
		missed bool
	}{
		"at least, above":   {f: figure{values: []float64{0.5, 0.9, 0.9}, limit: 0.8}, want: met},
		"at least, exactly": {f: figure{values: []float64{0.8}, limit: 0.8}, want: met},
		"at least, below":   {f: figure{values: []float64{0.7, 0.7, 0.9}, limit: 0.8}, want: missed, missed: true},
		"at most, below":    {f: figure{values: []float64{20}, limit: 30, atMost: true}, want: met},
		"at most, exactly":  {f: figure{values: []float64{30}, limit: 30, atMost: true}, want: met},
		"at most, above":    {f: figure{values: []float64{31}, limit: 30, atMost: true}, want: missed, missed: true},
		"floor above target": {f: figure{
			values: []float64{50},
			limit:  30,
			atMost: true,
			floors: []float64{50, 40},
		}, want: atFloor},
		"floor below target": {f: figure{
			values: []float64{50},
			limit:  30,
			atMost: true,
			floors: []float64{50, 29},
		}, want: missed, missed: true},
		"met above a floor": {f: figure{
			values: []float64{29},
			limit:  30,
			atMost: true,
			floors: []float64{50, 40},
		}, want: met},
		"with a flaw": {
			f:      figure{values: []float64{20}, limit: 30, atMost: true, flaw: "2 allocations"},
			want:   "missed: 2 allocations",
			missed: true,
		},
		"fastest, below": {f: figure{
			values:  []float64{50, 29, 40},
			limit:   30,
			atMost:  true,
			fastest: true,
		}, want: met},
		"fastest, above": {f: figure{
			values:  []float64{50, 31, 40},
			limit:   30,
			atMost:  true,
			fastest: true,
		}, want: missed, missed: true},
		"no limit":     {f: figure{values: []float64{20}}, want: notJudged},
		"not measured": {f: figure{limit: 30}, want: unmeasured},
	} {
		if got := c.f.verdict(); got != c.want || c.f.missed() != c.missed {
			t.Errorf("%s: got verdict %q, missed %t; want %q, %t", name, got, c.f.missed(), c.want, c.missed)
		}
		r := report{figures: []figure{c.f}}
		if listed := len(r.missed()) == 1; listed != c.missed {
			t.Errorf("%s: got listed as missed %t, want %t", name, listed, c.missed)
		}
	}
}

func TestFigureFormat(t *testing.T) {
	f := figure{
		unit:   "ns",
		values: []float64{1234567, 12.345, 1.2345, 99.96},
		limit:  600,
		atMost: true,
		floors: []float64{10},
	}
	if got := f.spread(); got != "56.2 ns (1.23 – 1,234,567)" {
		t.Error(got)
	}
	if got := f.target(); got != "≤ 600 ns" {
		t.Error(got)
	}
	if got := f.beneath(); got != "10.0 ns, × 5.62" {
		t.Error(got)
	}
	f.fastest = true
	if got := f.spread() + ", " + f.beneath(); got != "1.23 ns (56.2 – 1,234,567), 10.0 ns, × 0.12" {
		t.Error(got)
	}
	f = figure{unit: "×", values: []float64{0.854}, limit: 0.8}
	if got := f.spread() + " " + f.target() + f.beneath(); got != "× 0.85 ≥ × 0.80" {
		t.Error(got)
	}
}

func TestRatiosByRound(t *testing.T) {
	at := func(rates ...int64) *subject {
		c := &subject{}
		for _, rate := range rates {
			c.rounds = append(c.rounds, round{Count: 2 * rate, Elapsed: 2 * time.Second})
		}
		return c
	}
	if got := ratios(at(8, 30), at(10, 20, 5)); !slices.Equal(got, []float64{0.8, 1.5}) {
		t.Error(got)
	}
	if got := ratios(at(8), at()); len(got) != 0 {
		t.Error(got)
	}
}

func TestRejectionTimesSkipRoundsWithoutRejections(t *testing.T) {
	got := rejectionMillis([]round{{}, {Rejected: 3, Rejection: 1500 * time.Microsecond}, {Count: 7}})
	if !slices.Equal(got, []float64{1.5}) {
		t.Errorf("%v", got)
	}
	if got := rejectionMillis([]round{{Count: 7}}); got != nil {
		t.Errorf("%v", got)
	}
}
