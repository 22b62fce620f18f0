package payload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseISO8601(t *testing.T) {
	second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	midnight := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-02T03:04:05Z":             second,
		"2026-01-02t03:04:05z":             second,
		"2026-01-02T03:04:05-00:00":        second,
		"2026-01-02T05:04:05+0200":         second, // Python's %z
		"2026-01-02T05:04:05+02":           second, // Postgres
		"2026-01-02T01:34:05-01:30":        second,
		"20260102T030405Z":                 second,
		"20260102T050405+0200":             second,
		"20260102T050405+02:00":            second,
		"2026-01-02T03:04Z":                second.Add(-5 * time.Second), // Java, if the seconds are zero
		"20260102T0304Z":                   second.Add(-5 * time.Second),
		"2026-01-02T03:04,5Z":              second.Add(25 * time.Second),
		"2026-01-02T03:04.25Z":             second.Add(10 * time.Second),
		"2026-01-02T03:04:05.1Z":           second.Add(100 * time.Millisecond),
		"2026-01-02T03:04:05,5Z":           second.Add(500 * time.Millisecond),
		"2026-01-02T03:04:05.1234567899Z":  second.Add(123456789),
		"2026-01-02T24:00:00Z":             midnight,
		"2026-01-02T24:00Z":                midnight,
		"2026-01-02T24:00:00.000Z":         midnight,
		"2026-01-02T23:59:60Z":             midnight,
		"2026-01-02T23:59:60.5Z":           midnight.Add(500 * time.Millisecond),
		"2024-02-29T23:59:59+23:59":        time.Date(2024, 2, 29, 0, 0, 59, 0, time.UTC),
		"2025-12-31T24:00:00Z":             time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"0001-01-01T00:00:00Z":             time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		"9999-12-31T23:59:59.999999+00:00": time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
	} {
		if got, hasOffset, ok := parseISO8601([]byte(text)); !ok || !hasOffset || got != want {
			t.Errorf("parseISO8601(%q) = %v, %v, %v, want %v", text, got, hasOffset, ok, want)
		}
	}
	for _, text := range []string{
		"2026-01-02T03:04:05", "2026-01-02T03:04", "20260102T030405", "20260102T0304", "2026-01-02T03:04:05.6", "2026-01-02t03:04,6",
		"2026-01-02T24:00", "2026-01-02T23:59:60", "0001-01-01T00:00:00", "9999-12-31T23:59:59.9",
	} {
		if _, hasOffset, ok := parseISO8601([]byte(text)); !ok || hasOffset {
			t.Errorf("parseISO8601(%q): got offset %v, accepted %v, want no offset", text, hasOffset, ok)
		}
	}
	for _, text := range []string{
		"", "2026", "2026-01-02", "2026-01-02T03Z", "2026-01-02T03", "2026-01-02 03:04:05Z", "2026-01-02T3:04:05Z",
		"2026-1-02T03:04:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05,Z", "2026-01-02T03:04:05.", "2026-01-02T03:04:05+", "2026-01-02T24:00:01Z", "2026-01-02T24:01Z",
		"2026-01-02T24:00:00.001Z", "2026-01-02T25:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:61Z", "2026-02-29T03:04:05Z",
		"2026-13-01T03:04:05Z", "2026-00-01T03:04:05Z", "2026-04-31T03:04:05Z", "2026-01-00T03:04:05Z",
		"2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+01:60", "2026-01-02T03:04:05+1", "2026-01-02T03:04:05+010", "2026-01-02T03:04:05 Z",
		" 2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z ", "2026-01-02T03:04:05Z\n", "2026-W01-5T03:04:05Z", "2026-002T03:04:05Z",
		"20260102T03:04:05Z", "2026-01-02T030405Z", "2026-0102T030405Z", "2026-01-02T03:0405Z", "2026-01-02T0304:05Z",
		"02026-01-02T03:04:05Z", "-026-01-02T03:04:05Z", "0000-12-31T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
		"9999-12-31T24:00:00Z", "9999-12-31T24:00", "0000-12-31T00:00:00", "20260102T03:04:05", "2026-02-29T03:04", "1767322800", "２026-01-02T03:04:05Z", "2026-01-02T03:04:05GMT",
	} {
		if got, _, ok := parseISO8601([]byte(text)); ok {
			t.Errorf("parseISO8601(%q) = %v", text, got)
		}
	}
}

// Every format of a time is read as the same time.
func TestParseISO8601ReadsFormattedTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-62_135_596_800+86_400, 253_402_300_799-86_400).Draw(t, "seconds")
		zone := time.FixedZone("", rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "minutes")*60)
		at := time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		form := rapid.SampledFrom([]string{
			time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700", "20060102T150405.999999999-0700", "20060102T150405.999999999Z07:00",
		}).Draw(t, "form")
		text := at.In(zone).Format(form)
		if rapid.Bool().Draw(t, "comma") {
			text = strings.Replace(text, ".", ",", 1)
		}
		if got, _, ok := parseISO8601([]byte(text)); !ok || !got.Equal(at) || got.Location() != time.UTC {
			t.Fatalf("parsing %s: got %v, %v", text, got, ok)
		}
	})
}

// A time that is accepted can be formatted and read again.
func FuzzParseISO8601(f *testing.F) {
	for _, seed := range []string{"2026-01-02T03:04:05.6Z", "20260102T030405,6+0200", "2026-01-02T24:00Z", "2026-12-31T23:59:60-01", "2026-01-02T03:04"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		at, _, ok := parseISO8601(text)
		if !ok {
			return
		}
		again, _, ok := parseISO8601([]byte(at.Format(time.RFC3339Nano)))
		if !ok || !again.Equal(at) {
			t.Errorf("%q is %s, which is read as %s", text, at, fmt.Sprint(again, ok))
		}
	})
}

func BenchmarkParseISO8601(b *testing.B) {
	text := []byte("2026-01-02T03:04:05.678+01:00")
	for b.Loop() {
		if _, _, ok := parseISO8601(text); !ok {
			b.Fatal("not accepted")
		}
	}
}

func TestDoubtfulConsentTime(t *testing.T) {
	pinged := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(t time.Time) *time.Time { return &t }
	behind := time.FixedZone("", -12*3600)
	for name, c := range map[string]struct {
		sent bool
		at   *time.Time
		want WarningCode
	}{
		"none":                     {false, nil, ""},
		"at the time of the ping":  {true, at(pinged), ""},
		"24 hours ahead":           {true, at(pinged.Add(24 * time.Hour)), ""},
		"more than 24 hours ahead": {true, at(pinged.Add(24*time.Hour + 1)), ConsentTimeImplausible},
		"first second of 2000":     {true, at(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), ""},
		"the same in another zone": {true, at(time.Date(1999, 12, 31, 12, 0, 0, 0, behind)), ""},
		"last second of 1999":      {true, at(time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)), ConsentTimeImplausible},
		"year 1":                   {true, at(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)), ConsentTimeImplausible},
		"without an offset":        {true, nil, ConsentTimeWithoutOffset},
	} {
		if code, message := DoubtfulConsentTime(c.sent, c.at, pinged); code != c.want || (message != "") != (code != "") {
			t.Errorf("%s: got %q with message %q, want %q", name, code, message, c.want)
		}
	}
}
