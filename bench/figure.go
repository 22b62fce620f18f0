package main

import (
	"fmt"
	"slices"
	"strconv"
)

// The verdicts on whether a figure meets its limit.
const (
	met        = "met"
	missed     = "missed"
	atFloor    = "machine limit"
	notJudged  = ""
	unmeasured = "not measured"
)

// figure is a measured quantity, with one value for each round. If it has a limit, its verdict states
// whether it meets the limit.
type figure struct {
	part   string
	what   string
	unit   string
	values []float64
	limit  float64
	atMost bool      // the limit is a maximum; otherwise it is a minimum
	floors []float64 // the bare operation's values
	flaw   string    // why the target is missed even if the value is within the limit

	// If fastest is true, the value is that of the fastest round instead of the median. Set it for
	// functions, because other programs can slow them down but never speed them up.
	fastest bool
}

// value returns the median of all rounds, or the minimum if fastest is true. The verdict compares it
// with the limit.
func (f figure) value() float64 { return f.of(f.values) }

func (f figure) of(rounds []float64) float64 {
	if f.fastest {
		return quantile(rounds, 0)
	}
	return quantile(rounds, 2)
}

// quantile returns the minimum if fourths is 0, the median if it is 2, and the maximum if it is 4.
func quantile(values []float64, fourths int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	if fourths == 2 && last%2 == 1 {
		return (sorted[last/2] + sorted[last/2+1]) / 2
	}
	return sorted[last*fourths/4]
}

// verdict states whether the figure meets its limit. If even the fastest round of the bare operation
// exceeds the limit, the verdict is atFloor.
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

// target formats the limit, such as "≤ 30 ns".
func (f figure) target() string {
	switch {
	case f.limit == 0:
		return ""
	case f.atMost:
		return "≤ " + f.format(f.limit)
	}
	return "≥ " + f.format(f.limit)
}

// spread formats the value and, in parentheses, the minimum and the maximum. If fastest is true, the
// value is the minimum, so the parentheses contain the median and the maximum.
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

// beneath formats the value of the bare operation, followed by the figure's value as a multiple of it.
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

// number formats a value with about three significant digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return grouped(int64(v + 0.5))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// grouped formats a number with commas as thousands separators.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// ratios returns, for each round, the rate of the first contender divided by the rate of the second.
func ratios(a, b *subject) []float64 { return quotients(a, b, round.rate) }

// quotients returns, for each round, the value of the first contender divided by the value of the
// second. Because the contenders are measured in quick succession, a slow machine affects both values
// alike.
func quotients(a, b *subject, of func(round) float64) []float64 {
	out := make([]float64, min(len(a.rounds), len(b.rounds)))
	for i := range out {
		out[i] = of(a.rounds[i]) / of(b.rounds[i])
	}
	return out
}
