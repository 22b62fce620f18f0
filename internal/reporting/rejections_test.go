package reporting_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
)

func TestRejections(t *testing.T) {
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
	list := func(sc scope.Scope, filter reporting.RejectionFilter, p postgres.Page) (found reporting.RejectionPage, which string) {
		t.Helper()
		found, err := reporting.NewReader(f.DB).Rejections(t.Context(), sc, filter, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Rejections {
			which += strings.Join(r.Fields[1:], "")
			if i := slices.Index(requests, r.RequestID); !r.At.Equal(now.Add(time.Duration(i)*time.Second)) ||
				r.Endpoint != "post" || r.Fields[0] != "answers.roof, flat" {
				t.Errorf("got rejection %+v", r)
			}
		}
		return found, which
	}
	first, which := list(scope.System, reporting.RejectionFilter{}, postgres.Page{Size: 4})
	if which != "jihg" || first.Newer || !first.Older {
		t.Errorf("first page: got %s, newer %t, older %t", which, first.Newer, first.Older)
	}
	second, which := list(scope.System, reporting.RejectionFilter{}, postgres.Page{Size: 4, OlderThan: first.Rejections[3].ID})
	if which != "fedc" || !second.Newer || !second.Older {
		t.Errorf("second page: got %s, newer %t, older %t", which, second.Newer, second.Older)
	}
	if back, which := list(scope.System, reporting.RejectionFilter{}, postgres.Page{Size: 4, NewerThan: second.Rejections[0].ID}); which != "jihg" || back.Newer || !back.Older {
		t.Errorf("back to the first page: got %s, newer %t, older %t", which, back.Newer, back.Older)
	}
	for name, c := range map[string]struct {
		sc   scope.Scope
		f    reporting.RejectionFilter
		want string
	}{
		"one partner":          {scope.System, reporting.RejectionFilter{Partner: f.mine}, "igeca"},
		"in scope":             {scope.Partners(f.theirs), reporting.RejectionFilter{}, "jhfdb"},
		"out of scope":         {scope.Partners(f.theirs), reporting.RejectionFilter{Partner: f.mine}, ""},
		"empty scope":          {scope.Scope{}, reporting.RejectionFilter{}, ""},
		"an outcome":           {scope.System, reporting.RejectionFilter{Partner: f.mine, Outcome: "signature"}, "ca"},
		"a request":            {scope.System, reporting.RejectionFilter{Request: requests[3]}, "d"},
		"request out of scope": {scope.Partners(f.mine), reporting.RejectionFilter{Request: requests[3]}, ""},
		"an unknown request":   {scope.System, reporting.RejectionFilter{Request: uuid.New()}, ""},
		"outcome prefix":       {scope.System, reporting.RejectionFilter{Outcome: "sign%"}, ""},
	} {
		if _, which := list(c.sc, c.f, postgres.Page{Size: 20}); which != c.want {
			t.Errorf("%s: %q, want %q", name, which, c.want)
		}
	}
	for sc, want := range map[*scope.Scope]bool{
		new(scope.Scope{}):            false,
		new(scope.Partners(f.mine)):   false,
		new(scope.Partners(f.theirs)): true,
		new(scope.System):             true,
	} {
		got, found, err := reporting.NewReader(f.DB).FindRejection(t.Context(), *sc, requests[3])
		if err != nil || found != want || found && (got.Partner != f.theirs || got.Outcome != "signature") {
			t.Errorf("FindRejection() = %t, %+v, %v, want %t", found, got, err, want)
		}
	}
}
