package main

import (
	"fmt"
	"slices"
	"strconv"
)

// The verdicts on a figure.
const (
	met        = "met"
	missed     = "missed"
	atFloor    = "machine limit"
	notJudged  = ""
	unmeasured = "not measured"
)

// figure is one measured number with its spread. Without a limit it only tells.
type figure struct {
	part   string
	what   string
	unit   string
	values []float64 // a round each
	limit  float64
	atMost bool      // the limit is the most, rather than the least
	floors []float64 // what the machine needs for the bare operation below it
	flaw   string    // why it misses whatever its number is

	// fastest means that the fastest round is the figure, not the median. Use it for functions,
	// which other programs can only slow down.
	fastest bool
}

// value is the figure that is judged.
func (f figure) value() float64 { return f.of(f.values) }

func (f figure) of(rounds []float64) float64 {
	if f.fastest {
		return quantile(rounds, 0)
	}
	return quantile(rounds, 2)
}

// quantile is the least of a figure's values (0), the median (2) or the most (4).
func quantile(values []float64, fourths int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	if fourths == 2 && last%2 == 1 {
		return (sorted[last/2] + sorted[last/2+1]) / 2
	}
	return sorted[last*fourths/4]
}

// verdict judges the value. A figure that the machine cannot reach even with
// the bare operation, at its fastest, is not the product's to reach.
func (f figure) verdict() string {
	switch {
	case len(f.values) == 0:
		return unmeasured
	case f.flaw != "":
		return missed + ": " + f.flaw
	case f.limit == 0:
		return notJudged
	case f.atMost == (f.value() <= f.limit), f.value() == f.limit:
		return met
	case f.atMost && len(f.floors) > 0 && quantile(f.floors, 0) > f.limit:
		return atFloor
	}
	return missed
}

func (f figure) missed() bool {
	v := f.verdict()
	return v != met && v != notJudged && v != atFloor && v != unmeasured
}

// target is the limit in words.
func (f figure) target() string {
	switch {
	case f.limit == 0:
		return ""
	case f.atMost:
		return "≤ " + f.format(f.limit)
	}
	return "≥ " + f.format(f.limit)
}

// spread is the value, with the least and the most; beside the fastest, the median
// and the most.
func (f figure) spread() string {
	if len(f.values) == 0 {
		return "–"
	}
	if len(f.values) == 1 {
		return f.format(f.values[0])
	}
	low := quantile(f.values, 0)
	if f.fastest {
		low = quantile(f.values, 2)
	}
	return fmt.Sprintf("%s (%s – %s)", f.format(f.value()), number(low), number(quantile(f.values, 4)))
}

// beneath is the floor with the ratio to it.
func (f figure) beneath() string {
	if len(f.floors) == 0 || len(f.values) == 0 {
		return ""
	}
	floor := f.of(f.floors)
	return fmt.Sprintf("%s, × %s", f.format(floor), number(f.value()/floor))
}

func (f figure) format(v float64) string {
	if f.unit == "×" {
		return "× " + number(v)
	}
	return number(v) + " " + f.unit
}

// number has three digits or so: more would be noise.
func number(v float64) string {
	switch {
	case v >= 100:
		return grouped(int64(v + 0.5))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// grouped puts commas between thousands.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// ratios divides the rates.
func ratios(a, b *subject) []float64 { return quotients(a, b, round.rate) }

// quotients divides a number round by round: both sides of each were measured one
// after the other, in the same mood of the machine.
func quotients(a, b *subject, of func(round) float64) []float64 {
	out := make([]float64, min(len(a.rounds), len(b.rounds)))
	for i := range out {
		out[i] = of(a.rounds[i]) / of(b.rounds[i])
	}
	return out
}
