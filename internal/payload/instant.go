package payload

import (
	"bytes"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
)

func (p *problems) instant(f field) (time.Time, bool) {
	text, ok := p.text(f, maxAcknowledgedAt)
	if !ok {
		return time.Time{}, false
	}
	at, ok := parseRFC3339(text)
	if !ok {
		p.add(f, apperr.InvalidValue, "must be an ISO 8601 time with a UTC offset, such as 2026-01-02T03:04:05Z")
	}
	return at, ok
}

// parseRFC3339 parses a time and converts it to UTC. Lower-case t and z are valid. Years outside 1 to
// 9999 in UTC are rejected, because they cannot be formatted or stored in Postgres. Leap seconds are
// rejected, because time.Time cannot represent them.
func parseRFC3339(text []byte) (time.Time, bool) {
	upper := bytes.ToUpper(text)
	if !isRFC3339(upper) {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, string(upper))
	at = at.UTC()
	return at, err == nil && at.Year() >= 1 && at.Year() <= 9999
}

// isRFC3339 checks the format of a time, because time.Parse also accepts a one-digit hour, a comma
// before the fraction, and an offset of 24 hours or 60 minutes.
func isRFC3339(text []byte) bool {
	const form = "dddd-dd-ddTdd:dd:dd"
	if len(text) <= len(form) || !hasForm(text[:len(form)], form) {
		return false
	}
	rest := text[len(form):]
	if rest[0] == '.' {
		offset := bytes.TrimLeft(rest[1:], "0123456789")
		if len(offset) == len(rest)-1 {
			return false
		}
		rest = offset
	}
	if string(rest) == "Z" {
		return true
	}
	return (hasForm(rest, "+dd:dd") || hasForm(rest, "-dd:dd")) && string(rest[1:3]) < "24" && rest[4] < '6'
}

// hasForm reports whether text matches form, in which d stands for a digit.
func hasForm(text []byte, form string) bool {
	if len(text) != len(form) {
		return false
	}
	for i, c := range text {
		if form[i] == 'd' && (c < '0' || c > '9') || form[i] != 'd' && c != form[i] {
			return false
		}
	}
	return true
}
