package leads_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/base/id"
)

// Failing reports an error after three failed groups without a stored one in between, and again after each
// failed group until one is stored. Retries of stored leads and data that Postgres rejects do not count.
func TestFailing(t *testing.T) {
	t.Parallel()
	p := platform(t)
	expect := func(when string, failing bool) {
		t.Helper()
		if err := p.Leads.Failing(); (err != nil) != failing {
			t.Errorf("%s: got %v, want failing %t", when, err, failing)
		}
	}
	fail := func() {
		t.Helper()
		d := delivery(p, p.Required)
		d.Lead.ID = id.New(p.Time.Now().AddDate(1, 0, 0)) // a time without partitions
		if _, _, err := p.Leads.Deliver(t.Context(), d); err == nil {
			t.Fatal("a lead without a partition was stored")
		}
	}
	fail()
	fail()
	expect("after two failures", false)
	first := delivery(p, p.Required)
	if _, stored, err := p.Leads.Deliver(t.Context(), first); err != nil || !stored {
		t.Fatal(stored, err)
	}
	fail()
	fail()
	if _, stored, err := p.Leads.Deliver(t.Context(), first); err != nil || stored {
		t.Fatal(stored, err) // a retry, which needs no disk space
	}
	for range 3 {
		d := delivery(p, p.Required)
		d.Lead.Currency = "GBPS"
		if _, _, err := p.Leads.Deliver(t.Context(), d); err == nil {
			t.Fatal("a lead with an invalid currency was stored")
		}
	}
	expect("after two failures, a retry and three invalid leads", false)
	fail()
	expect("after three failures", true)
	p.Leads.Recovered()
	expect("after Recovered", false)
	fail()
	expect("after another failure", true)
	p.Leads.Recovered()
	if _, stored, err := p.Leads.Deliver(t.Context(), delivery(p, p.Required)); err != nil || !stored {
		t.Fatal(stored, err)
	}
	p.Leads.Recovered()
	fail()
	fail()
	expect("after a stored lead and two failures", false)
}
