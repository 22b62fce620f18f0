package privacy_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/privacy"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// addEntry adds a ledger entry with a note, and returns its id.
func (r rig) addEntry(t *testing.T, kind models.EntryKind, reference, note string, lead *uuid.UUID) (entry int64) {
	t.Helper()
	amount := map[models.EntryKind]int{models.EntryReturn: -500, models.EntryAdjustment: 700, models.EntryPayment: -900}[kind]
	r.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at, created_by)
		VALUES ($1, $2, $3, $4, $5, $6, 'GBP', $7, 'ann@example.com')`,
		r.Required.ID, r.Required.Accounts[0].ID, lead, string(kind), reference, amount, r.Time.Now())
	entry = testkit.Value[int64](t, r.DB, `SELECT entry_id FROM ledger_references WHERE reference = $1`, reference)
	r.DB.Exec(t, `INSERT INTO ledger_notes (entry_id, occurred_at, note) VALUES ($1, $2, $3)`, entry, r.Time.Now(), note)
	return entry
}

// TestRedactNote checks that the text of a note is gone, from the decision about a return and from prepared exports
// too, and that the ledger does not change.
func TestRedactNote(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	lead := r.deliver(t, contact)
	r.DB.Exec(t, `INSERT INTO returns (id, lead_id, partner_id, account_id, amount_minor, currency, reason, evidence, requested_by, requested_at, state, decided_by, decided_at, decision_note)
		SELECT gen_random_uuid(), id, partner_id, account_id, price_minor, currency, 'fraud', 'evidence', 'ann', received_at, 'accepted', 'ann', received_at, 'canary returned it' FROM leads WHERE id = $1`, lead)
	returned := r.addEntry(t, models.EntryReturn, "ld_1", "fraud: canary returned it", &lead)
	adjusted := r.addEntry(t, models.EntryAdjustment, "ad_1", "refund for Canary", nil)
	other := r.addEntry(t, models.EntryAdjustment, "ad_2", "rounding", nil)
	paid := r.addEntry(t, models.EntryPayment, "po_1/ac_1", "canary bank reference", nil)
	file := r.addLedgerExport(t, payouts.Filter{Kind: models.EntryAdjustment}, nil)
	kept := r.addLedgerExport(t, payouts.Filter{Kind: models.EntryAccrual}, nil)

	list := func(sc scope.Scope, text string) (ids []int64) {
		t.Helper()
		all, _, _, err := r.Notes(ctx, sc, postgres.Page{Size: 10})
		if text != "" {
			all, _, err = r.FindNotes(ctx, sc, text, 10)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			ids = append(ids, n.ID)
		}
		return ids
	}
	expect := func(what string, got []int64, want ...int64) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: got notes %v, want %v", what, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got notes %v, want %v", what, got, want)
			}
		}
	}
	expect("all", list(scope.Everywhere, ""), other, adjusted, returned)
	expect("found", list(scope.Everywhere, "CANARY"), adjusted, returned)
	expect("of the partner", list(scope.Partners(r.Required.ID), "canary"), adjusted, returned)
	expect("of another partner", list(scope.Partners(uuid.New()), ""))

	hold, err := r.PlaceHold(ctx, scope.System, privacy.NewHold{Lead: lead, Reason: "case 7"})
	if err != nil {
		t.Fatal(err)
	}
	ledger := func() string {
		return testkit.Value[string](t, r.DB, `SELECT string_agg(e::text, ' ' ORDER BY id) FROM ledger_entries e`)
	}
	before := ledger()
	for what, c := range map[string]struct {
		scope scope.Scope
		entry int64
		want  string
	}{
		"a held lead":     {scope.Everywhere, returned, "conflict legal_hold"},
		"another partner": {scope.Partners(uuid.New()), adjusted, "not_found note"},
		"a payment":       {scope.Everywhere, paid, "not_found note"},
		"no entry":        {scope.Everywhere, paid + 1, "not_found note"},
	} {
		if err := r.RedactNote(ctx, c.scope, c.entry); rejection(err) != c.want {
			t.Errorf("%s: got %v, want %s", what, err, c.want)
		}
	}
	if err := r.RedactNote(ctx, scope.Partners(r.Required.ID), adjusted); err != nil {
		t.Fatal(err)
	}
	if err := r.RedactNote(ctx, scope.Everywhere, adjusted); rejection(err) != "conflict note_redacted" {
		t.Errorf("redacted again: got %v", err)
	}
	if err := r.ReleaseHold(ctx, scope.System, hold.ID); err != nil {
		t.Fatal(err)
	}
	if err := r.RedactNote(ctx, scope.Everywhere, returned); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[int64]string{adjusted: "[redacted]", returned: "fraud: [redacted]", other: "rounding"} {
		n, err := r.Note(ctx, scope.Everywhere, entry)
		if redacted := n.RedactedAt != nil && n.RedactedBy == "fay@example.com"; err != nil || n.Note != want || redacted != (entry != other) {
			t.Errorf("got note %+v and error %v, want %q", n, err, want)
		}
	}
	for _, text := range []string{"refund for", "returned it"} {
		if found := rowsWith(t, r.DB, text); found != nil {
			t.Errorf("%q is in %v", text, found)
		}
	}
	if ledger() != before {
		t.Error("the ledger changed")
	}
	if n := r.auditEvents(t, "ledger.redact_note", "done"); n != 2 {
		t.Errorf("got %d audit events, want 2", n)
	}
	for id, want := range map[uuid.UUID]int{file: 0, kept: 1} {
		if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files WHERE id = $1`, id); n != want {
			t.Errorf("got %d files, want %d", n, want)
		}
	}
}

// TestFindNotesIsLimitedAndRecorded checks that a search of the notes counts like other searches for consumers, and that
// the audit log does not contain the text.
func TestFindNotesIsLimitedAndRecorded(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	r.addEntry(t, models.EntryAdjustment, "ad_1", "refund for Canary", nil)
	const limit = 5
	s := privacy.NewService(r.DB.DB, r.Wrappers, r.Keys, r.journal, r.Time, privacy.Settings{LookupsPerDay: limit}).By(r.user)
	if _, err := s.FindPerson(ctx, leads.Person{Email: "ann.example@example.com"}); err != nil {
		t.Fatal(err)
	}
	for range limit - 1 {
		found, more, err := s.FindNotes(ctx, scope.Everywhere, "CANARY", 10)
		if err != nil || len(found) != 1 || more {
			t.Fatalf("got %d notes, more = %t, and error %v", len(found), more, err)
		}
	}
	if _, _, err := s.FindNotes(ctx, scope.Everywhere, "CANARY", 10); rejection(err) != "too_many lookups_per_day" {
		t.Errorf("one search too many: got %v", err)
	}
	if _, err := s.FindPerson(ctx, leads.Person{Email: "ann.example@example.com"}); rejection(err) != "too_many lookups_per_day" {
		t.Errorf("another kind of search: got %v", err)
	}
	if n := r.auditEvents(t, "notes.find", "done"); n != limit-1 {
		t.Errorf("got %d audit events, want %d", n, limit-1)
	}
	if n := r.auditEvents(t, "notes.find", "rejected"); n != 1 {
		t.Errorf("got %d audit events about rejections, want 1", n)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'notes.find' AND after->>'found' <> '1'`); n != 0 {
		t.Errorf("%d audit events have another number of notes", n)
	}
	if found := rowsWith(t, r.DB, "CANARY"); found != nil {
		t.Errorf("the text is in %v", found)
	}
}
