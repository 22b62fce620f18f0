package payload

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseRFC3339(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-02T03:04:05Z":             time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		"2026-01-02t03:04:05z":             time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		"2026-01-02T03:04:05-00:00":        time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		"2026-01-02T03:04:05.1Z":           time.Date(2026, 1, 2, 3, 4, 5, 1e8, time.UTC),
		"2026-01-02T03:04:05.1234567899Z":  time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC),
		"2024-02-29T23:59:59+23:59":        time.Date(2024, 2, 29, 0, 0, 59, 0, time.UTC),
		"0001-01-01T00:00:00Z":             time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		"9999-12-31T23:59:59.999999+00:00": time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
	} {
		if got, ok := parseRFC3339([]byte(text)); !ok || got != want {
			t.Errorf("parseRFC3339(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "2026", "2026-01-02", "2026-01-02T03:04Z", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T3:04:05Z",
		"2026-1-02T03:04:05Z", "2026-01-02T03:04:05,6Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05.6", "2026-01-02T24:00:00Z",
		"2026-01-02T03:60:05Z", "2026-12-31T23:59:60Z", "2026-02-29T03:04:05Z", "2026-13-01T03:04:05Z", "2026-00-01T03:04:05Z",
		"2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+01:60", "2026-01-02T03:04:05+0100", "2026-01-02T03:04:05+01", "2026-01-02T03:04:05 Z",
		" 2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z ", "20260102T030405Z", "2026-W01-5T03:04:05Z", "02026-01-02T03:04:05Z", "-026-01-02T03:04:05Z",
		"0000-12-31T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "1767322800", "２026-01-02T03:04:05Z", "2026-01-02T03:04:05GMT",
	} {
		if got, ok := parseRFC3339([]byte(text)); ok {
			t.Errorf("parseRFC3339(%q) = %v", text, got)
		}
	}
}

func TestParseRFC3339ReadsFormattedTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-62_135_596_800+86_400, 253_402_300_799-86_400).Draw(t, "seconds")
		zone := time.FixedZone("", rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "minutes")*60)
		at := time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		text := at.In(zone).Format(time.RFC3339Nano)
		if got, ok := parseRFC3339([]byte(text)); !ok || !got.Equal(at) || got.Location() != time.UTC {
			t.Fatalf("parsing %s: got %v, %v", text, got, ok)
		}
	})
}
