package payouts_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

func TestReturnIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx, d := t.Context(), tr.deliver(t, tr.Required, "GB")
	r, err := tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.WrongContact, " the number is a bakery's\r\n ")
	if err != nil || r.Evidence != "the number is a bakery's" || r.AmountMinor != d.payout.Minor ||
		r.State != models.ReturnOpen {
		t.Fatalf("got return %+v and error %v", r, err)
	}
	if got := tr.balance(t, tr.Required.ID, money.GBP); got != d.payout.Minor {
		t.Errorf("got balance %d before the decision, want %d", got, d.payout.Minor)
	}
	if n, err := tr.OpenReturns(ctx, scope.Partners(tr.Required.ID)); n != 1 || err != nil {
		t.Errorf("OpenReturns returned %d and error %v, want 1", n, err)
	}
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = tr.fay.AcceptReturn(ctx, scope.Everywhere, r.ID, "heard the recording") })
	}
	all.Wait()
	accepted := 0
	for _, err := range errs {
		if err == nil {
			accepted++
			continue
		}
		rejected(t, "accepted twice", err, apperr.Conflict, "decided")
	}
	entries, _, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{Lead: d.lead}, page(10))
	if err != nil || accepted != 1 || len(entries) != 2 || entries[0].Kind != models.EntryReturn ||
		entries[0].AmountMinor != -d.payout.Minor || entries[0].CreatedBy != tr.fay.who.Name ||
		entries[0].Note != "wrong_contact: heard the recording" {
		t.Errorf("got %d successful calls, entries %+v and error %v, want 1 and 2 entries", accepted, entries, err)
	}
	if n := testkit.Value[int](t, tr.DB, `SELECT count(*) FROM lead_events WHERE lead_id = $1 AND kind = 'returned'`,
		d.lead); n != 1 {
		t.Errorf("got %d returned events for the lead, want 1", n)
	}
	got, err := tr.Return(ctx, scope.Everywhere, r.ID)
	if err != nil || got.State != models.ReturnAccepted || got.DecidedBy != tr.fay.who.Name ||
		got.DecisionNote != "heard the recording" {
		t.Errorf("got return %+v and error %v", got, err)
	}
	_, err = tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.Fraud, "again")
	rejected(t, "returned again", err, apperr.Conflict, "returned")
}

func TestRejectedReturn(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx, d := t.Context(), tr.deliver(t, tr.Required, "GB")
	r, err := tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.Duplicate, "the same person as last week")
	if err != nil {
		t.Fatal(err)
	}
	rejected(t, "no answer", tr.RejectReturn(ctx, scope.Everywhere, r.ID, " "), apperr.Invalid, "answer")
	if err := tr.RejectReturn(ctx, scope.Everywhere, r.ID, "last week's was for another house"); err != nil {
		t.Fatal(err)
	}
	if got := tr.balance(t, tr.Required.ID, money.GBP); got != d.payout.Minor {
		t.Errorf("got balance %d, want %d", got, d.payout.Minor)
	}
	tr.Time.Advance(time.Second)
	if _, err := tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.Duplicate,
		"here is the other leadId"); err != nil {
		t.Errorf("a new return after a rejected one: got %v, want nil", err)
	}
	all, err := tr.ReturnsOf(ctx, scope.Everywhere, d.lead)
	if err != nil || len(all) != 2 || all[0].State != models.ReturnOpen || all[1].State != models.ReturnRejected {
		t.Errorf("got returns %+v and error %v", all, err)
	}
	if all, _ := tr.ReturnsOf(ctx, scope.Partners(tr.Off.ID), d.lead); len(all) != 0 {
		t.Errorf("another partner's scope: got %+v, want no returns", all)
	}
}

func TestRequestReturnRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx, d := t.Context(), tr.deliver(t, tr.Required, "GB")
	sandbox, err := tr.post(t, tr.Required, 1, tr.sandboxQuote(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sc       scope.Scope
		lead     uuid.UUID
		reason   models.ReturnReason
		evidence string
		after    time.Duration
		code     apperr.Code
		want     string
	}{
		"lead out of scope": {scope.Partners(tr.Off.ID), d.lead, models.Fraud, "x", 0, apperr.NotFound, "lead"},
		"unknown lead":      {scope.Everywhere, uuid.New(), models.Fraud, "x", 0, apperr.NotFound, "lead"},
		"sandbox lead":      {scope.Everywhere, sandbox.lead, models.Fraud, "x", 0, apperr.Conflict, "sandbox"},
		"no reason":         {scope.Everywhere, d.lead, "", "x", 0, apperr.Invalid, "reason"},
		"unknown reason":    {scope.Everywhere, d.lead, "bored", "x", 0, apperr.Invalid, "reason"},
		"no evidence":       {scope.Everywhere, d.lead, models.Fraud, "\n", 0, apperr.Invalid, "evidence"},
		"evidence too long": {scope.Everywhere, d.lead, models.Fraud, strings.Repeat("é", plaintext.MaxNote+1), 0,
			apperr.Invalid, "evidence"},
		"U+0000": {scope.Everywhere, d.lead, models.Fraud, "a\x00b", 0, apperr.Invalid, "evidence"},
		"after the return window": {scope.Everywhere, d.lead, models.Fraud, "x", window + time.Millisecond,
			apperr.Conflict, "window"},
	} {
		tr.Time.Set(testkit.StartTime().Add(c.after))
		_, err := tr.RequestReturn(ctx, c.sc, c.lead, c.reason, c.evidence)
		rejected(t, name, err, c.code, c.want)
	}
	tr.Time.Set(testkit.StartTime().Add(window))
	r, err := tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.Fraud, strings.Repeat("é", plaintext.MaxNote))
	if err != nil {
		t.Errorf("at the end of the return window: got %v, want nil", err)
	}
	rejected(t, "accepted with another partner's scope", tr.AcceptReturn(ctx, scope.Partners(tr.Off.ID), r.ID, ""),
		apperr.NotFound, "return")
	rejected(t, "answer too long",
		tr.AcceptReturn(ctx, scope.Everywhere, r.ID, strings.Repeat("x", plaintext.MaxNote+1)), apperr.Invalid, "answer")
}

