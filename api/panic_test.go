package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

const canary = "CANARYBIRD"

// panicking is a clock that panics on the first call after it is armed.
type panicking struct {
	*clock.Manual
	armed atomic.Bool
}

func (c *panicking) Now() time.Time {
	if c.armed.CompareAndSwap(true, false) {
		panic(canary + " of ann@example.com")
	}
	return c.Manual.Now()
}

// checkLogged checks that a partner's request log contains a request exactly once, with the given status.
func (s *service) checkLogged(t *testing.T, p testkit.Partner, endpoint, request string, status int) {
	t.Helper()
	s.Traffic.Flush(t.Context())
	requestID, err := id.Parse(id.Request, request)
	if err != nil {
		t.Fatal(err)
	}
	var found int
	err = s.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM api_requests
		WHERE request_id = $1 AND partner_id = $2 AND endpoint = $3 AND status = $4`,
		requestID, p.ID, endpoint, status).Scan(&found)
	if err != nil || found != 1 {
		t.Errorf("%s: logged %d times (%v)", endpoint, found, err)
	}
}

// A panic becomes a 500 with the request id. The panic value may contain anything, so
// neither the response nor the log contains it. The log contains the stack and the request id
// (decision 22).
func TestPanicReturns500WithRequestID(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	c := &panicking{Manual: p.Time}
	s := newService(t, p, nil, c)
	for _, endpoint := range []string{"ping", "post"} {
		c.armed.Store(true)
		a := s.send(base(p.Required, endpoint), leastPing)
		var rejection struct {
			OK              *bool
			Code, RequestID string
		}
		if err := json.Unmarshal(a.Body.Bytes(), &rejection); err != nil {
			t.Fatal(err)
		}
		request := a.Header().Get("X-Request-Id")
		if a.Code != http.StatusInternalServerError || rejection.OK == nil || *rejection.OK ||
			!strings.HasPrefix(request, "rq_") || rejection.RequestID != request || rejection.Code != "internal_error" {
			t.Errorf("%s: got %d %s, request %s", endpoint, a.Code, a.Body, request)
		}
		var all strings.Builder
		if err := a.Header().Write(&all); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(all.String()+a.Body.String(), canary) || strings.Contains(a.Body.String(), ".go") {
			t.Errorf("%s: the response contains the panic value or the stack: %s", endpoint, a.Body)
		}
		if s.lines.Count(`"msg":"panic","request_id":"`+request+`"`) != 1 || s.lines.Count("panic_test.go") == 0 {
			t.Errorf("%s: the log has no stack: %s", endpoint, s.lines)
		}
		s.checkLogged(t, p.Required, endpoint, request, http.StatusInternalServerError)
	}
	if s.lines.Count(canary) != 0 || s.lines.Count("ann@example.com") != 0 {
		t.Errorf("the log contains the panic value: %s", s.lines)
	}
	if a := s.send(base(p.Required, "ping"), leastPing); a.Code != http.StatusOK {
		t.Errorf("next request: got %d %s", a.Code, a.Body)
	}
}
