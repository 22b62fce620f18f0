package templates

import "time"

// Number groups the digits of n by three: 1,204.
func Number(n int64) string { return number(n) }

// Ago is how long before now a moment was, or how long after it will be.
func Ago(at, now time.Time) string { return ago(at, now) }

// Took is a duration as it is measured.
func Took(d time.Duration) string { return took(d) }

// Wait is a number of seconds as a person says it.
func Wait(seconds int) string { return wait(seconds) }
