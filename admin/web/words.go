package web

import (
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// AcceptsUnsigned reports whether an explicitly chosen signing mode accepts posts without a signature.
func AcceptsUnsigned(m models.SigningMode) bool {
	return m == models.SigningOff || m == models.SigningReportOnly
}

func CountWords(n int64, bounded bool, one, many string) string {
	switch {
	case bounded:
		return "more than " + ui.Number(n) + " " + many
	case n == 1:
		return "1 " + one
	}
	return ui.Number(n) + " " + many
}

func Minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

// AmountOf is a sum in a currency that the database holds, which knows the five only.
func AmountOf(minor int64, code string) money.Amount {
	c, _ := money.ParseCurrency(code)
	return money.Amount{Minor: minor, Currency: c}
}

// TimeOf is a moment that may not be.
func TimeOf(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// FileWord is a word as far as it can stand in a file's name.
func FileWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// PublishTime reads the time of a form, which is UTC; "" is at once.
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
	return at, "A time is written like 2026-01-31T09:00, in UTC."
}

func Title(words string) string { return strings.ToUpper(words[:1]) + words[1:] }
