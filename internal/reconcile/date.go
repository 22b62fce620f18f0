package reconcile

import (
	"strconv"
	"strings"
	"time"
)

// parseDay parses a date, which can be followed by a time, and returns the day. A time with a time zone
// is converted to UTC first, because days in the ledger are in UTC.
func parseDay(text string, form DateForm) (day time.Time, ok bool) {
	text = strings.TrimSpace(text)
	date, clock := text, ""
	if i := strings.IndexAny(text, "Tt "); i >= 0 {
		date, clock = text[:i], strings.TrimSpace(text[i+1:])
		if clock == "" {
			return day, false
		}
	}
	parts, ok := threeParts(date)
	if !ok {
		return day, false
	}
	y, m, d := parts[0], parts[1], parts[2]
	switch form {
	case YearFirst:
	case DayFirst:
		y, m, d = parts[2], parts[1], parts[0]
	case MonthFirst:
		y, m, d = parts[2], parts[0], parts[1]
	}
	if len(y) != 4 || len(m) > 2 || len(d) > 2 {
		return day, false
	}
	year, _ := strconv.Atoi(y)
	month, _ := strconv.Atoi(m)
	number, _ := strconv.Atoi(d)
	day = time.Date(year, time.Month(month), number, 0, 0, 0, 0, time.UTC)
	if year < 1900 || int(day.Month()) != month || day.Day() != number { // time.Date turns 31 June into 1 July
		return day, false
	}
	if clock == "" {
		return day, true
	}
	return atClock(day, clock)
}

func threeParts(date string) (parts [3]string, ok bool) {
	i := strings.IndexAny(date, "-/.")
	if i < 1 {
		return parts, false
	}
	mark := date[i : i+1]
	parts[0] = date[:i]
	parts[1], parts[2], ok = strings.Cut(date[i+1:], mark)
	for _, p := range parts {
		if p == "" || len(p) > 4 || !digits(p) {
			return parts, false
		}
	}
	return parts, ok
}

var clockForms = []string{"15:04:05Z07:00", "15:04Z07:00", "15:04:05", "15:04", "15:04:05 Z07:00", "15:04:05Z0700",
	"3:04 PM", "3:04:05 PM", "15:04:05 MST"}

func atClock(day time.Time, text string) (time.Time, bool) {
	for _, form := range clockForms {
		if strings.HasSuffix(form, "MST") && !strings.HasSuffix(text, " UTC") && !strings.HasSuffix(text, " GMT") {
			continue // other zone names are ambiguous
		}
		at, err := time.Parse(form, strings.ToUpper(text))
		if err == nil {
			_, offset := at.Zone()
			seconds := at.Hour()*3600 + at.Minute()*60 + at.Second() - offset
			return day.Add(time.Duration(seconds) * time.Second).Truncate(24 * time.Hour), true
		}
	}
	return day, false
}
