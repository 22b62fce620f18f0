package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
)

func TestLegalHoldOnLead(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 20, nil, nil)).By(r.User)
	leadkit.RunRetention(t, s.Retention, nil)
	held, other := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "a@example.com")
	first := leadkit.PlaceHold(t, s.Erasures, held, false)
	r.Time.Advance(time.Second)
	second := leadkit.PlaceHold(t, s.Erasures, held, false)
	if _, err := r.Erase(t, held); leadkit.Rejection(err) != "conflict legal_hold" {
		t.Errorf("erase: got %s", leadkit.Rejection(err))
	}
	r.PassDays(t, 11)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}})
	r.Expect(t, "held", map[uuid.UUID]string{held: "contact consent", other: "consent"})
	r.PassDays(t, 10)
	leadkit.PlaceHold(t, s.Erasures, other, false) // the details of the consent can still be held
	leadkit.RunRetention(t, s.Retention, nil)
	r.Expect(t, "consent held", map[uuid.UUID]string{held: "contact consent", other: "consent"})
	if all, err := s.Erasures.HoldsOf(t.Context(), held); err != nil || len(all) != 2 || all[0].ID != first.ID ||
		all[0].PlacedBy != "fay@example.com" {
		t.Errorf("got %+v, %v", all, err)
	}
	for i, h := range []models.LegalHold{first, second} {
		if err := s.Erasures.ReleaseHold(t.Context(), scope.System, h.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Erasures.ReleaseHold(t.Context(), scope.System, h.ID); leadkit.Rejection(err) != "not_found hold" {
			t.Errorf("second release: got %s", leadkit.Rejection(err))
		}
		want := map[string]string{"0": "contact consent", "1": ""}[fmt.Sprint(i)]
		erased := map[int]leadkit.Counts{0: nil, 1: {models.RetainContact: {"GB": 1}}}[i]
		leadkit.RunRetention(t, s.Retention, erased)
		r.Expect(t, "released", map[uuid.UUID]string{held: want})
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM retention_deferred`); n != 1 {
		t.Errorf("got %d deferred leads, want only the consent that is still held", n)
	}
	for action, want := range map[string]int{"hold.place": 3, "hold.release": 2} {
		if n := r.AuditEvents(t, action, "done"); n != want {
			t.Errorf("got %d events %s, want %d", n, action, want)
		}
	}
	if page, newer, older, err := s.Erasures.Holds(t.Context(), scope.System, postgres.Page[uuid.UUID]{Size: 2}); err != nil ||
		len(page) != 2 || newer || !older || page[1].ID != second.ID || page[1].ReleasedBy != "fay@example.com" {
		t.Errorf("got %+v, %t, %t, %v", page, newer, older, err)
	}
}

func TestLegalHoldOnPerson(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 10, nil, nil)).By(r.User)
	leadkit.RunRetention(t, s.Retention, nil)
	earlier, held := r.DeliverIn(t, "DE", "A@Example.com"), r.DeliverIn(t, "GB", "a@example.com")
	h := leadkit.PlaceHold(t, s.Erasures, held, true)
	later, other := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "b@example.com")
	for _, lead := range []uuid.UUID{earlier, held, later} {
		if _, err := r.Erase(t, lead); leadkit.Rejection(err) != "conflict legal_hold" {
			t.Errorf("erase: got %s", leadkit.Rejection(err))
		}
		if all, err := s.Erasures.HoldsOf(t.Context(), lead); err != nil || len(all) != 1 {
			t.Errorf("got %+v, %v", all, err)
		}
	}
	if found := leadkit.RowsWith(t, r.DB, "a@example.com"); found != nil {
		t.Errorf("the address is stored in %v", found)
	}
	r.PassDays(t, 11)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}})
	r.Expect(t, "held",
		map[uuid.UUID]string{earlier: "contact consent", held: "contact consent", later: "contact consent", other: ""})
	if err := s.Erasures.ReleaseHold(t.Context(), scope.System, h.ID); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT sum(cardinality(email_digests) + cardinality(phone_digests)) FROM legal_holds`); n != 0 {
		t.Errorf("got %d digests after the release, want 0", n)
	}
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 2, "DE": 1}})
	r.Expect(t, "released", map[uuid.UUID]string{earlier: "", held: "", later: ""})
}

