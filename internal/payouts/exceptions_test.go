package payouts_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
)

// A prepared run lists the money that it does not contain and the payments that may be wrong.
func TestExceptions(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	ctx := t.Context()
	returned, disputed := tr.deliver(t, tr.Required, "GB"), tr.deliver(t, tr.Required, "GB")
	suspended := tr.deliver(t, tr.Off, "GB")
	euro := tr.deliver(t, tr.Required, "DE")
	other, err := tr.Partners.CreateAccount(ctx, scope.System, tr.Required.Partner, partners.NewAccount{Identifier: "harbour-leads-web"})
	if err != nil {
		t.Fatal(err)
	}
	adjust := func(account uuid.UUID, minor int64) {
		t.Helper()
		_, err := tr.Adjust(ctx, scope.Everywhere, payouts.NewAdjustment{
			ID: tr.NewAdjustmentID(), Account: account, Reason: "set-up fee",
			Amount: money.Amount{Minor: minor, Currency: money.GBP},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	requestReturn := func(d delivered) models.Return {
		t.Helper()
		r, err := tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.WrongContact, "the number belongs to someone else")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	adjust(other.ID, -1000)
	tr.DB.Exec(t, `UPDATE partners SET legal_name = 'Tinker Forms Ltd' WHERE id = $1`, tr.Off.ID)
	tr.Time.Advance(time.Hour)
	cutoff := tr.Time.Now()
	tr.Time.Advance(time.Hour)
	r := tr.prepare(t, payouts.NewRun{Currency: money.GBP, Cutoff: cutoff})
	got := tr.exceptions(t, r)
	want := []payouts.Exception{
		exception(payouts.OwingAccounts, tr.Required, 1, -1000),
		exception(payouts.NoLegalName, tr.Required, 1, returned.payout.Minor+disputed.payout.Minor),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("before anything happened after the cutoff (-want +got):\n%s", diff)
	}

	if err := tr.AcceptReturn(ctx, scope.Everywhere, requestReturn(returned).ID, ""); err != nil {
		t.Fatal(err)
	}
	requestReturn(disputed)
	requestReturn(euro) // in another currency
	tr.DB.Exec(t, `INSERT INTO adjustments (id, partner_id, account_id, amount_minor, currency, state, requested_by, requester_id, requested_at)
		SELECT gen_random_uuid(), $1, $2, minor, 'GBP', state, 'x', gen_random_uuid(), $3 FROM (VALUES (700, 'open'), (-300, 'open'), (9, 'within_limit')) a (minor, state)`,
		tr.Off.ID, tr.Off.Accounts[0].ID, tr.Time.Now())
	adjust(tr.Required.Accounts[0].ID, -77)
	adjust(tr.ReportOnly.Accounts[0].ID, 12) // a partner that the run does not pay
	tr.DB.Exec(t, `UPDATE partners SET status = 'suspended' WHERE id = $1`, tr.Off.ID)
	want = []payouts.Exception{
		exception(payouts.LateReturns, tr.Required, 1, -returned.payout.Minor),
		exception(payouts.LateAdjustments, tr.Required, 1, -77),
		exception(payouts.LateAdjustments, tr.ReportOnly, 1, 12),
		exception(payouts.OpenReturns, tr.Required, 1, -disputed.payout.Minor),
		exception(payouts.OpenAdjustments, tr.Off, 2, 400),
		exception(payouts.OwingAccounts, tr.Required, 1, -1000),
		exception(payouts.SuspendedPartner, tr.Off, 1, suspended.payout.Minor),
		exception(payouts.NoLegalName, tr.Required, 1, returned.payout.Minor+disputed.payout.Minor),
	}
	if diff := cmp.Diff(want, tr.exceptions(t, r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = tr.Exceptions(ctx, scope.Partners(tr.Required.ID), r)
	rejected(t, "a user with one partner", err, "not_found", "run")

	if err := tr.fay.ApproveRun(ctx, scope.Everywhere, r.ID, r.RowVersion); err != nil {
		t.Fatal(err)
	}
	recorded := testkit.Value[string](t, tr.DB, `SELECT concat_ws(' ', after->>'late_returns', after->>'late_adjustments',
			after->>'open_returns', after->>'open_adjustments', after->>'owing_accounts', after->>'suspended_partner', after->>'no_legal_name')
		FROM audit_events WHERE action = 'payout_run.approve'`)
	if recorded != "1 2 1 2 1 1 1" {
		t.Errorf("got counts %q in the audit event", recorded)
	}
}

func (tr *paidLedger) exceptions(t testing.TB, r models.PayoutRun) []payouts.Exception {
	t.Helper()
	all, err := tr.Exceptions(t.Context(), scope.Everywhere, r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func exception(kind payouts.ExceptionKind, p testkit.Partner, count, minor int64) payouts.Exception {
	return payouts.Exception{Kind: kind, PartnerID: p.ID, Partner: p.Slug, PartnerName: p.Name, Count: count, AmountMinor: minor}
}
