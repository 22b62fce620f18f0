package intake_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/ratecard"
)

// A node that is starting loads the partners and the rate card one after the other. While one of them is
// missing, pings and posts get a 503 with Retry-After (decision 21).
func TestNothingIsAcceptedUntilLoaded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	loaded := body(n.quote(t, shared))
	for name, without := range map[string]func(*testkit.Platform){
		"rate card": func(p *testkit.Platform) {
			p.Card = snapshot.New("rate_card", func(context.Context) (*ratecard.CompiledVersion, error) { return nil, nil })
		},
		"directory": func(p *testkit.Platform) {
			p.Directory = snapshot.New("directory", func(context.Context) (*partners.Directory, error) { return nil, nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			starting := *n.Platform
			without(&starting)
			s := &node{Platform: &starting, in: starting.Intake(settings()), sees: n.sees}
			s.stores(t, nothing, func() { s.unavailable(t, n.Required, loaded, notSaved) })
			pinged := uuid.New()
			_, err := s.in.Ping(intake.PingRequest{ID: pinged, Slug: n.Required.Slug, Body: []byte(leastPing)})
			f := rejection{apperr.Unavailable, "not_loaded"}.check(t, err)
			if f.RetryAfter.Seconds() != 2 {
				t.Errorf("ping: got Retry-After %s, want 2s", f.RetryAfter)
			}
			s.rejected(t, s.signed(n.Required, shared, body("tx_none")), notSaved)
			logged := slices.ContainsFunc(n.logged(t, n.Required), func(r loggedRow) bool {
				return r.Request == pinged && r.Endpoint == "ping" && r.Status == 503
			})
			if logged != (name == "rate card") { // without the directory, the partner is not known
				t.Errorf("the ping is logged: %v", logged)
			}
		})
	}
	n.stores(t, oneLead, func() { n.post(t, n.signed(n.Required, n.Required.Slug, loaded)) })
}
