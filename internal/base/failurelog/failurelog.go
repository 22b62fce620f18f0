// Package failurelog decides when to log a continuing failure.
package failurelog

import (
	"regexp"
	"time"
)

// Every is how often a continuing failure is logged again.
const Every = time.Minute

// changing are the parts of a reason that change while the failure stays the same: the number of data keys left,
// and the difference between two clocks.
var changing = regexp.MustCompile(`\d+ data keys left|differs from the database's by \S+`)

// State is the state of an operation that can fail repeatedly. A failure is logged immediately, when its reason
// changes, and every minute. The zero value means that the operation is not failing.
type State struct {
	reason string // without the parts that change
	logged time.Time
}

// Due reports whether to log a failure now.
func (s *State) Due(reason string, now time.Time) bool {
	reason = changing.ReplaceAllString(reason, "")
	if s.logged != (time.Time{}) && reason == s.reason && now.Sub(s.logged) < Every {
		return false
	}
	s.reason, s.logged = reason, now
	return true
}

// End ends the failure. It reports whether there was one.
func (s *State) End() bool {
	failed := !s.logged.IsZero()
	*s = State{}
	return failed
}
