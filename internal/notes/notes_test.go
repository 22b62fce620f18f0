package notes_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/notes"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// addReturn adds a return of a lead, and returns the ID of its note.
func (r rig) addReturn(t *testing.T, lead uuid.UUID, state models.ReturnState, evidence, decision string) string {
	t.Helper()
	r.DB.Exec(t, `INSERT INTO returns (id, lead_id, partner_id, account_id, amount_minor, currency, reason, evidence, requested_by, requested_at, state, decided_by, decided_at, decision_note)
		SELECT gen_random_uuid(), id, partner_id, account_id, price_minor, currency, 'fraud', $2, 'ann', $5, $3, 'bob', CASE $3 WHEN 'open' THEN NULL ELSE $5::timestamptz END, $4 FROM leads WHERE id = $1`,
		lead, evidence, string(state), decision, r.Time.Now())
	return "return-" + testkit.Value[uuid.UUID](t, r.DB, `SELECT id FROM returns WHERE lead_id = $1 AND state = $2 ORDER BY requested_at DESC LIMIT 1`, lead, string(state)).String()
}

// addResolution adds a note on a finding without a lead, and returns the ID of the note.
func (r rig) addResolution(t *testing.T, note string) string {
	t.Helper()
	reconciliation := uuid.New()
	r.DB.Exec(t, `INSERT INTO reconciliations (id, partner_id, file_name, file_size, file_sha256, profile, state, created_by, created_at)
		VALUES ($1, $2, '', 0, '', '{}', 'comparing', 'ann', $3)`, reconciliation, r.Required.ID, r.Time.Now())
	r.DB.Exec(t, `INSERT INTO reconciliation_lines (reconciliation_id, line, finding) VALUES ($1, 1, 'unreadable')`,
		reconciliation)
	r.DB.Exec(t, `INSERT INTO reconciliation_resolutions (reconciliation_id, line, note, resolved_by, at) VALUES ($1, 1, $2, 'ann', $3)`, reconciliation, note, r.Time.Now())
	return fmt.Sprint("finding-", testkit.Value[int64](t, r.DB,
		`SELECT id FROM reconciliation_resolutions WHERE reconciliation_id = $1`, reconciliation))
}

