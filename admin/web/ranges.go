package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/reporting"
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

const day = 24 * time.Hour

// Range is a time range that is divided into steps for a chart. The ranges with a name end now.
type Range struct {
	name, label, words string
	step               time.Duration
	steps              int
	layout, head       string
}

// StepLabel formats the time step that begins at the given time, such as "12:00", or "2 Jan 12:00–18:00" for a step of
// several hours.
func (r Range) StepLabel(at time.Time) string {
	label := at.Format(r.layout)
	if r.step > time.Hour && r.step < day {
		label += "–" + at.Add(r.step).Format("15:04")
	}
	return label
}

var ranges = []Range{
	{"1h", "1 h", "in the last hour", time.Minute, 60, "15:04", "Minute (UTC)"},
	{"24h", "24 h", "in the last 24 hours", time.Hour, 24, "15:04", "Hour (UTC)"},
	{"7d", "7 d", "in the last 7 days", 6 * time.Hour, 28, "2 Jan 15:04", "Period (UTC)"},
	{"30d", "30 d", "in the last 30 days", 24 * time.Hour, 30, "2 Jan", "Day (UTC)"},
}

// RangeFilter returns the options of a filter by time, and the time at which the range with the given name begins. It
// leaves out ranges that are longer than the given number of days. If it leaves out the named range, it selects the
// longest of the others instead. Without a name, no range is selected and the time is zero.
func RangeFilter(name string, days int, now time.Time) (options []ui.Option, since time.Time) {
	for _, r := range ranges {
		kept := r.step*time.Duration(r.steps) <= time.Duration(days)*24*time.Hour
		if kept {
			label := ui.Sentence(strings.TrimPrefix(r.words, "in the "))
			options = append(options, ui.Option{Value: r.name, Label: label})
		}
		if r.name == name && len(options) > 0 {
			options[len(options)-1].Selected = true
			since = reporting.LastSteps(now, r.step, r.steps).From
		}
	}
	return options, since
}

// Name returns the value of the query parameter "range" that selects the range. A range of dates has no name.
func (r Range) Name() string { return r.name }

// maxDays is the maximum number of days in a range of dates.
const maxDays = 400

// selectedDates returns the range of dates in the query's parameters from and to, and its times. If only to is set, the
// range is that day. If only from is set, the range ends today. If neither is set, or if a date is not valid, ok is
// false. If a date is not valid, mistakes explains why.
func (k *Request) selectedDates() (r Range, within reporting.Range, mistakes []Notice, ok bool) {
	from, until, mistakes := DateRange(k.R.URL.Query())
	if from.IsZero() && until.IsZero() && len(mistakes) == 0 {
		return r, within, nil, false
	}
	if until.IsZero() {
		until = k.Now.UTC().Truncate(day).Add(day)
	}
	if from.IsZero() {
		from = until.Add(-day)
	}
	last := until.Add(-day)
	days := int(until.Sub(from) / day)
	switch {
	case len(mistakes) > 0:
	case from.After(k.Now):
		mistakes = []Notice{{Kind: "warn", Code: "date", Text: "Enter dates that are not in the future."}}
	case days > maxDays:
		mistakes = []Notice{{Kind: "warn", Code: "date", Text: fmt.Sprintf("Choose at most %d days.", maxDays)}}
	}
	if len(mistakes) > 0 {
		return r, within, mistakes, false
	}
	if until.After(k.Now) && from.Before(k.Now) {
		until = k.Now
	}
	start := "2 January"
	if from.Year() != last.Year() {
		start = "2 January 2006"
	}
	r = Range{
		words: "from " + from.Format(start) + " to " + last.Format("2 January 2006"),
		step:  day, layout: "2 Jan", head: "Day (UTC)",
	}
	if days <= 14 {
		r.step, r.layout, r.head = 6*time.Hour, "2 Jan 15:04", "Period (UTC)"
	}
	if days == 1 {
		r.words, r.step, r.layout, r.head = "on "+from.Format("2 January 2006"), time.Hour, "15:04", "Hour (UTC)"
	}
	return r, reporting.Range{From: from, Until: until, Step: r.step}, nil, true
}

// SelectedRange returns the range that the query selects by name or by dates, its times, and the controls that select
// another one. path is the address of the page without these parameters. It ends with "?" or "&".
func (k *Request) SelectedRange(path string) (r Range, within reporting.Range, period ui.Period) {
	q := k.R.URL.Query()
	r, within, mistakes, dated := k.selectedDates()
	if !dated {
		i := slices.IndexFunc(ranges, func(named Range) bool { return named.name == q.Get("range") })
		if i < 0 {
			i = 1
		}
		r = ranges[i]
		within = reporting.LastSteps(k.Now, r.step, r.steps)
	}
	for _, m := range mistakes {
		m.Text += " This page shows " + strings.TrimPrefix(r.words, "in ") + " instead."
		k.Notices = append(k.Notices, m)
	}
	for _, choice := range ranges {
		period.Ranges = append(period.Ranges,
			ui.Tab{Label: choice.label, URL: path + "range=" + choice.name, Current: choice.name == r.name})
	}
	period.From, period.To = Short(q.Get("from")), Short(q.Get("to"))
	period.Words, period.StepHead = r.words, r.head
	return r, within, period
}
