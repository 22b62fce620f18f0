package reporting_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	var requests []uuid.UUID
	for i := range 10 {
		partner, outcome := f.mine, "payload"
		if i%2 == 1 {
			partner = f.theirs
		}
		if i < 4 {
			outcome = "signature"
		}
		requests = append(requests,
			f.reject(t, partner, now.Add(time.Duration(i)*time.Second), outcome, "answers.roof, flat", string(rune('a'+i))))
	}
	list := func(sc scope.Scope, filter reporting.RequestFilter, p postgres.Page[int64]) (found reporting.RequestPage, which string) {
		t.Helper()
		found, err := reporting.NewReader(f.DB).Requests(t.Context(), sc, filter, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Requests {
			which += strings.Join(r.Fields[1:], "")
			if i := slices.Index(requests, r.RequestID); !r.At.Equal(now.Add(time.Duration(i)*time.Second)) ||
				r.Endpoint != "post" || r.Fields[0] != "answers.roof, flat" || r.Status != 400 || r.Took() != 1500*time.Microsecond {
				t.Errorf("got request %+v", r)
			}
		}
		return found, which
	}
	first, which := list(scope.System, reporting.RequestFilter{}, postgres.Page[int64]{Size: 4})
	if which != "jihg" || first.Newer || !first.Older {
		t.Errorf("first page: got %s, newer %t, older %t", which, first.Newer, first.Older)
	}
	second, which := list(scope.System, reporting.RequestFilter{},
		postgres.Page[int64]{Size: 4, After: first.Requests[3].ID})
	if which != "fedc" || !second.Newer || !second.Older {
		t.Errorf("second page: got %s, newer %t, older %t", which, second.Newer, second.Older)
	}
	if back, which := list(scope.System, reporting.RequestFilter{},
		postgres.Page[int64]{Size: 4, Before: second.Requests[0].ID}); which != "jihg" || back.Newer || !back.Older {
		t.Errorf("back to the first page: got %s, newer %t, older %t", which, back.Newer, back.Older)
	}
	for name, c := range map[string]struct {
		sc   scope.Scope
		f    reporting.RequestFilter
		want string
	}{
		"one partner":    {scope.System, reporting.RequestFilter{Partner: f.mine}, "igeca"},
		"in scope":       {scope.Partners(f.theirs), reporting.RequestFilter{}, "jhfdb"},
		"out of scope":   {scope.Partners(f.theirs), reporting.RequestFilter{Partner: f.mine}, ""},
		"empty scope":    {scope.Scope{}, reporting.RequestFilter{}, ""},
		"an outcome":     {scope.System, reporting.RequestFilter{Partner: f.mine, Outcome: "signature"}, "ca"},
		"since a time":   {scope.System, reporting.RequestFilter{Since: now.Add(8 * time.Second)}, "ji"},
		"an endpoint":    {scope.System, reporting.RequestFilter{Endpoint: "ping"}, ""},
		"outcome prefix": {scope.System, reporting.RequestFilter{Outcome: "sign%"}, ""},
	} {
		if _, which := list(c.sc, c.f, postgres.Page[int64]{Size: 20}); which != c.want {
			t.Errorf("%s: %q, want %q", name, which, c.want)
		}
	}
	for sc, want := range map[*scope.Scope]bool{
		new(scope.Scope{}):            false,
		new(scope.Partners(f.mine)):   false,
		new(scope.Partners(f.theirs)): true,
		new(scope.System):             true,
	} {
		got, found, err := reporting.NewReader(f.DB).FindRequest(t.Context(), *sc, requests[3])
		if err != nil || found != want || found && (got.Partner != f.theirs || got.Outcome != "signature") {
			t.Errorf("FindRequest() = %t, %+v, %v, want %t", found, got, err, want)
		}
	}
	// Only a scope with all partners includes the requests that belong to no partner.
	nobodys := f.reject(t, uuid.Nil, now, "signature")
	for sc, want := range map[*scope.Scope]bool{new(scope.Scope{}): false, new(scope.Partners(f.mine)): false, new(scope.System): true} {
		if got, found, err := reporting.NewReader(f.DB).FindRequest(t.Context(), *sc, nobodys); err != nil || found != want {
			t.Errorf("request of no partner: FindRequest() = %t, %+v, %v, want %t", found, got, err, want)
		}
	}
}

