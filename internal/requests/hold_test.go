package requests_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

func (r rig) heldLeads(t *testing.T, request uuid.UUID) int {
	t.Helper()
	held, err := r.Requests.HeldLeads(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return len(held)
}

func TestErasureRequestWithLegalHold(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	erased, held, persons, free := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "b@example.com"), r.DeliverIn(t, "GB", "c@example.com")
	other := r.DeliverIn(t, "GB", "b@example.com") // not in the request
	if _, err := r.Erase(t, erased); err != nil {
		t.Fatal(err)
	}
	r.PassDays(t, 1) // it was erased before the request was received
	request := r.RequestFor(t, models.RequestErasure, erased, held, persons, free)
	single, person := leadkit.PlaceHold(t, r.Erasures, held, false), leadkit.PlaceHold(t, r.Erasures, other, true)
	left := map[uuid.UUID]string{
		erased: "", held: "contact consent", persons: "contact consent", free: "", other: "contact consent",
	}
	for n, hold := range []struct {
		models.LegalHold
		over uuid.UUID
	}{{single, held}, {person, persons}} {
		if got := r.heldLeads(t, request); got != 2-n {
			t.Errorf("got %d held leads, want %d", got, 2-n)
		}
		if err := r.Requests.Erase(ctx, request); err != nil {
			t.Errorf("with %d holds: %v", 2-n, err)
		}
		if err := r.Requests.Erase(ctx, request); leadkit.Rejection(err) != "conflict legal_hold" {
			t.Errorf("with %d holds, again: got %s", 2-n, leadkit.Rejection(err))
		}
		if outcome, found := r.State(t, request); outcome != "" || found.Left() != 2-n || found.Own != 1+n {
			t.Errorf("with %d holds: got outcome %q, %+v", 2-n, outcome, found)
		}
		r.Expect(t, "with holds", left)
		holds, err := r.Erasures.HoldsOver(ctx, []uuid.UUID{held, persons, free})
		if err != nil || len(holds) != 2-n || holds[len(holds)-1].Reason != person.Reason {
			t.Errorf("got holds %+v, %v", holds, err)
		}
		if err := r.Requests.RemoveLeads(ctx, request, []uuid.UUID{persons}); leadkit.Rejection(err) != "conflict leads_fixed" {
			t.Errorf("a lead was removed after the erasure: %v", err)
		}
		if err := r.Erasures.ReleaseHold(ctx, scope.System, hold.ID); err != nil {
			t.Fatal(err)
		}
		left[hold.over] = ""
	}
	if err := r.Requests.Erase(ctx, request); err != nil {
		t.Fatal(err)
	}
	r.Expect(t, "without holds", left)
	if outcome, found := r.State(t, request); outcome != "erased" || found.Own != 3 {
		t.Errorf("without holds: got outcome %q, %+v", outcome, found)
	}
	if notices, err := r.Requests.Notices(ctx, request); err != nil || len(notices) != 1 || notices[0].Leads != 3 {
		t.Errorf("got notices %+v, %v", notices, err)
	}
	if got := r.heldLeads(t, request); got != 0 {
		t.Errorf("got %d held leads, want 0", got)
	}

	leadkit.PlaceHold(t, r.Erasures, other, false)
	rejected := r.RequestFor(t, models.RequestErasure, other)
	if err := r.Requests.Close(ctx, rejected, requests.Closing{Outcome: models.OutcomeRejected, Ground: models.GroundLegalClaims}); err != nil {
		t.Errorf("rejecting the request: %v", err)
	}
}

// With new platform keys, holds may not apply to all of a person's leads, so nothing is erased.
func TestErasureRequestDuringKeyRotation(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	leadkit.PlaceHold(t, r.Erasures, r.DeliverIn(t, "GB", "a@example.com"), true)
	request := r.RequestFor(t, models.RequestErasure, r.DeliverIn(t, "GB", "b@example.com"))
	rotated := leadkit.NewServices(r.DB.DB, r.Wrappers, testkit.PlatformKeys(t, 2, 1), r.Journal, r.Time, leadkit.Settings{}).By(r.User)
	if err := rotated.Requests.Erase(t.Context(), request); leadkit.Rejection(err) != "unavailable hold_keys" {
		t.Errorf("got %s", leadkit.Rejection(err))
	}
}

