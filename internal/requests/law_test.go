package requests_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

func TestDeadlinesByLaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		law                     models.PrivacyLaw
		kind                    models.PrivacyRequestKind
		received, due, extended string
	}{
		{models.LawGDPR, models.RequestAccess, "2026-01-31", "2026-02-28", "2026-04-30"},
		{models.LawGDPR, models.RequestObjection, "2028-01-31", "2028-02-29", "2028-04-30"},
		{models.LawUKGDPR, models.RequestRectification, "2026-03-31", "2026-04-30", "2026-06-30"},
		{models.LawUKGDPR, models.RequestWithdrawal, "2026-11-30", "2026-12-30", ""},
		{models.LawCCPA, models.RequestErasure, "2026-01-31", "2026-03-17", "2026-05-01"},
		{models.LawCCPA, models.RequestRectification, "2026-11-26", "2027-01-10", "2027-02-24"},
		{models.LawCCPA, models.RequestObjection, "2026-11-26", "2026-12-17", ""}, // 15 business days
		{models.LawCCPA, models.RequestRestriction, "2026-11-28", "2026-12-18", ""},
	} {
		received, err := time.Parse(time.DateOnly, c.received)
		if err != nil {
			t.Fatal(err)
		}
		extended, ok := requests.ExtendedDeadline(c.law, c.kind, received)
		got := ""
		if ok {
			got = extended.Format(time.DateOnly)
		}
		if due := requests.Deadline(c.law, c.kind, received).Format(time.DateOnly); due != c.due || got != c.extended {
			t.Errorf("%s %s received on %s: due on %s, extended to %q, want %s and %q", c.law, c.kind, c.received, due, got,
				c.due, c.extended)
		}
	}
}

func TestGroundsByLaw(t *testing.T) {
	t.Parallel()
	for _, law := range requests.Laws {
		for _, kind := range requests.Kinds {
			var seen []models.RejectionGround
			for _, g := range requests.RejectionGrounds(law.Code, kind.Code) {
				if slices.Contains(seen, g.Ground) {
					t.Errorf("%s %s: the ground %s appears twice", law.Code, kind.Code, g.Ground)
				}
				seen = append(seen, g.Ground)
				if law.Code == models.LawCCPA && strings.Contains(g.Label, "article") || law.Code != models.LawCCPA &&
					strings.Contains(g.Label, "section") {
					t.Errorf("%s: got the ground %q of another law", law.Code, g.Label)
				}
			}
			if (len(seen) == 0) != (kind.Code == models.RequestComplaint) {
				t.Errorf("%s %s: got %d grounds", law.Code, kind.Code, len(seen))
			}
		}
	}
}

// Each ground can be stored, and only the law and kind for which it is listed can use it.
func TestRejectionsByLaw(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	lead := r.Deliver(t, leadkit.Contact)
	for _, law := range requests.Laws {
		for _, kind := range requests.Kinds {
			n := requests.NewRequest{
				Kind: kind.Code, Law: law.Code, ReceivedOn: r.Day(0), DueOn: r.Day(9), Leads: []uuid.UUID{lead},
			}
			for _, g := range requests.RejectionGrounds(law.Code, kind.Code) {
				created, err := r.Requests.Create(ctx, n)
				if err != nil {
					t.Fatal(err)
				}
				other := models.GroundTransaction
				if law.Code == models.LawCCPA {
					other = models.GroundPublicHealth
				}
				closing := requests.Closing{Outcome: models.OutcomeRejected, Ground: other}
				if err := r.Requests.Close(ctx, created.ID, closing); leadkit.Rejection(err) != "invalid ground" {
					t.Errorf("%s %s: the ground %s of another law: got %v", law.Code, kind.Code, other, err)
				}
				closing.Ground = g.Ground
				if err := r.Requests.Close(ctx, created.ID, closing); err != nil {
					t.Errorf("%s %s %s: %v", law.Code, kind.Code, g.Ground, err)
				}
				if _, found := r.State(t, created.ID); requests.RejectionGroundLabel(found.PrivacyRequest) != g.Label ||
					found.Law != law.Code {
					t.Errorf("%s %s: got %+v, want the ground %q", law.Code, kind.Code, found, g.Label)
				}
			}
		}
	}
}

