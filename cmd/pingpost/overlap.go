package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// overlap is a flag value for the time during which an older secret stays valid. It
// accepts Go durations and days, such as 3d.
type overlap time.Duration

const (
	day        = 24 * time.Hour
	maxOverlap = 90 * day
)

var (
	errOverlapForm = errors.New("must be a time with a unit, such as 36h or 3d")
	errOverlapLong = errors.New("must be at most 90 days")
)

// Set implements pflag.Value.
func (o *overlap) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int64
		n, err = strconv.ParseInt(days, 10, 64)
		d = time.Duration(max(-1, min(n, 91))) * day // avoids an overflow; more than 90 days are rejected below
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
