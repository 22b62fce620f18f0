package leads_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
)

func TestDeleteExpiredBodies(t *testing.T) {
	t.Parallel()
	p := platform(t)
	for range 2 {
		if _, _, err := p.Leads.Deliver(t.Context(), delivery(p, p.Required)); err != nil {
			t.Fatal(err)
		}
		p.Time.Advance(time.Hour)
	}
	p.Time.Set(testkit.StartTime().Add(leads.KeepBodyDigest))
	for _, c := range []struct {
		later time.Duration
		want  int64
	}{{0, 0}, {time.Millisecond, 1}, {0, 0}, {2 * time.Hour, 1}} {
		p.Time.Advance(c.later)
		if n, err := p.Leads.DeleteExpiredBodies(t.Context(), p.Time.Now()); err != nil || n != c.want {
			t.Errorf("%s later: got %d and error %v, want %d", c.later, n, err, c.want)
		}
	}
	if left := testkit.Value[int64](t, p.DB, `SELECT count(*) FROM lead_keys WHERE body_digest IS NOT NULL`); left != 0 {
		t.Errorf("got %d digests, want 0", left)
	}
	if all := testkit.Value[int64](t, p.DB, `SELECT count(*) FROM leads WHERE ciphertext IS NOT NULL`); all != 2 {
		t.Errorf("got %d leads, want 2", all)
	}
}

func TestDeleteSandboxKeepsOtherLeads(t *testing.T) {
	t.Parallel()
	p := platform(t)
	sandbox := delivery(p, p.Required)
	sandbox.Lead.AccountID, sandbox.Lead.Sandbox = p.Required.Accounts[1].ID, true
	for _, d := range []*leads.Delivery{sandbox, delivery(p, p.Required)} {
		if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	start := testkit.StartTime()
	for _, c := range []struct {
		before time.Time
		want   int64
	}{{start, 0}, {start.Add(time.Millisecond), 1}, {start.Add(time.Hour), 0}} {
		if n, err := p.Leads.DeleteSandbox(t.Context(), c.before); err != nil || n != c.want {
			t.Errorf("before %s: got %d and error %v, want %d", c.before, n, err, c.want)
		}
	}
	if got := stored(t, p); got != "1/1/1/1" {
		t.Errorf("stored %s rows, want 1/1/1/1", got)
	}
}
