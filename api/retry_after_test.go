package api_test

import (
	"net/http"
	"testing"
	"time"
)

// Retry-After is rounded up to whole seconds, so that a client that waits that long is not rejected
// again (decision 22).
func TestRetryAfterIsRoundedUp(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	s := newService(t, p, nil, nil)
	const unknownSecret = "unknown-secret"
	post := func() (int, string) {
		a := s.sign(unknownSecret, p.Time.Now(), "/api/lead/post", leastPing)
		return a.Code, a.Header().Get("Retry-After")
	}
	if status, after := post(); status != http.StatusUnauthorized || after != "" {
		t.Fatalf("first invalid signature: got %d, Retry-After %q", status, after)
	}
	for _, c := range []struct {
		later time.Duration
		want  string
	}{
		{0, "60"},
		{time.Nanosecond, "60"},
		{700*time.Millisecond - time.Nanosecond, "60"}, // 59.3 s are left
		{300 * time.Millisecond, "59"},                 // exactly 59 s are left
		{57*time.Second + 900*time.Millisecond, "2"},
		{time.Second, "1"}, // 0.1 s is left
		{100*time.Millisecond - time.Nanosecond, "1"},
	} {
		p.Time.Advance(c.later)
		if status, after := post(); status != http.StatusTooManyRequests || after != c.want {
			t.Errorf("%s later: got %d, Retry-After %q, want 429, %q", c.later, status, after, c.want)
		}
	}
	p.Time.Advance(time.Nanosecond)
	if status, after := post(); status != http.StatusUnauthorized || after != "" {
		t.Errorf("next minute: got %d, Retry-After %q", status, after)
	}
}
