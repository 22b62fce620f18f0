package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
)

func TestOverlap(t *testing.T) {
	t.Parallel()
	const long = "must be at most 90 days"
	form := errOverlapForm.Error()
	for _, c := range []struct {
		text  string
		want  time.Duration
		shown string
		err   string
	}{
		{"3d", 3 * day, "3d", ""},
		{"36h", 36 * time.Hour, "36h0m0s", ""},
		{"24h", day, "1d", ""},
		{"0s", 0, "0d", ""},
		{"90d", 90 * day, "90d", ""},
		{"2160h", 90 * day, "90d", ""},
		{"-1d", -day, "-1d", ""}, // rejected by the service
		{"91d", 0, "", long},
		{"99999h", 0, "", long},
		{"99999d", 0, "", long},
		{"2160h1ns", 0, "", long},
		{"", 0, "", form},
		{"d", 0, "", form},
		{"1.5d", 0, "", form},
		{"3", 0, "", form},
		{"soon", 0, "", form},
	} {
		o := overlap{max: maxOverlap}
		message := ""
		if err := o.Set(c.text); err != nil {
			message = err.Error()
		}
		if message != c.err || o.Duration != c.want {
			t.Errorf("Set(%q): got %s, error %q, want %s, error %q", c.text, o.Duration, message, c.want, c.err)
		}
		if c.err == "" && o.String() != c.shown {
			t.Errorf("Set(%q): shown as %s, want %s", c.text, o.String(), c.shown)
		}
	}
}

// The command line and the service have the same maximum. The help shows the maximum but no
// default.
func TestSecretExpireFlag(t *testing.T) {
	t.Parallel()
	c := secretExpire()
	usage := c.Flags().Lookup("in").Usage
	if help := c.Flags().FlagUsages(); !strings.Contains(usage, "at most 30 days") || strings.Contains(help, "default -") {
		t.Errorf("the help is %s", help)
	}
	if partners.MaxExtension != 30*day {
		t.Errorf("the service allows %s, but the help shows 30 days", partners.MaxExtension)
	}
	if err := c.ParseFlags([]string{"--in", "30d"}); err != nil {
		t.Errorf("--in 30d: %v", err)
	}
	for _, long := range []string{"31d", "720h1ns", "99999d"} {
		if err := c.ParseFlags([]string{"--in", long}); err == nil || !strings.Contains(err.Error(), "must be at most 30 days") {
			t.Errorf("--in %s: got error %v, want one with the maximum", long, err)
		}
	}
}

func TestSecretStatesInTheList(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		partners.StateActive:   "active",
		partners.StateExpiring: "expiring",
		partners.StateExpired:  "expired",
		partners.StateRevoked:  "revoked",
	} {
		if got := stateText(state); got != want {
			t.Errorf("stateText(%s) = %s, want %s", state, got, want)
		}
	}
}
