package web

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// IsID reports whether a text has the prefix of an ID. Other texts with an underscore can be a partner's reference.
func IsID(text string) bool {
	lower := strings.ToLower(text)
	return strings.HasPrefix(lower, quote.Prefix) || slices.ContainsFunc(id.Kinds, func(kind id.Kind) bool {
		return strings.HasPrefix(lower, string(kind))
	})
}

// IsContact reports whether a text looks like an email address or a phone number. Because it can be a consumer's, no
// URL and no page may repeat it.
func IsContact(text string) bool { return strings.Contains(text, "@") || payload.LooksLikePhone(text) }

// ValidText reports whether Postgres can store a text.
func ValidText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Short returns the first 300 characters of user input, so that a page can show it again.
func Short(text string) string {
	runes := []rune(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd"))
	return string(runes[:min(len(runes), 300)])
}

// SearchText returns the value of a filter. If the database would reject the value, SearchText returns a
// value that matches no rows instead.
func SearchText(q url.Values, name string) string {
	text := strings.TrimSpace(q.Get(name))
	if !ValidText(text) || len(text) > 300 {
		return "nothing is called this"
	}
	return text
}

// IsFiltered reports whether the query has a value for any of the named filters.
func IsFiltered(q url.Values, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return q.Get(name) != "" })
}

// SetFilters returns the named filters that have a value in the query.
func SetFilters(q url.Values, names []string) url.Values {
	filters := url.Values{}
	for _, name := range names {
		if value := q.Get(name); value != "" {
			filters.Set(name, value)
		}
	}
	return filters
}

// ParseTime parses a UTC time from a form. For an empty string, which means now, it returns the zero
// time. The result wrong is an error message, or "" if the text is valid.
func ParseTime(text string) (at time.Time, wrong string) {
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

// SelectOption returns a copy of options in which the option with the given value is selected.
func SelectOption(options []ui.Option, value string) []ui.Option {
	options = slices.Clone(options)
	for i := range options {
		options[i].Selected = options[i].Value == value
	}
	return options
}

// ReasonOption returns the option for a reason. The reason "other" must be described in the form's note.
func ReasonOption(code, label string) ui.Option {
	option := ui.Option{Value: code, Label: ui.Sentence(label)}
	if code == "other" {
		option.Hint = "Describe it in the note."
	}
	return option
}

// Labels returns an option for each value. The value is also the option's label.
func Labels(values []string) (all []ui.Option) {
	for _, v := range values {
		all = append(all, ui.Option{Value: v, Label: v})
	}
	return all
}

// CountryOptions returns the countries that have a market of their own.
func CountryOptions(markets *pricingrules.Markets) (all []ui.Option) {
	for i := range markets.Len() {
		if m := markets.At(i); m.Code != pricingrules.OtherMarket {
			all = append(all, ui.Option{Value: m.Code, Label: m.Name})
		}
	}
	return all
}

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

// FileNamePart makes a text safe for a file name. It keeps only ASCII letters, digits and hyphens.
func FileNamePart(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}