func TestReturnsPages(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx := t.Context()
	var made []uuid.UUID
	for i := range 5 {
		by := []testkit.Partner{tr.Required, tr.Off}[i%2]
		tr.Time.Advance(time.Second)
		r, err := tr.RequestReturn(ctx, scope.Everywhere, tr.deliver(t, by, "GB").lead, models.Fraud, "x")
		if err != nil {
			t.Fatal(err)
		}
		made = append([]uuid.UUID{r.ID}, made...)
	}
	if err := tr.AcceptReturn(ctx, scope.Everywhere, made[0], ""); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sc           scope.Scope
		q            payouts.ReturnQuery
		want         []uuid.UUID
		newer, older bool
	}{
		"first page": {
			scope.Everywhere, payouts.ReturnQuery{Page: postgres.Page[uuid.UUID]{Size: 2}}, made[:2], false, true,
		},
		"next page": {
			scope.Everywhere, payouts.ReturnQuery{Page: postgres.Page[uuid.UUID]{Size: 2, After: made[1]}}, made[2:4], true,
			true,
		},
		"previous page": {
			scope.Everywhere, payouts.ReturnQuery{Page: postgres.Page[uuid.UUID]{Size: 2, Before: made[2]}}, made[:2], false,
			true,
		},
		"open returns": {
			scope.Everywhere, payouts.ReturnQuery{State: models.ReturnOpen, Page: postgres.Page[uuid.UUID]{Size: 9}}, made[1:],
			false, false,
		},
		"one partner": {scope.Everywhere, payouts.ReturnQuery{Partner: tr.Off.ID, Page: postgres.Page[uuid.UUID]{Size: 9}},
			[]uuid.UUID{made[1], made[3]}, false, false},
		"one partner's scope": {
			scope.Partners(tr.Off.ID), payouts.ReturnQuery{Page: postgres.Page[uuid.UUID]{Size: 9}},
			[]uuid.UUID{made[1], made[3]}, false, false,
		},
		"partner out of scope": {
			scope.Partners(tr.Off.ID), payouts.ReturnQuery{Partner: tr.Required.ID, Page: postgres.Page[uuid.UUID]{Size: 9}},
			nil, false, false,
		},
	} {
		all, newer, older, err := tr.Returns(ctx, c.sc, c.q)
		var got []uuid.UUID
		for _, r := range all {
			got = append(got, r.ID)
		}
		if err != nil || newer != c.newer || older != c.older || len(got) != len(c.want) {
			t.Errorf("%s: got %v, newer %t, older %t and error %v, want %v", name, got, newer, older, err, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	}
}

// Texts about a lead that are entered after its erasure could not be erased.
func TestReturnsOfErasedLeads(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx, open, other := t.Context(), tr.deliver(t, tr.Required, "GB"), tr.deliver(t, tr.Required, "GB")
	r, err := tr.RequestReturn(ctx, scope.Everywhere, open.lead, models.WrongContact, "Ann does not answer")
	if err != nil {
		t.Fatal(err)
	}
	eraser := erasure.NewService(tr.DB.DB, tr.Wrappers, tr.Keys, journal.Folder(t.TempDir()), tr.Time, erasure.Settings{})
	for _, lead := range []uuid.UUID{open.lead, other.lead} {
		if _, err := eraser.Erase(ctx, scope.System, erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = tr.RequestReturn(ctx, scope.Everywhere, other.lead, models.WrongContact, "Ann does not answer")
	rejected(t, "return of an erased lead", err, apperr.Conflict, "erased")
	if err := tr.fay.AcceptReturn(ctx, scope.Everywhere, r.ID, "Ann called"); err != nil {
		t.Fatal(err)
	}
	got, err := tr.Return(ctx, scope.Everywhere, r.ID)
	if err != nil || got.State != models.ReturnAccepted || got.Evidence != "" || got.DecisionNote != "" {
		t.Errorf("got return %+v and error %v", got, err)
	}
	if n := testkit.Value[int](t, tr.DB, `SELECT count(*) FROM ledger_notes WHERE note LIKE '%Ann%'`) + testkit.Value[int](t, tr.DB, `SELECT count(*) FROM audit_events e WHERE e::text LIKE '%Ann%'`); n != 0 {
		t.Errorf("got %d notes and audit events with the text, want 0", n)
	}
}

// TestReturnable counts the leads that can still be returned. They are the leads for which RequestReturn succeeds.
func TestReturnable(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx := t.Context()
	var leads []uuid.UUID
	for range 4 {
		leads = append(leads, tr.deliver(t, tr.Required, "GB").lead)
	}
	open, rejectedLead, accepted := leads[0], leads[1], leads[2]
	for _, lead := range []uuid.UUID{open, rejectedLead, accepted} {
		r, err := tr.RequestReturn(ctx, scope.Everywhere, lead, models.Fraud, "fake")
		switch {
		case err == nil && lead == rejectedLead:
			err = tr.RejectReturn(ctx, scope.Everywhere, r.ID, "it is not")
		case err == nil && lead == accepted:
			err = tr.fay.AcceptReturn(ctx, scope.Everywhere, r.ID, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tr.Time.Advance(time.Hour)
	last := tr.deliver(t, tr.Off, "GB").lead
	leads = append(leads, last)
	erased := tr.deliver(t, tr.Required, "GB").lead
	eraser := erasure.NewService(tr.DB.DB, tr.Wrappers, tr.Keys, journal.Folder(t.TempDir()), tr.Time, erasure.Settings{})
	if _, err := eraser.Erase(ctx, scope.System, erasure.NewErasure{Lead: erased, Reason: models.EraseForRequest}); err != nil {
		t.Fatal(err)
	}
	leads = append(leads, erased)
	received := testkit.Value[time.Time](t, tr.DB, `SELECT received_at FROM leads WHERE id = $1`, last)
	earlier := testkit.Value[time.Time](t, tr.DB, `SELECT max(received_at) FROM leads WHERE id = $1 OR id = $2`,
		rejectedLead, leads[3])
	expect := func(what string, sc scope.Scope, ids []uuid.UUID, n int, until time.Time, open int) {
		t.Helper()
		got, err := tr.Returnable(ctx, sc, ids)
		if err != nil || got.Leads != n || got.Open != open || (got.Until == nil) != until.IsZero() || got.Until != nil &&
			!got.Until.Equal(until) {
			t.Errorf("%s: got %+v until %v and error %v, want %d until %v, %d open", what, got, got.Until, err, n, until, open)
		}
	}
	expect("all", scope.Everywhere, leads, 3, received.Add(window), 1)
	expect("of one partner", scope.Partners(tr.Required.ID), leads, 2, earlier.Add(window), 1)
	expect("none", scope.Everywhere, nil, 0, time.Time{}, 0)
	tr.Time.Set(received.Add(window))
	expect("at the end", scope.Everywhere, leads, 1, received.Add(window), 1)
	tr.Time.Advance(time.Millisecond)
	expect("later", scope.Everywhere, leads, 0, time.Time{}, 1)
	if _, err := tr.RequestReturn(ctx, scope.Everywhere, last, models.Fraud, "fake"); err == nil {
		t.Error("the lead was returned later")
	}
}