func TestPlaceHoldRejects(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead, erased := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	if _, err := r.Erase(t, erased); err != nil {
		t.Fatal(err)
	}
	s := r.Retaining(retention.Periods{}).By(r.User)
	own := scope.Partners(r.Required.ID)
	for name, tt := range map[string]struct {
		scope scope.Scope
		hold  erasure.NewHold
		want  string
	}{
		"no such lead":      {scope.System, erasure.NewHold{Lead: uuid.New(), Reason: "x"}, "not_found lead"},
		"other partner":     {scope.Partners(uuid.New()), erasure.NewHold{Lead: lead, Reason: "x"}, "not_found lead"},
		"person, one scope": {own, erasure.NewHold{Lead: lead, Person: true, Reason: "x"}, "forbidden hold_scope"},
		"no reason":         {scope.System, erasure.NewHold{Lead: lead, Reason: " "}, "invalid reason"},
		"long reason":       {scope.System, erasure.NewHold{Lead: lead, Reason: strings.Repeat("x", 201)}, "invalid reason"},
		"control character": {scope.System, erasure.NewHold{Lead: lead, Reason: "a\x00"}, "invalid reason"},
		"erased":            {scope.System, erasure.NewHold{Lead: erased, Reason: "x"}, "conflict erased"},
		"erased person":     {scope.System, erasure.NewHold{Lead: erased, Person: true, Reason: "x"}, "conflict erased"},
	} {
		if _, err := s.Erasures.PlaceHold(t.Context(), tt.scope, tt.hold); leadkit.Rejection(err) != tt.want {
			t.Errorf("%s: got %s, want %s", name, leadkit.Rejection(err), tt.want)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM legal_holds`); n != 0 {
		t.Errorf("got %d holds, want 0", n)
	}
	h := leadkit.PlaceHold(t, s.Erasures, lead, true)
	if err := s.Erasures.ReleaseHold(t.Context(), own, h.ID); leadkit.Rejection(err) != "forbidden hold_scope" {
		t.Errorf("release: got %s", leadkit.Rejection(err))
	}
	if err := s.Erasures.ReleaseHold(t.Context(), scope.Partners(uuid.New()),
		h.ID); leadkit.Rejection(err) != "not_found hold" {
		t.Errorf("release: got %s", leadkit.Rejection(err))
	}
}

// If a hold and an erasure are requested at the same time, only one of them succeeds.
func TestConcurrentHoldAndErasure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	var wg sync.WaitGroup
	for i := range 6 {
		lead := r.DeliverIn(t, "GB", fmt.Sprintf("person%d@example.com", i))
		s := r.Retaining(retention.Periods{}).By(r.User)
		var held, erased error
		wg.Go(func() {
			_, held = s.Erasures.PlaceHold(context.Background(), scope.System,
				erasure.NewHold{Lead: lead, Person: i%2 == 0, Reason: "case 7"})
		})
		wg.Go(func() {
			_, erased = s.Erasures.Erase(context.Background(), scope.System,
				erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal})
		})
		wg.Wait()
		if (held == nil) == (erased == nil) || held != nil && !errors.Is(held, leads.ErrErased) || erased != nil &&
			leadkit.Rejection(erased) != "conflict legal_hold" {
			t.Errorf("hold: %v, erasure: %v", held, erased)
		}
		if want := map[bool]string{true: "contact consent", false: ""}[held == nil]; r.Stored(t, lead) != want {
			t.Errorf("got %q, want %q", r.Stored(t, lead), want)
		}
	}
}

// With new platform keys, nothing is erased until the digests of the holds have been computed again.
func TestLegalHoldsSurvivePlatformKeyRotation(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	before := r.Retaining(retention.Periods{}).By(r.User)
	held, person, other := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t,
		"GB", "b@example.com")
	leadkit.PlaceHold(t, before.Erasures, held, true)

	with := func(keys *keyring.Keys) privacy.Services {
		return leadkit.NewServices(r.DB.DB, r.Wrappers, keys, r.Journal, r.Time, leadkit.Settings{RevealsPerDay: leadkit.RevealsPerDay}).By(r.User)
	}
	rotated := testkit.PlatformKeys(t, 2, 1)
	after := with(rotated)
	erase := func(s privacy.Services, lead uuid.UUID) string {
		t.Helper()
		_, err := s.Erasures.Erase(t.Context(), scope.System, erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal})
		return leadkit.Rejection(err)
	}
	if got := erase(after, other); got != "unavailable hold_keys" {
		t.Errorf("before the reseal: got %s", got)
	}
	if n, err := after.Erasures.ResealHolds(t.Context()); err != nil || n != 1 {
		t.Fatalf("got %d, %v", n, err)
	}
	if n, err := after.Erasures.ResealHolds(t.Context()); err != nil || n != 0 {
		t.Errorf("again: got %d, %v", n, err)
	}
	// A hold that is placed during the rotation has the digests made with both keys.
	second := r.DeliverIn(t, "GB", "c@example.com")
	leadkit.PlaceHold(t, after.Erasures, second, true)
	for _, lead := range []uuid.UUID{held, person} {
		if got := erase(after, lead); got != "conflict legal_hold" {
			t.Errorf("during the reseal: got %s", got)
		}
	}
	rotation := leads.KeyRotation{
		Leads: r.Leads, Wrappers: r.Wrappers, Clock: r.Time, OnProgress: func(leads.RotationProgress) {},
	}
	if done, err := rotation.Reseal(t.Context(), rotated); err != nil || done.Leads != 4 {
		t.Fatalf("reseal: got %+v, %v", done, err)
	}
	only := with(testkit.PlatformKeys(t, 2))
	for _, lead := range []uuid.UUID{held, person, second} {
		for _, s := range []privacy.Services{after, only} {
			if got := erase(s, lead); got != "conflict legal_hold" {
				t.Errorf("after the reseal: got %s", got)
			}
		}
	}
	if got := erase(only, other); got != "<nil>" {
		t.Errorf("another person: got %s", got)
	}
}
