package leads_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/id"
)

// Failing reports an error after three failed groups without a stored one in between. Data that Postgres
// rejects does not count, because the next post can be stored.
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
	if _, stored, err := p.Leads.Deliver(t.Context(), delivery(p, p.Required)); err != nil || !stored {
		t.Fatal(stored, err)
	}
	fail()
	fail()
	for range 3 {
		d := delivery(p, p.Required)
		d.Lead.Currency = "GBPS"
		if _, _, err := p.Leads.Deliver(t.Context(), d); err == nil {
			t.Fatal("a lead with an invalid currency was stored")
		}
	}
	expect("after two failures and three invalid leads", false)
	fail()
	expect("after three failures", true)
	p.Leads.Recovered()
	expect("after Recovered", false)
}
