package partners_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
)

// staff returns a service that acts for a new user. Its policy requires approval.
func (o *partnerService) staff(t *testing.T, email string) *partners.Service {
	t.Helper()
	user := uuid.New()
	if _, err := o.db.Pool.Exec(t.Context(), `INSERT INTO staff (id, email, name, status, created_at, updated_at) VALUES ($1, $2, $2, 'invited', now(), now())`, user, email); err != nil {
		t.Fatal(err)
	}
	return o.WithPolicy(partners.PricePolicy{RequireApproval: true}).By(audit.Actor{Staff: user, Name: email})
}

// If the policy requires approval, a change takes effect only after another user approves it.
func TestPriceProposal(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	ann, bob := o.staff(t, "ann@example.com"), o.staff(t, "bob@example.com")
	form := partners.PriceForm{Adjustment: "+5", DailyLeadCap: "40", Exclusions: "country FR"}
	propose := func(s *partners.Service, version int, f partners.PriceForm) error {
		return s.SetPricing(t.Context(), scope.System, p.ID, version, f, tax)
	}
	waiting := func() *partners.PriceProposal {
		t.Helper()
		w, err := o.PriceProposal(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}

	wantError(t, "the command line", propose(o.WithPolicy(partners.PricePolicy{RequireApproval: true}), 0, form),
		apperr.Forbidden, "staff")
	wantError(t, "proposed", propose(ann, 0, form), "", "")
	first := waiting()
	if own := o.ownPrice(t, p); own.Version != 0 || first == nil || first.Proposer != "ann@example.com" ||
		first.Adjustment != 500 || first.DailyLeadCap != 40 || len(first.Changes(own)) != 3 {
		t.Fatalf("proposed %+v, current pricing %+v", first, own)
	}
	if price := o.directory(t).ByID(p.ID).Price; price != nil {
		t.Errorf("the directory has pricing %+v, want none", price)
	}
	wantError(t, "a second proposal", propose(bob, 0, partners.PriceForm{Adjustment: "1"}), apperr.Conflict, "proposed")
	wantError(t, "approved by the proposer", ann.ApprovePrice(t.Context(), scope.System, p.ID, first.ID), apperr.Forbidden, "same_person")
	wantError(t, "approved without a user", o.ApprovePrice(t.Context(), scope.System, p.ID, first.ID), apperr.Forbidden, "same_person")
	wantError(t, "out of scope", bob.ApprovePrice(t.Context(), scope.Partners(other.ID), p.ID, first.ID),
		apperr.NotFound, "partner")
	wantError(t, "another id", bob.ApprovePrice(t.Context(), scope.System, p.ID, uuid.New()), apperr.Conflict, "no_proposal")
	if all, err := o.PriceProposals(t.Context(), scope.System, first.ProposerID, 10); len(all) != 0 || err != nil {
		t.Errorf("for the proposer: got %v, %v, want no proposals", all, err)
	}
	if all, err := o.PriceProposals(t.Context(), scope.System, uuid.New(), 10); len(all) != 1 || all[0].ID != p.ID || err != nil {
		t.Errorf("for another user: got %v, %v, want 1 proposal", all, err)
	}

	// AgreedAt is the time of the approval (decision 5).
	o.clock.Advance(time.Hour)
	wantError(t, "approved", bob.ApprovePrice(t.Context(), scope.System, p.ID, first.ID), "", "")
	if own := o.ownPrice(t, p); own.Adjustment != 500 || own.Version != 1 || !own.AgreedAt.Equal(o.clock.Now()) ||
		waiting() != nil {
		t.Errorf("current pricing is %+v", own)
	}
	wantError(t, "approved twice", bob.ApprovePrice(t.Context(), scope.System, p.ID, first.ID), apperr.Conflict, "no_proposal")

	wantError(t, "proposed again", propose(bob, 1, partners.PriceForm{Adjustment: "7"}), "", "")
	second := waiting()
	wantError(t, "withdrawn", ann.WithdrawPrice(t.Context(), scope.System, p.ID, second.ID), "", "")
	wantError(t, "withdrawn twice", ann.WithdrawPrice(t.Context(), scope.System, p.ID, second.ID), apperr.Conflict, "no_proposal")

	// Without the policy, the pricing can be changed while a proposal is waiting.
	wantError(t, "proposed a third time", propose(ann, 1, partners.PriceForm{Adjustment: "9"}), "", "")
	wantError(t, "changed directly",
		o.SetPricing(t.Context(), scope.System, p.ID, 1, partners.PriceForm{Adjustment: "2"}, tax), "", "")
	third := waiting()
	wantError(t, "stale", bob.ApprovePrice(t.Context(), scope.System, p.ID, third.ID), apperr.Conflict, "stale_proposal")
	wantError(t, "nothing changed", propose(bob, 2, partners.PriceForm{Adjustment: "2"}), "", "")
	if w := waiting(); w == nil || w.ID != third.ID {
		t.Errorf("got proposal %+v, want the third", w)
	}
	const events = `SELECT string_agg(actor || ' ' || action, ', ' ORDER BY id) FROM audit_events WHERE action LIKE 'partner.prices%'`
	const want = "ann@example.com partner.prices_propose, bob@example.com partner.prices, bob@example.com partner.prices_propose, " +
		"ann@example.com partner.prices_withdraw, ann@example.com partner.prices_propose, the service partner.prices"
	if got := testkit.Value[string](t, o.db, events); got != want {
		t.Errorf("got audit events %s, want %s", got, want)
	}
	const approved = `SELECT after ->> 'proposer' FROM audit_events WHERE action = 'partner.prices' ORDER BY id LIMIT 1`
	if got := testkit.Value[string](t, o.db, approved); got != "ann@example.com" {
		t.Errorf("the proposer in the audit event is %q, want ann@example.com", got)
	}
}

// If several users decide on a proposal concurrently, only one decision succeeds.
func TestPriceProposalIsDecidedOnce(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p := o.partner(t, "harbour-leads")
	ann := o.staff(t, "ann@example.com")
	deciders := []*partners.Service{o.staff(t, "bob@example.com"), o.staff(t, "cy@example.com"), o.staff(t, "dot@example.com")}
	if err := ann.SetPricing(t.Context(), scope.System, p.ID, 0, partners.PriceForm{Adjustment: "5"}, tax); err != nil {
		t.Fatal(err)
	}
	w, err := o.PriceProposal(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 2*len(deciders))
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			decide := deciders[i/2].ApprovePrice
			if i%2 == 1 {
				decide = deciders[i/2].WithdrawPrice
			}
			errs[i] = decide(t.Context(), scope.System, p.ID, w.ID)
		})
	}
	group.Wait()
	decided := 0
	for _, err := range errs {
		if err == nil {
			decided++
		} else if f := apperr.As(err); f == nil || f.Reason != "no_proposal" {
			t.Error(err)
		}
	}
	if decided != 1 {
		t.Errorf("%d decisions succeeded, want 1: %v", decided, errors.Join(errs...))
	}
}
