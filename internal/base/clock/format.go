package clock

import "time"

// AppendMillis appends a time to b, in UTC and with milliseconds (decision 11), such as
// 2026-01-02T03:04:05.678Z. Two timestamps are formatted for every ping, and time.Format would be
// slower.
func AppendMillis(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = appendDigits(b, year, 4)
	b = appendDigits(append(b, '-'), int(month), 2)
	b = appendDigits(append(b, '-'), day, 2)
	b = appendDigits(append(b, 'T'), hour, 2)
	b = appendDigits(append(b, ':'), minute, 2)
	b = appendDigits(append(b, ':'), second, 2)
	b = appendDigits(append(b, '.'), t.Nanosecond()/int(time.Millisecond), 3)
	return append(b, 'Z')
}

// appendDigits appends the last n digits of v, which must not be negative.
func appendDigits(b []byte, v, n int) []byte {
	b = append(b, "0000"[:n]...)
	for i := len(b) - 1; n > 0; i, n = i-1, n-1 {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}
