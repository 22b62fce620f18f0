package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
)

// Number formats n with thousands separators: 1,204.
func Number[N ~int | ~int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "−", s[1:]
	}
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return sign + s
}

// Amount formats an amount of money without its currency: 1,204.50.
func Amount(a money.Amount) string {
	figure, _, _ := strings.Cut(a.String(), " ")
	whole, cents, _ := strings.Cut(strings.TrimPrefix(figure, "-"), ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if a.Minor < 0 {
		whole = "−" + whole
	}
	return whole + "." + cents
}

// Minute formats a time in UTC without seconds.
func Minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

func UTC(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

func RFC3339(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Ago describes how long ago or how far in the future a time is: "just now", "4 min ago", "in 23 h".
func Ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < 0:
		return "in " + Span(-d)
	case d < 10*time.Second:
		return "just now"
	default:
		return Span(d) + " ago"
	}
}

// Span formats a duration in its largest unit, rounded down.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{365 * day, "y"}, {30 * day, "mo"}, {day, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= unit.length {
			return fmt.Sprintf("%d %s", d/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// DurationText formats a duration: 840 µs, 12.4 ms, 3.1 s, 4 min 12 s, 2 h 05 min.
func DurationText(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

// Sentence changes the first letter of a text to upper case.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Plural formats a number with a noun: "1 ping", "2 pings".
func Plural[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Share formats a part of a whole as a percentage. If the whole is zero, Share returns a dash.
func Share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// FieldID returns the HTML id of a form field. If a page has several forms, a prefix makes the id
// unique.
func FieldID(prefix, name string) string {
	if prefix == "" {
		return "f-" + name
	}
	return "f-" + prefix + "-" + name
}
