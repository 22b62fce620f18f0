package payload

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
)

func (p *problems) instant(f field) (time.Time, bool) {
	text, ok := p.text(f, maxAcknowledgedAt)
	if !ok {
		return time.Time{}, false
	}
	at, ok := parseISO8601(text)
	if !ok {
		p.add(f, apperr.InvalidValue, "must be an ISO 8601 time with a UTC offset, such as 2026-01-02T03:04:05Z")
	}
	return at, ok
}

// dateTime matches a calendar date and time of ISO 8601 with an offset, in extended or basic format. Its
// groups are: year, separator, month, separator, day; hour, separator, minute, separator, second; fraction;
// offset's sign, hours and minutes.
var dateTime = regexp.MustCompile(`^(\d{4})(-?)(\d\d)(-?)(\d\d)[Tt]` +
	`(\d\d)(:?)(\d\d)(?:(:?)(\d\d))?(?:[.,](\d+))?` +
	`(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)$`)

// parseISO8601 parses a time and converts it to UTC. Seconds are optional, and a fraction belongs to the
// last part of the time. The offset can be in another format than the rest, as in Python's %z. 24:00 is the
// end of a day, and a leap second is the first second of the next minute, because time.Time cannot represent
// it. Years outside 1 to 9999 in UTC are rejected, because they cannot be formatted or stored in Postgres
// (decision 60).
func parseISO8601(text []byte) (time.Time, bool) {
	m := dateTime.FindSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	part := func(group int) string { return string(m[group]) }
	number := func(group int) int { n, _ := strconv.Atoi(part(group)); return n }
	withSeconds := len(m[10]) > 0
	extended := part(2) == "-"
	if part(4) != part(2) || (part(7) == ":") != extended || withSeconds && part(9) != part(7) {
		return time.Time{}, false // extended and basic format are mixed
	}
	year, month, day := number(1), time.Month(number(3)), number(5)
	hour, minute, second := number(6), number(8), number(10)
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	unit := time.Minute
	if withSeconds {
		unit = time.Second
	}
	fraction := fractionOf(unit, part(11))
	switch {
	case date.Month() != month || date.Day() != day, minute > 59, second > 60, number(13) > 23, number(14) > 59,
		hour > 23 && (hour > 24 || minute+second > 0 || strings.Trim(part(11), "0") != ""):
		return time.Time{}, false
	}
	offset := time.Duration(number(13))*time.Hour + time.Duration(number(14))*time.Minute
	if part(12) == "-" {
		offset = -offset
	}
	at := time.Date(year, month, day, hour, minute, second, 0, time.UTC).Add(fraction - offset)
	return at, at.Year() >= 1 && at.Year() <= 9999
}

// fractionOf returns the part of a unit that is given by the digits after a decimal point. It drops parts
// of a nanosecond.
func fractionOf(unit time.Duration, digits string) (fraction time.Duration) {
	for _, digit := range digits {
		unit /= 10
		fraction += time.Duration(digit-'0') * unit
	}
	return fraction
}
