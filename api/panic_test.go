package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
)

const canary = "CANARYBIRD"

// panicking is a clock that panics on each call after it is armed.
type panicking struct {
	*clock.Manual
	armed atomic.Bool
}

func (c *panicking) Now() time.Time {
	if c.armed.Load() {
		panic(canary + " of ann@example.com")
	}
	return c.Manual.Now()
}

// A panic becomes a 500 with the request id. The panic value may contain anything, so
// neither the response nor the log contains it. The log contains the stack and the request id
// (decision 22).
func TestPanicReturns500WithRequestID(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	c := &panicking{Manual: p.Time}
	s := newService(t, p, nil, c)
	c.armed.Store(true)
	for _, endpoint := range []string{"ping", "post"} {
		a := s.send(base(p.Required, endpoint), leastPing)
		var rejection struct {
			OK              *bool
			Code, RequestID string
		}
		if err := json.Unmarshal(a.Body.Bytes(), &rejection); err != nil {
			t.Fatal(err)
		}
		id := a.Header().Get("X-Request-Id")
		if a.Code != http.StatusInternalServerError || rejection.OK == nil || *rejection.OK ||
			!strings.HasPrefix(id, "rq_") || rejection.RequestID != id || rejection.Code != "internal_error" {
			t.Errorf("%s: got %d %s, request %s", endpoint, a.Code, a.Body, id)
		}
		var all strings.Builder
		if err := a.Header().Write(&all); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(all.String()+a.Body.String(), canary) || strings.Contains(a.Body.String(), ".go") {
			t.Errorf("%s: the response contains the panic value or the stack: %s", endpoint, a.Body)
		}
		if s.lines.Count(`"msg":"panic","request_id":"`+id+`"`) != 1 || s.lines.Count("panic_test.go") == 0 {
			t.Errorf("%s: the log has no stack: %s", endpoint, s.lines)
		}
	}
	if s.lines.Count(canary) != 0 || s.lines.Count("ann@example.com") != 0 {
		t.Errorf("the log contains the panic value: %s", s.lines)
	}
	c.armed.Store(false)
	if a := s.send(base(p.Required, "ping"), leastPing); a.Code != http.StatusOK {
		t.Errorf("next request: got %d %s", a.Code, a.Body)
	}
}
