package privacy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/privacy"
	"github.com/pingpost/pingpost/models"
)

func place(t *testing.T, s *privacy.Service, lead uuid.UUID, person bool) models.LegalHold {
	t.Helper()
	h, err := s.PlaceHold(t.Context(), scope.System, privacy.NewHold{Lead: lead, Person: person, Reason: " case 7 "})
	if err != nil || h.Reason != "case 7" || h.Person != person {
		t.Fatalf("got %+v, %v", h, err)
	}
	return h
}

func TestLegalHoldOnLead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(10, 20, nil, nil)).By(r.user)
	run(t, s, nil)
	held, other := r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "GB", "a@example.com")
	first := place(t, s, held, false)
	r.Time.Advance(time.Second)
	second := place(t, s, held, false)
	if _, err := r.erase(t, held); rejection(err) != "conflict legal_hold" {
		t.Errorf("erase: got %s", rejection(err))
	}
	r.days(t, 11)
	run(t, s, counts{contactData: {"GB": 1}})
	r.expect(t, "held", map[uuid.UUID]string{held: "contact consent", other: "consent"})
	r.days(t, 10)
	place(t, s, other, false) // the details of the consent can still be held
	run(t, s, nil)
	r.expect(t, "consent held", map[uuid.UUID]string{held: "contact consent", other: "consent"})
	if all, err := s.HoldsOf(t.Context(), held); err != nil || len(all) != 2 || all[0].ID != first.ID || all[0].PlacedBy != "fay@example.com" {
		t.Errorf("got %+v, %v", all, err)
	}
	for i, h := range []models.LegalHold{first, second} {
		if err := s.ReleaseHold(t.Context(), scope.System, h.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.ReleaseHold(t.Context(), scope.System, h.ID); rejection(err) != "not_found hold" {
			t.Errorf("second release: got %s", rejection(err))
		}
		want := map[string]string{"0": "contact consent", "1": ""}[fmt.Sprint(i)]
		erased := map[int]counts{0: nil, 1: {contactData: {"GB": 1}}}[i]
		run(t, s, erased)
		r.expect(t, "released", map[uuid.UUID]string{held: want})
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM retention_deferred`); n != 1 {
		t.Errorf("got %d deferred leads, want only the consent that is still held", n)
	}
	for action, want := range map[string]int{"hold.place": 3, "hold.release": 2} {
		if n := r.auditEvents(t, action, "done"); n != want {
			t.Errorf("got %d events %s, want %d", n, action, want)
		}
	}
	if page, newer, older, err := s.Holds(t.Context(), scope.System, uuid.Nil, uuid.Nil, 2); err != nil || len(page) != 2 || newer || !older || page[1].ID != second.ID || page[1].ReleasedBy != "fay@example.com" {
		t.Errorf("got %+v, %t, %t, %v", page, newer, older, err)
	}
}

func TestLegalHoldOnPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(10, 10, nil, nil)).By(r.user)
	run(t, s, nil)
	earlier, held := r.deliverIn(t, "DE", "A@Example.com"), r.deliverIn(t, "GB", "a@example.com")
	h := place(t, s, held, true)
	later, other := r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "GB", "b@example.com")
	for _, lead := range []uuid.UUID{earlier, held, later} {
		if _, err := r.erase(t, lead); rejection(err) != "conflict legal_hold" {
			t.Errorf("erase: got %s", rejection(err))
		}
		if all, err := s.HoldsOf(t.Context(), lead); err != nil || len(all) != 1 {
			t.Errorf("got %+v, %v", all, err)
		}
	}
	if found := rowsWith(t, r.DB, "a@example.com"); found != nil {
		t.Errorf("the address is stored in %v", found)
	}
	r.days(t, 11)
	run(t, s, counts{contactData: {"GB": 1}})
	r.expect(t, "held", map[uuid.UUID]string{earlier: "contact consent", held: "contact consent", later: "contact consent", other: ""})
	if err := s.ReleaseHold(t.Context(), scope.System, h.ID); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT sum(cardinality(email_digests) + cardinality(phone_digests)) FROM legal_holds`); n != 0 {
		t.Errorf("got %d digests after the release, want 0", n)
	}
	run(t, s, counts{contactData: {"GB": 2, "DE": 1}})
	r.expect(t, "released", map[uuid.UUID]string{earlier: "", held: "", later: ""})
}

