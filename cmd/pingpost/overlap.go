package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// overlap is a flag value for the time during which an older secret stays valid. It
// accepts Go durations and days, such as 3d.
type overlap struct {
	time.Duration
	max   time.Duration
	unset bool // the flag was not given, and it has no default
}

const (
	day        = 24 * time.Hour
	maxOverlap = 90 * day
)

var errOverlapForm = errors.New("must be a time with a unit, such as 36h or 3d")

// Set implements pflag.Value.
func (o *overlap) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int64
		n, err = strconv.ParseInt(days, 10, 64)
		d = time.Duration(max(-1, min(n, int64(o.max/day)+1))) * day // avoids an overflow
	}
	switch {
	case err != nil:
		return errOverlapForm
	case d > o.max:
		return fmt.Errorf("must be at most %d days", o.max/day)
	}
	o.Duration, o.unset = d, false
	return nil
}

// String implements pflag.Value. If it returns "", the help shows no default.
func (o *overlap) String() string {
	switch {
	case o.unset:
		return ""
	case o.Duration%day != 0:
		return o.Duration.String()
	}
	return strconv.Itoa(int(o.Duration/day)) + "d"
}

// Type implements pflag.Value.
func (o *overlap) Type() string { return "time" }
