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

// DateRange parses the first and the last day of a filter, in UTC. It returns the start of the
// first day and the end of the last. If a date is not valid, it returns a notice. The caller must
// then list no rows, because ignoring the date would list too many.
func DateRange(q url.Values) (from, to time.Time, mistakes []Notice) {
	for name, into := range map[string]*time.Time{"from": &from, "to": &to} {
		day, err := time.Parse(time.DateOnly, q.Get(name))
		switch {
		case q.Get(name) == "":
		case err != nil:
			mistakes = []Notice{{Kind: "warn", Code: "date", Text: "Enter dates as YYYY-MM-DD, such as 2026-01-31."}}
		default:
			*into = day
		}
	}
	if len(mistakes) == 0 && !to.IsZero() && from.After(to) {
		mistakes = []Notice{{Kind: "warn", Code: "date", Text: "Enter a start date that is not after the end date."}}
	}
	if !to.IsZero() {
		to = to.AddDate(0, 0, 1) // the last day is included
	}
	return from, to, mistakes
}

// IsID reports whether a text has the prefix of an ID. Other texts with an underscore can be a partner's reference.
func IsID(text string) bool {
	lower := strings.ToLower(text)
	return strings.HasPrefix(lower, quote.Prefix) || slices.ContainsFunc(id.Kinds, func(kind id.Kind) bool {
		return strings.HasPrefix(lower, string(kind))
	})
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

// IsContact reports whether a text looks like an email address or a phone number. If it could be a consumer's, no URL
// and no page may repeat it.
func IsContact(text string) bool { return strings.Contains(text, "@") || payload.LooksLikePhone(text) }

// CountryOptions returns the countries that have a market of their own.
func CountryOptions(markets *pricingrules.Markets) (all []ui.Option) {
	for i := range markets.Len() {
		if m := markets.At(i); m.Code != pricingrules.OtherMarket {
			all = append(all, ui.Option{Value: m.Code, Label: m.Name})
		}
	}
	return all
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

// Short returns the first 300 characters of user input, so that a page can show it again.
func Short(text string) string {
	runes := []rune(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd"))
	return string(runes[:min(len(runes), 300)])
}

// ValidText reports whether Postgres can store a text.
func ValidText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// CheckTypedName checks that the user typed the name of the object to confirm a change.
func (k *Request) CheckTypedName(name string) ui.Errors {
	if strings.TrimSpace(k.R.PostForm.Get("name")) != name {
		return ui.Errors{{Field: "name", Message: "The text does not match. Type “" + name + "” to confirm."}}
	}
	return nil
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

// Labels returns an option for each value. The value is also the option's label.
func Labels(values []string) (all []ui.Option) {
	for _, v := range values {
		all = append(all, ui.Option{Value: v, Label: v})
	}
	return all
}