// If a hold is placed while leads are erased for a request, either the hold is rejected, or its leads are not erased.
func TestHoldBesideErasureRequest(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	for i := range 4 {
		email := fmt.Sprintf("person%d@example.com", i)
		all := []uuid.UUID{r.DeliverIn(t, "GB", email), r.DeliverIn(t, "GB", email), r.DeliverIn(t, "GB", email)}
		request := r.RequestFor(t, models.RequestErasure, all...)
		person := i%2 == 0 // the hold is over all leads
		var group sync.WaitGroup
		var held, erased, single error
		group.Go(func() {
			_, held = r.Erasures.PlaceHold(t.Context(), scope.System,
				erasure.NewHold{Lead: all[1], Person: person, Reason: "case 7"})
		})
		group.Go(func() { erased = r.Requests.Erase(t.Context(), request) })
		group.Go(func() { _, single = r.Erase(t, all[0]) })
		group.Wait()
		if held != nil && leadkit.Rejection(held) != "conflict erased" || erased != nil &&
			leadkit.Rejection(erased) != "conflict legal_hold" {
			t.Errorf("hold: %v, erasure: %v", held, erased)
		}
		if (erased != nil) != (person && held == nil) {
			t.Errorf("a hold over the person (%v): %v, but the erasure: %v", person, held, erased)
		}
		if got := leadkit.Rejection(single); got != "<nil>" && got != "conflict erased" && got != "conflict legal_hold" {
			t.Errorf("erasure of one lead: got %s", got)
		}
		want := map[uuid.UUID]string{all[0]: "", all[1]: "", all[2]: ""}
		if held == nil {
			want[all[1]] = "contact consent"
		}
		if erased != nil {
			want[all[2]] = "contact consent"
		}
		if erased != nil && single != nil {
			want[all[0]] = "contact consent"
		}
		r.Expect(t, "afterwards", want)
	}
	if _, err := r.Erasures.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// Retention erases the contact records first. Each lead is counted once, and as erased only after its consent
// was erased, too.
func TestErasureRequestAfterRetention(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	s := r.Retaining(leadkit.Periods(10, 30, nil, nil)).By(r.User)
	leadkit.RunRetention(t, s.Retention, nil)
	kept, whole := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "b@example.com")
	r.PassDays(t, 11)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 2}})
	late := r.DeliverIn(t, "GB", "c@example.com")
	if _, err := r.Erase(t, whole); err != nil {
		t.Fatal(err)
	}
	request := r.RequestFor(t, models.RequestErasure, kept, whole, late)
	check := func(when string, erased, pending, receipts int) {
		t.Helper()
		if _, got := r.State(t, request); got.Leads != 3 || got.Erased != erased || got.Pending != pending {
			t.Errorf("%s: got %d leads, %d erased, %d pending, want 3, %d, %d", when, got.Leads, got.Erased, got.Pending, erased,
				pending)
		}
		if all, err := r.Requests.Receipts(ctx, request); err != nil || len(all) != receipts {
			t.Errorf("%s: got %d receipts, %v, want %d", when, len(all), err, receipts)
		}
	}
	check("before", 1, 0, 2)
	hold := leadkit.PlaceHold(t, r.Erasures, kept, false)
	if n := r.heldLeads(t, request); n != 1 {
		t.Errorf("got %d held leads, want 1", n)
	}
	if err := r.Erasures.ReleaseHold(ctx, scope.System, hold.ID); err != nil {
		t.Fatal(err)
	}
	r.Journal.Full.Store(true)
	if err := r.Requests.Erase(ctx, request); leadkit.Rejection(err) != "unavailable erasure_pending" {
		t.Errorf("without the journal: got %s", leadkit.Rejection(err))
	}
	check("pending", 1, 2, 3)
	r.Journal.Full.Store(false)
	if err := r.Erasures.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	check("after", 3, 0, 3)
	r.Expect(t, "after", map[uuid.UUID]string{kept: "", whole: "", late: ""})
	if n := testkit.Value[int](t, r.DB, `SELECT (after->>'leads')::int FROM audit_events WHERE action = 'privacy_request.close' AND outcome = 'done'`); n != 2 {
		t.Errorf("the audit log contains %d erased leads, want 2", n)
	}
}

