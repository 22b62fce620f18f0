package web

import (
	"strings"
	"time"

	"github.com/pingpost/pingpost/templates/ui"
)

// CountText formats a count with its noun: "1 event", "more than 10,000 events".
func CountText(n int64, bounded bool, one, many string) string {
	switch {
	case bounded:
		return "more than " + ui.Number(n) + " " + many
	case n == 1:
		return "1 " + one
	}
	return ui.Number(n) + " " + many
}

// enumerate formats a list of words: "prices, payouts and keys", if the last two are separated by "and".
func enumerate(words []string, separator string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + separator + " " + words[last]
}

// TimeOf returns *at, or the zero time if at is nil.
func TimeOf(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// FileNamePart makes a text safe for a file name: it keeps only ASCII letters, digits and hyphens.
func FileNamePart(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// PublishTime parses a UTC time from a form. For an empty string, which means now, it returns the zero
// time. The result wrong is an error message, or "" if the text is valid.
func PublishTime(text string) (at time.Time, wrong string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return at, ""
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, ""
		}
	}
	return at, "Enter a time in UTC, such as 2026-01-31T09:00."
}
