package web

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pingpost/pingpost/templates/ui"
)

// DateRange reads the first and the last day of a filter, in UTC; to is the moment after the
// last. What is no date is told, once, and then nothing is listed: without it a filter
// would choose more than was asked for.
func DateRange(q url.Values) (from, to time.Time, mistakes []Notice) {
	for name, into := range map[string]*time.Time{"from": &from, "to": &to} {
		day, err := time.Parse(time.DateOnly, q.Get(name))
		switch {
		case q.Get(name) == "":
		case err != nil:
			mistakes = []Notice{{Kind: "warn", Code: "date", Text: "A date is written like 2026-01-31: write it so, or leave it empty."}}
		default:
			*into = day
		}
	}
	if !to.IsZero() {
		to = to.AddDate(0, 0, 1) // the day itself counts
	}
	return from, to, mistakes
}

// SelectOption marks one of a filter's options.
func SelectOption(options []ui.Option, value string) []ui.Option {
	options = slices.Clone(options)
	for i := range options {
		options[i].Selected = options[i].Value == value
	}
	return options
}

// IsFiltered reports whether any of the filters is in use.
func IsFiltered(q url.Values, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return q.Get(name) != "" })
}

// Short is what was typed, as far as a page repeats it.
func Short(text string) string {
	runes := []rune(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd"))
	return string(runes[:min(len(runes), 300)])
}

// ValidText refuses what Postgres cannot hold.
func ValidText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// CheckTypedName checks that the name of the thing was typed.
func CheckTypedName(k *Request, name string) ui.Errors {
	if strings.TrimSpace(k.R.PostForm.Get("name")) != name {
		return ui.Errors{{Field: "name", Message: "Type " + name + ", to be sure that it is this one."}}
	}
	return nil
}

// SearchText is a filter as it was given; what no row can hold matches none.
func SearchText(q url.Values, name string) string {
	text := strings.TrimSpace(q.Get(name))
	if !ValidText(text) || len(text) > 300 {
		return "nothing is called this"
	}
	return text
}

// Labels are options that say what they are.
func Labels(values []string) (all []ui.Option) {
	for _, v := range values {
		all = append(all, ui.Option{Value: v, Label: v})
	}
	return all
}
