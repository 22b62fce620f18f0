package app

import (
	"regexp"
	"time"
)

// logFailureEvery is how often a continuing failure is logged again.
const logFailureEvery = time.Minute

// numbers are parts of a reason that can change while the failure stays the same, such as the number of
// data keys left.
var numbers = regexp.MustCompile(`\d+`)

// failureLog decides when to log a continuing failure: immediately, when its reason changes, and every
// minute.
type failureLog struct {
	reason string // without numbers; "" if nothing fails
	logged time.Time
}

// due reports whether to log a failure now.
func (f *failureLog) due(reason string, now time.Time) bool {
	reason = numbers.ReplaceAllString(reason, "0")
	if reason == f.reason && now.Sub(f.logged) < logFailureEvery {
		return false
	}
	f.reason, f.logged = reason, now
	return true
}

// end ends the failure. It reports whether there was one.
func (f *failureLog) end() bool {
	failed := f.reason != ""
	*f = failureLog{}
	return failed
}
