package privacy_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/privacy"
	"github.com/pingpost/pingpost/models"
)

// Leads are erased with a journal in a bucket. If the bucket cannot be used, or has other entries, no
// personal data can be read, and the user does not wait long.
func TestJournalInBucket(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := testkit.NewBucket(t)
	network := testkit.NewNetwork(t, b.Address)
	b.Options.Endpoint = "http://" + network.Address()
	j, err := journal.Open(b.Options)
	if err != nil {
		t.Fatal(err)
	}
	s := newService(r.DB, r.Platform, j).By(r.user)
	erased, lead, denied := r.deliver(t, contact), r.deliver(t, contact), r.deliver(t, contact)
	if receipt, err := s.Erase(t.Context(), scope.System, privacy.Erasure{Lead: erased, Reason: models.EraseForLegal}); err != nil || receipt.ErasedAt.IsZero() {
		t.Fatalf("got %+v, %v", receipt, err)
	}
	const usable, latency = "<nil>", 2 * time.Minute
	reveal := func(want string) {
		t.Helper()
		start := time.Now()
		_, err := s.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForReturn})
		if rejection(err) != want {
			t.Errorf("got %s, want %s", rejection(err), want)
		}
		if took := time.Since(start); took > latency/2 {
			t.Errorf("the user waited %s", took)
		}
	}
	reveal(usable)

	network.Down()
	reveal("unavailable journal_unavailable")
	network.Up(t)
	remove := network.AddFault(t, "latency", fmt.Sprintf(`{"latency":%d}`, latency.Milliseconds()))
	reveal("unavailable journal_unavailable")
	remove()
	b.Allow(t)
	reveal("unavailable journal_unavailable")

	b.Allow(t, "s3:GetObject", "s3:ListBucket") // the journal can be read, but not written
	reveal(usable)
	if err := s.CheckJournalWrite(t.Context()); rejection(err) != "unavailable journal_read_only" {
		t.Errorf("check without permission to write: got %s", rejection(err))
	}
	if _, err := s.Erase(t.Context(), scope.System, privacy.Erasure{Lead: denied, Reason: models.EraseForLegal}); rejection(err) != "unavailable erasure_pending" {
		t.Errorf("erase without permission to write: got %s", rejection(err))
	}
	b.Allow(t, "s3:GetObject", "s3:ListBucket", "s3:PutObject")
	if err := errors.Join(s.CheckJournalWrite(t.Context()), s.FinishErasures(t.Context())); err != nil {
		t.Error(err)
	}
	if v, err := s.VerifyErasures(t.Context()); err != nil || v.Entries != 2 {
		t.Errorf("verify: got %+v, %v", v, err)
	}
	reveal(usable)

	b.Put(t, "000000000003.json", []byte(`{}`))
	reveal("unavailable journal_differs")
	b.Remove(t, "000000000003.json")
	reveal(usable)
	b.Remove(t, "000000000002.json")
	reveal("unavailable journal_differs")
	b.Put(t, "000000000002.json", []byte(`{"platform":`))
	reveal("unavailable journal_differs")
}