func TestPlaceHoldRejects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, erased := r.deliver(t, contact), r.deliver(t, contact)
	if _, err := r.erase(t, erased); err != nil {
		t.Fatal(err)
	}
	s := r.retaining(privacy.Retention{}).By(r.user)
	own := scope.Partners(r.Required.ID)
	for name, tt := range map[string]struct {
		scope scope.Scope
		hold  privacy.NewHold
		want  string
	}{
		"no such lead":      {scope.System, privacy.NewHold{Lead: uuid.New(), Reason: "x"}, "not_found lead"},
		"other partner":     {scope.Partners(uuid.New()), privacy.NewHold{Lead: lead, Reason: "x"}, "not_found lead"},
		"person, one scope": {own, privacy.NewHold{Lead: lead, Person: true, Reason: "x"}, "forbidden hold_scope"},
		"no reason":         {scope.System, privacy.NewHold{Lead: lead, Reason: " "}, "invalid reason"},
		"long reason":       {scope.System, privacy.NewHold{Lead: lead, Reason: strings.Repeat("x", 201)}, "invalid reason"},
		"control character": {scope.System, privacy.NewHold{Lead: lead, Reason: "a\x00"}, "invalid reason"},
		"erased":            {scope.System, privacy.NewHold{Lead: erased, Reason: "x"}, "conflict erased"},
		"erased person":     {scope.System, privacy.NewHold{Lead: erased, Person: true, Reason: "x"}, "conflict erased"},
	} {
		if _, err := s.PlaceHold(t.Context(), tt.scope, tt.hold); rejection(err) != tt.want {
			t.Errorf("%s: got %s, want %s", name, rejection(err), tt.want)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM legal_holds`); n != 0 {
		t.Errorf("got %d holds, want 0", n)
	}
	h := place(t, s, lead, true)
	if err := s.ReleaseHold(t.Context(), own, h.ID); rejection(err) != "forbidden hold_scope" {
		t.Errorf("release: got %s", rejection(err))
	}
	if err := s.ReleaseHold(t.Context(), scope.Partners(uuid.New()), h.ID); rejection(err) != "not_found hold" {
		t.Errorf("release: got %s", rejection(err))
	}
}

// A hold and an erasure at the same time exclude each other.
func TestConcurrentHoldAndErasure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var wg sync.WaitGroup
	for i := range 6 {
		lead := r.deliverIn(t, "GB", fmt.Sprintf("person%d@example.com", i))
		s := r.retaining(privacy.Retention{}).By(r.user)
		var held, erased error
		wg.Go(func() {
			_, held = s.PlaceHold(context.Background(), scope.System, privacy.NewHold{Lead: lead, Person: i%2 == 0, Reason: "case 7"})
		})
		wg.Go(func() {
			_, erased = s.Erase(context.Background(), scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForLegal})
		})
		wg.Wait()
		if (held == nil) == (erased == nil) || held != nil && !errors.Is(held, leads.ErrErased) || erased != nil && rejection(erased) != "conflict legal_hold" {
			t.Errorf("hold: %v, erasure: %v", held, erased)
		}
		if want := map[bool]string{true: "contact consent", false: ""}[held == nil]; r.stored(t, lead) != want {
			t.Errorf("got %q, want %q", r.stored(t, lead), want)
		}
	}
}

// With new platform keys, nothing is erased until the digests of the holds have been computed again.
func TestLegalHoldsSurvivePlatformKeyRotation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.retaining(privacy.Retention{}).By(r.user)
	held, person, other := r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "GB", "b@example.com")
	place(t, before, held, true)

	with := func(keys *keyring.Keys) *privacy.Service {
		return privacy.NewService(r.DB.DB, r.Wrappers, keys, r.journal, r.Time, privacy.Settings{RevealsPerDay: perDay}).By(r.user)
	}
	rotated := testkit.PlatformKeys(t, 2, 1)
	after := with(rotated)
	erase := func(s *privacy.Service, lead uuid.UUID) string {
		t.Helper()
		_, err := s.Erase(t.Context(), scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForLegal})
		return rejection(err)
	}
	if got := erase(after, other); got != "unavailable hold_keys" {
		t.Errorf("before the reseal: got %s", got)
	}
	if n, err := after.ResealHolds(t.Context()); err != nil || n != 1 {
		t.Fatalf("got %d, %v", n, err)
	}
	if n, err := after.ResealHolds(t.Context()); err != nil || n != 0 {
		t.Errorf("again: got %d, %v", n, err)
	}
	// A hold that is placed during the rotation has the digests made with both keys.
	second := r.deliverIn(t, "GB", "c@example.com")
	place(t, after, second, true)
	for _, lead := range []uuid.UUID{held, person} {
		if got := erase(after, lead); got != "conflict legal_hold" {
			t.Errorf("during the reseal: got %s", got)
		}
	}
	rotation := leads.KeyRotation{Leads: r.Leads, Wrappers: r.Wrappers, Clock: r.Time, OnProgress: func(leads.RotationProgress) {}}
	if done, err := rotation.Reseal(t.Context(), rotated); err != nil || done.Leads != 4 {
		t.Fatalf("reseal: got %+v, %v", done, err)
	}
	only := with(testkit.PlatformKeys(t, 2))
	for _, lead := range []uuid.UUID{held, person, second} {
		for _, s := range []*privacy.Service{after, only} {
			if got := erase(s, lead); got != "conflict legal_hold" {
				t.Errorf("after the reseal: got %s", got)
			}
		}
	}
	if got := erase(only, other); got != "<nil>" {
		t.Errorf("another person: got %s", got)
	}
}
