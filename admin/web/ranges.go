package web

import (
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/templates/ui"
)

// Range is a time range that ends now, divided into steps for a chart.
type Range struct {
	name, label, Words string
	Step               time.Duration
	Steps              int
	Layout, Head       string
}

var ranges = []Range{
	{"1h", "1 h", "in the last hour", time.Minute, 60, "15:04", "Minute (UTC)"},
	{"24h", "24 h", "in the last 24 hours", time.Hour, 24, "15:04", "Hour (UTC)"},
	{"7d", "7 d", "in the last 7 days", 6 * time.Hour, 28, "2 Jan 15:04", "Start of period (UTC)"},
	{"30d", "30 d", "in the last 30 days", 24 * time.Hour, 30, "2 Jan", "Day (UTC)"},
}

// RangeFilter returns the options of a filter by time, and when the range with the given name begins. It leaves out
// ranges that are longer than the given number of days, and selects the longest other one instead. Without a name, no
// range is selected and the time is zero.
func RangeFilter(name string, days int, now time.Time) (options []ui.Option, since time.Time) {
	for _, one := range ranges {
		kept := one.Step*time.Duration(one.Steps) <= time.Duration(days)*24*time.Hour
		if kept {
			options = append(options, ui.Option{Value: one.name, Label: ui.Sentence(strings.TrimPrefix(one.Words, "in the "))})
		}
		if one.name == name && len(options) > 0 {
			options[len(options)-1].Selected = true
			since = reporting.LastSteps(now, one.Step, one.Steps).From
		}
	}
	return options, since
}

// Name returns the value of the query parameter "range" that selects the range.
func (r Range) Name() string { return r.name }

// SelectedRange returns the range that the query selects, and links to all ranges.
func SelectedRange(k *Request, path string) (r Range, links []ui.Tab) {
	chosen := 1
	for i, one := range ranges {
		if k.R.URL.Query().Get("range") == one.name {
			chosen = i
		}
	}
	for i, one := range ranges {
		links = append(links, ui.Tab{Label: one.label, URL: path + "range=" + one.name, Current: i == chosen})
	}
	return ranges[chosen], links
}
