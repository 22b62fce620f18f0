package clock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAppendMillisIsTheFormat(t *testing.T) {
	const format = "2006-01-02T15:04:05.000Z"
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		if got, want := string(AppendMillis(nil, at)), at.UTC().Format(format); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}