// TestRedactNote checks that the text of a note is removed, also from the decision about a return and from prepared
// exports, and that the ledger does not change.
func TestRedactNote(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	lead := r.Deliver(t, leadkit.Contact)
	r.addReturn(t, lead, models.ReturnAccepted, "", "canary returned it")
	returned := r.AddLedgerEntry(t, models.EntryReturn, "ld_1", "fraud: canary returned it", &lead)
	adjusted := r.AddLedgerEntry(t, models.EntryAdjustment, "ad_1", "refund for Canary", nil)
	other := r.AddLedgerEntry(t, models.EntryAdjustment, "ad_2", "rounding", nil)
	paid := r.AddLedgerEntry(t, models.EntryPayment, "po_1/ac_1", "canary bank reference", nil)
	file := r.AddLedgerExport(t, payouts.Filter{Kind: models.EntryAdjustment}, nil)
	kept := r.AddLedgerExport(t, payouts.Filter{Kind: models.EntryAccrual}, nil)

	list := func(sc scope.Scope, text string) (ids []string) {
		t.Helper()
		all, _, _, err := r.Notes.Notes(ctx, sc, postgres.Page[string]{Size: 10})
		if text != "" {
			all, _, err = r.Notes.Find(ctx, sc, text, 10)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			ids = append(ids, n.ID)
		}
		return ids
	}
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got notes %v, want %v", what, got, want)
		}
	}
	expect("all", list(scope.Everywhere, ""), other, adjusted, returned)
	expect("found", list(scope.Everywhere, "CANARY"), adjusted, returned)
	expect("of the partner", list(scope.Partners(r.Required.ID), "canary"), adjusted, returned)
	expect("of another partner", list(scope.Partners(uuid.New()), ""))

	hold, err := r.Erasures.PlaceHold(ctx, scope.System, erasure.NewHold{Lead: lead, Reason: "case 7"})
	if err != nil {
		t.Fatal(err)
	}
	ledger := func() string {
		return testkit.Value[string](t, r.DB, `SELECT string_agg(e::text, ' ' ORDER BY id) FROM ledger_entries e`)
	}
	before := ledger()
	for what, c := range map[string]struct {
		scope scope.Scope
		note  string
		want  string
	}{
		"a held lead":     {scope.Everywhere, returned, "conflict legal_hold"},
		"another partner": {scope.Partners(uuid.New()), adjusted, "not_found note"},
		"a payment":       {scope.Everywhere, paid, "not_found note"},
		"no entry":        {scope.Everywhere, "ledger-999999", "not_found note"},
		"no number":       {scope.Everywhere, "ledger-x", "not_found note"},
		"no source":       {scope.Everywhere, "secret-1", "not_found note"},
		"nothing":         {scope.Everywhere, "", "not_found note"},
	} {
		if err := r.Notes.Redact(ctx, c.scope, c.note); leadkit.Rejection(err) != c.want {
			t.Errorf("%s: got %v, want %s", what, err, c.want)
		}
	}
	if err := r.Notes.Redact(ctx, scope.Partners(r.Required.ID), adjusted); err != nil {
		t.Fatal(err)
	}
	if err := r.Notes.Redact(ctx, scope.Everywhere, adjusted); leadkit.Rejection(err) != "conflict note_redacted" {
		t.Errorf("redacted again: got %v", err)
	}
	if err := r.Erasures.ReleaseHold(ctx, scope.System, hold.ID); err != nil {
		t.Fatal(err)
	}
	if err := r.Notes.Redact(ctx, scope.Everywhere, returned); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]string{adjusted: "[redacted]", returned: "fraud: [redacted]", other: "rounding"} {
		n, err := r.Notes.Note(ctx, scope.Everywhere, entry)
		if redacted := n.RedactedAt != nil && n.RedactedBy == "fay@example.com"; err != nil || n.Note != want ||
			redacted != (entry != other) {
			t.Errorf("got note %+v and error %v, want %q", n, err, want)
		}
	}
	for _, text := range []string{"refund for", "returned it"} {
		if found := leadkit.RowsWith(t, r.DB, text); found != nil {
			t.Errorf("%q is in %v", text, found)
		}
	}
	if ledger() != before {
		t.Error("the ledger changed")
	}
	if n := r.AuditEvents(t, "ledger.redact_note", "done"); n != 2 {
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
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	r.AddLedgerEntry(t, models.EntryAdjustment, "ad_1", "refund for Canary", nil)
	const limit = 5
	s := leadkit.NewServices(r.DB.DB, r.Wrappers, r.Keys, r.Journal, r.Time, leadkit.Settings{LookupsPerDay: limit}).
		By(r.User)
	if _, err := s.Reveals.FindPerson(ctx, leads.Person{Email: "ann.example@example.com"}); err != nil {
		t.Fatal(err)
	}
	for range limit - 1 {
		found, more, err := s.Notes.Find(ctx, scope.Everywhere, "CANARY", 10)
		if err != nil || len(found) != 1 || more {
			t.Fatalf("got %d notes, more = %t, and error %v", len(found), more, err)
		}
	}
	if _, _, err := s.Notes.Find(ctx, scope.Everywhere, "CANARY",
		10); leadkit.Rejection(err) != "too_many lookups_per_day" {
		t.Errorf("one search too many: got %v", err)
	}
	if _, err := s.Reveals.FindPerson(ctx, leads.Person{Email: "ann.example@example.com"}); leadkit.Rejection(err) != "too_many lookups_per_day" {
		t.Errorf("another kind of search: got %v", err)
	}
	if n := r.AuditEvents(t, "notes.find", "done"); n != limit-1 {
		t.Errorf("got %d audit events, want %d", n, limit-1)
	}
	if n := r.AuditEvents(t, "notes.find", "rejected"); n != 1 {
		t.Errorf("got %d audit events about rejections, want 1", n)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'notes.find' AND after->>'found' <> '1'`); n != 0 {
		t.Errorf("%d audit events have a different number of notes", n)
	}
	if found := leadkit.RowsWith(t, r.DB, "canary"); !slices.Equal(found, []string{"ledger_notes: 1"}) {
		t.Errorf("the text is in %v", found)
	}
}

// TestRedactTextsOutsideLedger checks that the evidence of returns, the reasons for rejecting them, and notes on findings
// without a lead are found and redacted like notes in the ledger.
func TestRedactTextsOutsideLedger(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	lead, openLead := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.OtherContact)
	rejected := r.addReturn(t, lead, models.ReturnRejected, "quagga's wife answered", "Mrs Quagga confirmed it")
	open := r.addReturn(t, openLead, models.ReturnOpen, "quagga moved", "")
	finding := r.addResolution(t, "row of Mr Quagga")
	other := r.addResolution(t, "rounding")
	found, _, err := r.Notes.Find(ctx, scope.Everywhere, "quagga", 10)
	if err != nil || len(found) != 3 {
		t.Fatalf("found %v, %v", found, err)
	}
	for _, n := range found {
		want := map[string]notes.Note{
			rejected: {
				Kind: notes.EvidenceNote, Note: "quagga's wife answered\nMrs Quagga confirmed it", LeadID: &lead,
				CreatedBy: "ann, bob",
			},
			open:    {Kind: notes.EvidenceNote, Note: "quagga moved", LeadID: &openLead, CreatedBy: "ann"},
			finding: {Kind: notes.FindingNote, Note: "row of Mr Quagga", CreatedBy: "ann", Line: 1},
		}[n.ID]
		if n.Kind != want.Kind || n.Note != want.Note || n.CreatedBy != want.CreatedBy || n.Line != want.Line || (n.LeadID == nil) != (want.LeadID == nil) ||
			n.LeadID != nil && *n.LeadID != *want.LeadID || n.PartnerID != r.Required.ID {
			t.Errorf("got %+v, want %+v", n, want)
		}
	}
	hold, err := r.Erasures.PlaceHold(ctx, scope.System, erasure.NewHold{Lead: lead, Reason: "case 7"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Notes.Redact(ctx, scope.Everywhere, rejected); leadkit.Rejection(err) != "conflict legal_hold" {
		t.Errorf("a held lead: got %v", err)
	}
	if err := r.Erasures.ReleaseHold(ctx, scope.System, hold.ID); err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{rejected, open, finding} {
		if err := r.Notes.Redact(ctx, scope.Partners(uuid.New()), note); leadkit.Rejection(err) != "not_found note" {
			t.Errorf("%s, as a user of another partner: got %v", note, err)
		}
		if err := r.Notes.Redact(ctx, scope.Partners(r.Required.ID), note); err != nil {
			t.Errorf("%s: %v", note, err)
		}
		if err := r.Notes.Redact(ctx, scope.Everywhere, note); leadkit.Rejection(err) != "conflict note_redacted" {
			t.Errorf("%s redacted again: got %v", note, err)
		}
	}
	// An open return can be rejected with another text later.
	r.DB.Exec(t, `UPDATE returns SET state = 'rejected', decided_by = 'bob', decided_at = now(), decision_note = 'quagga was here' WHERE lead_id = $1`, openLead)
	if n, err := r.Notes.Note(ctx, scope.Everywhere, open); err != nil || n.RedactedAt != nil ||
		n.Note != "[redacted]\nquagga was here" {
		t.Errorf("decided later: got %+v, %v", n, err)
	}
	if err := r.Notes.Redact(ctx, scope.Everywhere, open); err != nil {
		t.Errorf("decided later: %v", err)
	}
	for note, want := range map[string]string{rejected: "[redacted]\n[redacted]", open: "[redacted]\n[redacted]", finding: "[redacted]", other: "rounding"} {
		n, err := r.Notes.Note(ctx, scope.Everywhere, note)
		if redacted := n.RedactedAt != nil && n.RedactedBy == "fay@example.com"; err != nil || n.Note != want ||
			redacted != (note != other) {
			t.Errorf("got note %+v and error %v, want %q", n, err, want)
		}
	}
	if found := leadkit.RowsWith(t, r.DB, "quagga"); found != nil {
		t.Errorf("the texts are in %v", found)
	}
	for action, want := range map[string]int{"return.redact": 3, "reconciliation.redact_note": 1} {
		if n := r.AuditEvents(t, action, "done"); n != want {
			t.Errorf("got %d audit events %s, want %d", n, action, want)
		}
	}
	if _, err := r.Erase(t, lead); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Notes.Note(ctx, scope.Everywhere, rejected); leadkit.Rejection(err) != "not_found note" {
		t.Errorf("of an erased lead: got %v", err)
	}
}

// TestRedactionDeletesConsumerExports checks that prepared exports for consumers do not contain a redacted text, even if
// it was redacted while the export was written.
func TestRedactionDeletesConsumerExports(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(r rig, t *testing.T, lead uuid.UUID) (note string){
		"rejected return": func(r rig, t *testing.T, lead uuid.UUID) string {
			return r.addReturn(t, lead, models.ReturnRejected, "canary's wife answered", "canary")
		},
		"note in the ledger": func(r rig, t *testing.T, lead uuid.UUID) string {
			r.addReturn(t, lead, models.ReturnAccepted, "", "canary returned it")
			return r.AddLedgerEntry(t, models.EntryReturn, "ld_1", "fraud: canary returned it", &lead)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig{leadkit.New(t).WithRevealsPerDay(100)}
			ctx := t.Context()
			lead, other := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.OtherContact)
			note := add(r, t, lead)
			request, unrelated := r.RequestFor(t, models.RequestAccess, lead), r.RequestFor(t, models.RequestAccess, other)
			for _, access := range []uuid.UUID{request, unrelated} {
				if _, err := r.ExportRequest(ctx, access); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Notes.Redact(ctx, scope.Everywhere, note); err != nil {
				t.Fatal(err)
			}
			if _, found := r.State(t, request); found.FileID != nil {
				t.Error("the export with the text was not deleted")
			}
			if _, found := r.State(t, unrelated); found.FileID == nil {
				t.Error("an export without the text was deleted")
			}
		})
	}
	t.Run("during an export", func(t *testing.T) {
		t.Parallel()
		r := rig{leadkit.New(t).WithRevealsPerDay(100)}
		ctx := t.Context()
		lead := r.Deliver(t, leadkit.Contact)
		note := r.addReturn(t, lead, models.ReturnRejected, "canary's wife answered", "canary")
		request := r.RequestFor(t, models.RequestAccess, lead)
		resume := r.PauseAfter(t, "INSERT ON file_parts")
		var all sync.WaitGroup
		var err error
		all.Go(func() { _, err = r.ExportRequest(ctx, request) })
		r.AwaitWaiting(t, 1) // the data has been read
		if err := r.Notes.Redact(ctx, scope.Everywhere, note); err != nil {
			t.Error(err)
		}
		resume()
		all.Wait()
		if leadkit.Rejection(err) != "conflict erased_meanwhile" {
			t.Errorf("got %v", err)
		}
		if _, found := r.State(t, request); found.FileID != nil {
			t.Error("the request has an export with the text")
		}
	})
}

// TestNotesArePaged checks the order and the pages of notes from all sources, including notes with the same time.
func TestNotesArePaged(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	var want []string
	for i := range 4 {
		lead := r.Deliver(t, leadkit.Contact)
		same := []string{
			r.AddLedgerEntry(t, models.EntryAdjustment, fmt.Sprint("ad_", i), "note", nil), r.addResolution(t, "note"),
			r.addReturn(t, lead, models.ReturnRejected, "evidence", "note"),
		}
		slices.Sort(same)
		want = append(want, same...)
		r.Time.Advance(time.Minute)
	}
	slices.Reverse(want)
	for size := 1; size <= len(want)+1; size++ {
		var forward, backward []string
		page := postgres.Page[string]{Size: size}
		for more := true; more; {
			found, newer, older, err := r.Notes.Notes(ctx, scope.Everywhere, page)
			if err != nil || len(found) == 0 || newer != (page.After != "") {
				t.Fatalf("size %d: got %d notes, newer = %t, and error %v", size, len(found), newer, err)
			}
			for _, n := range found {
				forward = append(forward, n.ID)
			}
			page.After, more = found[len(found)-1].ID, older
		}
		page = postgres.Page[string]{Size: size, Before: want[len(want)-1]}
		for more := true; more; {
			found, newer, _, err := r.Notes.Notes(ctx, scope.Everywhere, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range slices.Backward(found) {
				backward = append(backward, n.ID)
			}
			if more = newer; more {
				page.Before = found[0].ID
			}
		}
		slices.Reverse(backward)
		if !slices.Equal(forward, want) || !slices.Equal(backward, want[:len(want)-1]) {
			t.Errorf("size %d: got %v and %v, want %v", size, forward, backward, want)
		}
	}
	found, _, _, err := r.Notes.Notes(ctx, scope.Everywhere, postgres.Page[string]{Size: 1, After: "ledger-999999"})
	if err != nil || len(found) != 1 || found[0].ID != want[0] {
		t.Errorf("after a note that does not exist: got %v, %v, want the first page", found, err)
	}
}
