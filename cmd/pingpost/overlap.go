package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// overlap is how long older secrets stay valid after a rotation, as --overlap
// gives it: a duration of Go's, or whole days.
type overlap time.Duration

const (
	day        = 24 * time.Hour
	maxOverlap = 90 * day // a secret that was to go should be gone some day
)

var (
	errOverlapForm = errors.New("needs a time with its unit, such as 36h or 3d")
	errOverlapLong = errors.New("is 90 days at most")
)

// Set implements pflag.Value.
func (o *overlap) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int64
		n, err = strconv.ParseInt(days, 10, 64)
		d = time.Duration(max(-1, min(n, 91))) * day // more would not fit a duration, and is refused all the same
	}
	switch {
	case err != nil:
		return errOverlapForm
	case d > maxOverlap:
		return errOverlapLong
	}
	*o = overlap(d)
	return nil
}

// String implements pflag.Value.
func (o *overlap) String() string {
	if d := time.Duration(*o); d%day != 0 {
		return d.String()
	}
	return strconv.Itoa(int(time.Duration(*o)/day)) + "d"
}

// Type implements pflag.Value.
func (o *overlap) Type() string { return "time" }
