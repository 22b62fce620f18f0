package main

import (
	"errors"
	"testing"
	"time"
)

func TestOverlap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		want  time.Duration
		shown string
		err   error
	}{
		{"3d", 3 * day, "3d", nil},
		{"36h", 36 * time.Hour, "36h0m0s", nil},
		{"24h", day, "1d", nil},
		{"0s", 0, "0d", nil},
		{"90d", 90 * day, "90d", nil},
		{"2160h", 90 * day, "90d", nil},
		{"-1d", -day, "-1d", nil}, // rejected by the service
		{"91d", 0, "", errOverlapLong},
		{"99999h", 0, "", errOverlapLong},
		{"99999d", 0, "", errOverlapLong},
		{"2160h1ns", 0, "", errOverlapLong},
		{"", 0, "", errOverlapForm},
		{"d", 0, "", errOverlapForm},
		{"1.5d", 0, "", errOverlapForm},
		{"3", 0, "", errOverlapForm},
		{"soon", 0, "", errOverlapForm},
	} {
		var o overlap
		err := o.Set(c.text)
		if !errors.Is(err, c.err) || time.Duration(o) != c.want {
			t.Errorf("%q is %s (%v), want %s (%v)", c.text, time.Duration(o), err, c.want, c.err)
		}
		if c.err == nil && o.String() != c.shown {
			t.Errorf("%q is shown as %s, want %s", c.text, o.String(), c.shown)
		}
	}
}