// Staff fulfil most kinds of requests outside the platform, and describe what they did. An objection or a
// withdrawal of consent can also be answered by erasing the data.
func TestRequestsThatStaffFulfil(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	for _, kind := range requests.Kinds {
		lead := r.Deliver(t, leadkit.Contact)
		create := func() uuid.UUID {
			t.Helper()
			created, err := r.Requests.Create(ctx, requests.NewRequest{
				Kind: kind.Code, ReceivedOn: r.Day(0), DueOn: r.Day(9), Leads: []uuid.UUID{lead}, Identity: requests.Identity{
					Check: models.IdentityReply,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			return created.ID
		}
		fulfils := kind.Code != models.RequestAccess && kind.Code != models.RequestErasure
		request, want := create(), "invalid outcome"
		if fulfils {
			want = "<nil>"
			if err := r.Requests.Close(ctx, request, requests.Closing{Outcome: models.OutcomeDone, Note: " "}); leadkit.Rejection(err) != "invalid note" {
				t.Errorf("%s without a note: got %v", kind.Code, err)
			}
		}
		if err := r.Requests.Close(ctx, request, requests.Closing{Outcome: models.OutcomeDone, Note: "buyers informed"}); leadkit.Rejection(err) != want {
			t.Errorf("%s done: got %v, want %s", kind.Code, err, want)
		}
		if outcome, _ := r.State(t, request); (outcome == "done") != fulfils {
			t.Errorf("%s: got outcome %q", kind.Code, outcome)
		}
		want = "conflict request_kind"
		if requests.MayErase(kind.Code) {
			want = "<nil>"
		}
		request = create()
		if err := r.Requests.Erase(ctx, request); leadkit.Rejection(err) != want {
			t.Errorf("%s erased: got %v, want %s", kind.Code, err, want)
		}
		if _, found := r.State(t, request); found.NoticesDue != requests.MayErase(kind.Code) {
			t.Errorf("%s erased: got %+v", kind.Code, found)
		}
	}
	if err := r.Erasures.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM leads WHERE ciphertext IS NOT NULL`); n != 4 {
		t.Errorf("%d leads have a contact record, want 4", n)
	}
}

// An authority sets the deadline of a complaint, and can extend it more than once.
func TestComplaint(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	created, err := r.Requests.Create(ctx,
		requests.NewRequest{Kind: models.RequestComplaint, Reference: "DPA 12/2026", ReceivedOn: r.Day(0), DueOn: r.Day(14)})
	if err != nil || !created.DueOn.Equal(r.Day(14)) {
		t.Fatalf("got %+v, %v", created, err)
	}
	for _, c := range []struct {
		until time.Time
		want  string
	}{{time.Time{}, "invalid until"}, {r.Day(14), "invalid until"}, {r.Day(21), "<nil>"}, {r.Day(28), "<nil>"}} {
		if err := r.Requests.Extend(ctx, created.ID, requests.Extension{Reason: "holidays", Until: c.until}); leadkit.Rejection(err) != c.want {
			t.Errorf("extended to %s: got %v, want %s", c.until, err, c.want)
		}
	}
	_, found := r.State(t, created.ID)
	if written, err := r.Requests.Letters(found); !found.DueOn.Equal(r.Day(28)) || err != nil || written != nil {
		t.Errorf("due on %s, letters %v, %v", found.DueOn, written, err)
	}
}

// Opt-outs and withdrawals of consent cannot be extended.
func TestRequestsWithoutExtension(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	for law, kind := range map[models.PrivacyLaw]models.PrivacyRequestKind{
		models.LawCCPA: models.RequestObjection, models.LawGDPR: models.RequestWithdrawal, models.LawUKGDPR: models.RequestWithdrawal,
	} {
		created, err := r.Requests.Create(t.Context(),
			requests.NewRequest{Kind: kind, Law: law, ReceivedOn: r.Day(0), Leads: []uuid.UUID{lead}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Requests.Extend(t.Context(), created.ID,
			requests.Extension{Reason: "many"}); leadkit.Rejection(err) != "conflict no_extension" {
			t.Errorf("%s: got %v", law, err)
		}
	}
}

// The letters depend on the state of the request, and are not stored.
func TestLettersByState(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	lead := r.Deliver(t, leadkit.Contact)
	create := func() uuid.UUID {
		t.Helper()
		created, err := r.Requests.Create(ctx, requests.NewRequest{
			Kind: models.RequestRectification, Law: models.LawUKGDPR, Reference: "case 9", ReceivedOn: r.Day(0), Leads: []uuid.UUID{lead},
		})
		if err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	check := func(request uuid.UUID, part string, want ...letters.Name) {
		t.Helper()
		_, found := r.State(t, request)
		written, err := r.Requests.Letters(found)
		if err != nil {
			t.Fatal(err)
		}
		var names []letters.Name
		last := ""
		for _, l := range written {
			names, last = append(names, l.Name), l.Text
		}
		if !slices.Equal(names, want) || len(want) > 0 &&
			(!strings.Contains(last, part) || !strings.Contains(last, requests.ID(request))) {
			t.Errorf("got %v, want %v, the last with %q: %s", names, want, part, last)
		}
		if found := leadkit.RowsWith(t, r.DB, "Yours faithfully"); found != nil {
			t.Errorf("the database contains a letter: %v", found)
		}
	}
	first, second, third := create(), create(), create()
	check(first, "case 9", letters.Acknowledge)
	if err := r.Requests.Extend(ctx, first, requests.Extension{Reason: "archives are closed"}); err != nil {
		t.Fatal(err)
	}
	check(first, "archives are closed", letters.Acknowledge, letters.Extend)
	for request, closing := range map[uuid.UUID]requests.Closing{
		first:  {Outcome: models.OutcomeRejected, Ground: models.GroundAccurate},
		second: {Outcome: models.OutcomeDone, Note: "buyers informed"},
		third:  {Outcome: models.OutcomeWithdrawn},
	} {
		if err := r.Requests.Close(ctx, request, closing); err != nil {
			t.Fatal(err)
		}
	}
	check(first, "UK GDPR: the data is accurate and complete (article 16)", letters.Reject)
	check(second, "buyers informed", letters.Done)
	check(third, "")

	held := r.Deliver(t, leadkit.Contact)
	leadkit.PlaceHold(t, r.Erasures, held, false)
	partly := r.RequestFor(t, models.RequestErasure, lead, held)
	check(partly, "", letters.Acknowledge)
	if err := r.Requests.Erase(ctx, partly); err != nil {
		t.Fatal(err)
	}
	check(partly, "some of your personal data", letters.Acknowledge, letters.Done)
	if err := r.Requests.Close(ctx, partly, requests.Closing{Outcome: models.OutcomeRejected, Ground: models.GroundLegalClaims, Note: "case 9"}); err != nil {
		t.Fatal(err)
	}
	check(partly, "some of your personal data", letters.Reject)
}