// Requests that differ only in time, ID and duration are one group.
func TestRequestGroups(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	var newest uuid.UUID
	for i := range 7 {
		outcome := []string{"payload", "signature"}[i%2]
		newest = f.reject(t, f.mine, now.Add(time.Duration(i)*time.Second), outcome, "email")
	}
	f.reject(t, f.mine, now, "payload", "email", "phone")
	f.reject(t, f.theirs, now, "payload", "email")
	mine := reporting.RequestFilter{Partner: f.mine}
	got, complete, err := reporting.NewReader(f.DB).RequestGroups(t.Context(), scope.Partners(f.mine), mine, 3)
	if err != nil || len(got) != 3 || !complete {
		t.Fatalf("got %d groups, complete: %v, want 3 (%v): %+v", len(got), complete, err, got)
	}
	if g := got[1]; g.Count != 4 || g.RequestID != newest || g.Outcome != "payload" || !g.First.Equal(now) || !g.At.Equal(now.Add(6*time.Second)) ||
		!slices.Equal(g.Fields, []string{"email"}) {
		t.Errorf("got %+v", g)
	}
	if got[0].Count != 1 || len(got[0].Fields) != 2 || got[2].Count != 3 || got[2].Outcome != "signature" {
		t.Errorf("got %+v", got)
	}
	got, _, err = reporting.NewReader(f.DB).RequestGroups(t.Context(), scope.Partners(f.theirs), mine, 3)
	if err != nil || len(got) != 0 {
		t.Errorf("out of scope: got %+v, %v", got, err)
	}
}

// Requests that anyone can send do not push a signed post out of the groups, and errors at different positions in a
// body are one group.
func TestRequestGroupsOfEachKind(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	signed := f.reject(t, f.mine, now, "expired")
	f.Exec(t, `UPDATE api_requests SET kind = 'signed_post' WHERE request_id = $1`, signed)
	const limit = 10
	for i := range limit + 1 {
		f.reject(t, f.mine, now, "payload", strconv.Itoa(i))
		broken := f.reject(t, f.mine, now, "json")
		f.Exec(t, `UPDATE api_requests SET kind = 'ping', detail = $2 WHERE request_id = $1`,
			broken, fmt.Sprintf("syntax at byte %d", i))
	}
	mine := reporting.RequestFilter{Partner: f.mine}
	got, complete, err := reporting.NewReader(f.DB).RequestGroups(t.Context(), scope.Partners(f.mine), mine, limit)
	if err != nil || complete || len(got) != 1+limit+1 {
		t.Fatalf("got %d groups, complete: %v (%v)", len(got), complete, err)
	}
	if g := got[0]; g.Outcome != "json" || g.Count != limit+1 {
		t.Errorf("broken pings: got %+v", g)
	}
	if g := got[len(got)-1]; g.RequestID != signed {
		t.Errorf("got %+v, want the signed post", g)
	}
}

// A ping is found by its request ID, which contains its time.
func TestFindPing(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	at := testkit.StartTime()
	if err := f.EnsurePingPartitions(t.Context(), at, 1); err != nil {
		t.Fatal(err)
	}
	f.Exec(t, `INSERT INTO pings (issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version,
		request_id, duration_us) SELECT $1::timestamptz, $2, false, 1, 'GB', '', '', '', '', 'capped', 0, 'GBP', 1, $3, 42`, at, f.mine, id.New(at))
	request := testkit.Value[uuid.UUID](t, f.Database, `SELECT request_id FROM pings`)
	for sc, want := range map[*scope.Scope]bool{
		new(scope.Partners(f.mine)): true, new(scope.Partners(f.theirs)): false, new(scope.System): true,
	} {
		r, found, err := reporting.NewReader(f.DB).FindRequest(t.Context(), *sc, request)
		if err != nil || found != want || found && (r.Partner != f.mine || r.Outcome != "capped" || r.Status != 200 || r.Took() != 42*time.Microsecond) {
			t.Errorf("FindRequest() = %+v, %t, %v, want %t", r, found, err, want)
		}
	}
	if _, found, err := reporting.NewReader(f.DB).FindRequest(t.Context(), scope.System, id.New(at)); found || err != nil {
		t.Errorf("an unknown request was found (%v)", err)
	}
}
