package payload

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// acknowledgedAt reads a time of consent and returns the text as sent, but trimmed, and the time in UTC. A
// time without an offset has no result in UTC, because an assumed offset would be false evidence (decision
// 62).
func (p *problems) acknowledgedAt(f field) (sent string, at *time.Time) {
	text, ok := p.trimmed(f, maxAcknowledgedAt)
	if !ok {
		return "", nil
	}
	utc, hasOffset, ok := parseISO8601(text)
	if !ok {
		p.add(f, apperr.InvalidValue, "must be a calendar date and time in ISO 8601, such as 2026-01-02T03:04:05Z")
		return "", nil
	}
	if hasOffset {
		at = &utc
	}
	return string(text), at
}

// maxConsentAhead is how far a time of consent may be after the ping. It allows for local times that were
// sent as UTC.
const maxConsentAhead = 24 * time.Hour

// DoubtfulConsentTime returns the warning about a time of consent that may be wrong, or "". The parameter sent reports
// whether the partner sent a time. The parameter at is this time in UTC, or nil if it has no offset. The parameter
// pinged is the time of the ping.
func DoubtfulConsentTime(sent bool, at *time.Time, pinged time.Time) (code WarningCode, message string) {
	switch {
	case at == nil && sent:
		return ConsentTimeWithoutOffset,
			"has no UTC offset, so only the text was stored, and not a point in time. Send an offset, such as Z or +01:00"
	case at != nil && (at.UTC().Year() < 2000 || at.After(pinged.Add(maxConsentAhead))):
		return ConsentTimeImplausible,
			"is before the year 2000 or more than 24 hours after the ping. It was stored as sent. Check the clock and the format"
	}
	return "", ""
}

// dateTime matches a calendar date and time in ISO 8601, in extended or basic format. Its groups are: year, separator,
// month, separator, day; hour, separator, minute, separator, second; fraction; offset, its sign, hours and minutes.
var dateTime = regexp.MustCompile(`^(\d{4})(-?)(\d\d)(-?)(\d\d)[Tt]` +
	`(\d\d)(:?)(\d\d)(?:(:?)(\d\d))?(?:[.,](\d+))?` +
	`([Zz]|([+-])(\d\d)(?::?(\d\d))?)?$`)

// parseISO8601 parses a time and converts it to UTC, if it has an offset. Seconds are optional, and a fraction belongs
// to the last part of the time. The offset can be in a different format from the rest, as in Python's %z. 24:00 is the
// end of a day, and a leap second is the first second of the next minute, because time.Time cannot represent it. Years
// outside 1 to 9999 in UTC are rejected, because they cannot be formatted or stored in Postgres (decision 60).
func parseISO8601(text []byte) (at time.Time, hasOffset, ok bool) {
	m := dateTime.FindSubmatch(text)
	if m == nil {
		return time.Time{}, false, false
	}
	part := func(group int) string { return string(m[group]) }
	number := func(group int) int { n, _ := strconv.Atoi(part(group)); return n }
	withSeconds := len(m[10]) > 0
	extended := part(2) == "-"
	if part(4) != part(2) || (part(7) == ":") != extended || withSeconds && part(9) != part(7) {
		return time.Time{}, false, false // extended and basic format are mixed
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
	case date.Month() != month || date.Day() != day, minute > 59, second > 60, number(14) > 23, number(15) > 59,
		hour > 23 && (hour > 24 || minute+second > 0 || strings.Trim(part(11), "0") != ""):
		return time.Time{}, false, false
	}
	offset := time.Duration(number(14))*time.Hour + time.Duration(number(15))*time.Minute
	if part(13) == "-" {
		offset = -offset
	}
	at = time.Date(year, month, day, hour, minute, second, 0, time.UTC).Add(fraction - offset)
	return at, len(m[12]) > 0, at.Year() >= 1 && at.Year() <= 9999
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
