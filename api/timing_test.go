package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// ticking is a clock that advances by a step on each call, and records the times that it
// returned.
type ticking struct {
	step time.Duration

	mu       sync.Mutex
	returned []time.Time
}

func (c *ticking) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := testkit.StartTime().Add(time.Duration(len(c.returned)) * c.step)
	c.returned = append(c.returned, now)
	return now
}

// during returns a response and the clock readings while it was produced, relative to the first one.
func (c *ticking) during(send func() *httptest.ResponseRecorder) (answer *httptest.ResponseRecorder, ages []time.Duration) {
	before := len(c.returned)
	answer = send()
	for _, at := range c.returned[before:] {
		ages = append(ages, at.Sub(c.returned[before]))
	}
	return answer, ages
}

var durations = regexp.MustCompile(`^auction;dur=([0-9]+)\.([0-9]{3});desc="rate card v1", ` +
	`buyer_cell;dur=([0-9]+)\.([0-9]{3});desc="plumber/GB/standard", total;dur=([0-9]+)\.([0-9]{3})$`)

// timings returns the three durations in Server-Timing, in milliseconds.
func timings(t *testing.T, header string) (auction, cell, total time.Duration) {
	t.Helper()
	found := durations.FindStringSubmatch(header)
	if found == nil {
		t.Fatalf("Server-Timing: %q", header)
	}
	var all [3]time.Duration
	for i := range all {
		micros, err := strconv.Atoi(found[1+2*i] + found[2+2*i])
		if err != nil {
			t.Fatal(err)
		}
		all[i] = time.Duration(micros) * time.Microsecond
	}
	return all[0], all[1], all[2]
}

// The responses to pings and posts report their duration, measured with the service's clock:
// Server-Timing in milliseconds, and X-Response-Time in whole milliseconds, rounded up (decision
// 11).
func TestResponsesUseServiceClock(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	for _, step := range []time.Duration{
		time.Millisecond, // a whole millisecond is not rounded up
		time.Millisecond + time.Nanosecond,
		400 * time.Microsecond,
		time.Microsecond, // less than 1 ms in total
		999_999 * time.Nanosecond,
		2*time.Second + 7*time.Microsecond,
	} {
		t.Run(step.String(), func(t *testing.T) {
			c := &ticking{step: step}
			s := newService(t, p, c, c)
			ping, ages := c.during(func() *httptest.ResponseRecorder { return s.send(base(p.Required, "ping"), leastPing) })
			auction, cell := checkTimingHeaders(t, ping, step, ages)
			if cell != step.Truncate(time.Microsecond) || auction <= cell {
				t.Errorf("got auction %s with lookup %s", auction, cell)
			}
			var quoted struct{ TransactionID string }
			if err := json.Unmarshal(ping.Body.Bytes(), &quoted); err != nil {
				t.Fatal(err)
			}
			post, ages := c.during(func() *httptest.ResponseRecorder {
				return s.sign(p.Required.Secret, c.Now(), base(p.Required, "post"), least(quoted.TransactionID))
			})
			checkTimingHeaders(t, post, step, ages[1:])
		})
	}
}

// checkTimingHeaders checks the headers of a response against the times that the clock returned.
func checkTimingHeaders(
	t *testing.T, a *httptest.ResponseRecorder, step time.Duration, ages []time.Duration,
) (auction, cell time.Duration) {
	t.Helper()
	if a.Code != http.StatusOK {
		t.Fatalf("got %d %s", a.Code, a.Body)
	}
	auction, cell, total := timings(t, a.Header().Get("Server-Timing"))
	at := slices.IndexFunc(ages, func(age time.Duration) bool { return age.Truncate(time.Microsecond) == total })
	if at < 1 {
		t.Fatalf("got total %s, want one of the clock's %v", total, ages)
	}
	if part := (auction + step/2) / step; part < 1 ||
		auction != (part*step).Truncate(time.Microsecond) || //nolint:durationcheck // part counts steps
		auction >= total {
		t.Errorf("got auction %s of total %s with steps of %s", auction, total, step)
	}
	whole := ages[at] / time.Millisecond
	if ages[at]%time.Millisecond > 0 {
		whole++
	}
	if got, want := a.Header().Get("X-Response-Time"), strconv.Itoa(int(whole))+"ms"; got != want {
		t.Errorf("X-Response-Time %s after %s, want %s", got, ages[at], want)
	}
	return auction, cell
}
