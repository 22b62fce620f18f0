package templates

// Number groups the digits of n by three: 1,204.
func Number(n int64) string { return number(n) }

// Wait is a number of seconds as a person says it.
func Wait(seconds int) string { return wait(seconds) }