// An export contains the consents that retention has not erased yet.
func TestExportAfterRetention(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 30, nil, nil)).By(r.User)
	leadkit.RunRetention(t, s.Retention, nil)
	whole, kept := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "b@example.com")
	r.PassDays(t, 11)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 2}})
	if _, err := r.Erase(t, whole); err != nil {
		t.Fatal(err)
	}
	late := r.DeliverIn(t, "GB", "c@example.com")
	request := r.RequestFor(t, models.RequestAccess, whole, kept, late)
	passphrase, err := r.ExportRequest(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	files := r.Download(t, request, passphrase)
	page := string(files["data.html"])
	var data struct{ Leads []leadInExport }
	if err := json.Unmarshal(files["data.json"], &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Leads) != 3 {
		t.Fatalf("got %d leads, want 3", len(data.Leads))
	}
	type content struct {
		erased, contact bool
		disclosure      string
	}
	want := map[string]content{
		id.Format(id.Lead, whole): {true, false, ""}, id.Format(id.Lead, kept): {true, false, "I agree"},
		id.Format(id.Lead, late): {false, true, "I agree"},
	}
	for _, l := range data.Leads {
		got := content{l.ErasedAt != nil, l.Contact != nil, l.Consent.DisclosureText}
		if got != want[l.LeadID] || (l.Postcode == "") != got.erased {
			t.Errorf("lead %s: got %+v, want %+v", l.LeadID, got, want[l.LeadID])
		}
	}
	if n := strings.Count(page, "<dt>Erased</dt>"); n != 2 || strings.Count(page, "I agree") != 2 {
		t.Errorf("the page shows %d erased leads: %s", n, page)
	}
	r.PassDays(t, 20)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}, models.RetainConsent: {"GB": 1}})
	if _, err := r.OpenExport(t.Context(), request); leadkit.Rejection(err) != "conflict no_export" {
		t.Errorf("after the next run: got %s", leadkit.Rejection(err))
	}
}

// An export never contains data that retention erases at the same time.
func TestExportBesideRetention(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 30, nil, nil)).By(r.User)
	leadkit.RunRetention(t, s.Retention, nil)
	for range 3 {
		request := r.RequestFor(t, models.RequestAccess, r.DeliverIn(t, "GB", "a@example.com"))
		for _, step := range []struct {
			days   int
			erased string
		}{{11, "a@example.com"}, {20, "I agree"}} {
			r.PassDays(t, step.days)
			var group sync.WaitGroup
			var passphrase string
			group.Go(func() {
				var err error
				if passphrase, err = r.ExportRequest(t.Context(), request); err != nil &&
					leadkit.Rejection(err) != "conflict erased_meanwhile" {
					t.Error(err)
				}
			})
			group.Go(func() {
				if _, err := s.Retention.Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
			group.Wait()
			if archive, err := r.OpenExport(t.Context(), request); leadkit.Rejection(err) == "conflict no_export" {
				continue
			} else if err != nil {
				t.Fatal(err)
			} else {
				archive.Close()
			}
			if files := r.Download(t, request, passphrase); strings.Contains(string(files["data.json"]), step.erased) {
				t.Errorf("the export contains erased data: %s", files["data.json"])
			}
		}
	}
}
