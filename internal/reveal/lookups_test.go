package reveal_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

// The limit on searches by email address or phone number applies per user and day (UTC), even to simultaneous searches.
func TestLookupsPerDay(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	r.Deliver(t, leadkit.Contact)
	const limit = 5
	s := leadkit.NewServices(r.DB.DB, r.Wrappers, r.Keys, r.Journal, r.Time, leadkit.Settings{LookupsPerDay: limit})
	ann := leads.Person{Email: "ann.example@example.com"}
	find := func(s privacy.Services) error { _, err := s.Reveals.FindPerson(ctx, ann); return err }
	create := func(s privacy.Services) error {
		_, err := s.Requests.Create(ctx, requests.NewRequest{Kind: models.RequestAccess, ReceivedOn: r.Day(0), Person: ann})
		return err
	}
	var all sync.WaitGroup
	results := make([]string, 4*limit)
	for i := range results {
		all.Go(func() {
			results[i] = leadkit.Rejection([]func(privacy.Services) error{find, create}[i%2](s.By(r.User)))
		})
	}
	all.Wait()
	slices.Sort(results)
	if done, _ := slices.BinarySearch(results, "too_many lookups_per_day"); done != limit ||
		results[len(results)-1] != results[done] {
		t.Errorf("got %v", results)
	}
	if w, rejected := r.AuditEvents(t, "lead.find_warning", "done"), r.AuditEvents(t, "lead.find", "rejected"); w != 1 ||
		rejected == 0 {
		t.Errorf("got %d warnings and %d rejections, want 1 and at least one", w, rejected)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT (after->>'lookups')::int FROM audit_events WHERE action = 'lead.find_warning'`); n != 4 {
		t.Errorf("the warning was recorded at %d searches, want 4 of 5", n)
	}
	gus := s.By(testkit.Actor(t, r.DB, "gus@example.com"))
	both := leads.Person{Email: ann.Email, Phone: "+442079460018"} // counts twice
	for range 2 {
		if _, err := gus.Reveals.FindPerson(ctx, both); err != nil {
			t.Errorf("another user: %v", err)
		}
	}
	if _, err := gus.Reveals.FindPerson(ctx, both); leadkit.Rejection(err) != "too_many lookups_per_day" {
		t.Errorf("another user: got %v", err)
	}
	if _, err := gus.Reveals.FindPerson(ctx, leads.Person{Email: "ann"}); leadkit.Rejection(err) != "invalid email" {
		t.Errorf("an invalid address: got %v", err)
	}
	if err := find(gus); err != nil { // the invalid one did not count
		t.Errorf("another user: %v", err)
	}
	r.Time.Set(r.Time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour))
	if err := find(s.By(r.User)); err != nil {
		t.Errorf("on the next day: %v", err)
	}
}
