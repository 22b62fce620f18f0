package leads_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
)

// agreed returns a delivery of a lead whose consumer agreed to a text.
func agreed(p *testkit.Platform, person, text string) *leads.Delivery {
	d := delivery(p, p.Required)
	d.Lead.EmailDigest, d.Consent.DisclosureText = []byte(person), &text
	return d
}

func deliverAll(t *testing.T, p *testkit.Platform, all ...*leads.Delivery) {
	t.Helper()
	var wg sync.WaitGroup
	for _, d := range all {
		wg.Go(func() {
			if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// disclosures describes the stored disclosure texts with the numbers of their listed uses, and checks that
// each consent has its text.
func disclosures(t *testing.T, p *testkit.Platform) string {
	t.Helper()
	if n := testkit.Value[int](t, p.DB, `SELECT count(*) FROM consents c WHERE disclosure_digest IS NOT NULL
		AND NOT EXISTS (SELECT FROM disclosures d WHERE d.digest = c.disclosure_digest)`); n != 0 {
		t.Errorf("the texts of %d consents are missing", n)
	}
	return testkit.Value[string](t, p.DB, `SELECT coalesce(string_agg(concat_ws(' ', text, standard,
		(SELECT count(*) FROM disclosure_uses u WHERE u.digest = d.digest)), ', ' ORDER BY text), '') FROM disclosures d`)
}

func TestEachDisclosureIsStoredOnce(t *testing.T) {
	t.Parallel()
	p := platform(t)
	var all []*leads.Delivery
	for i := range 40 {
		all = append(all, agreed(p, fmt.Sprint("person ", i), fmt.Sprint("text ", i%4)))
	}
	deliverAll(t, p, append(all, delivery(p, p.Required))...)
	if got, want := disclosures(t, p), "text 0 f 10, text 1 f 10, text 2 f 10, text 3 f 10"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRejectedPostStoresNoDisclosure(t *testing.T) {
	t.Parallel()
	p := platform(t)
	first := agreed(p, "person", "first")
	second := agreed(p, "person", "second")
	onTransaction(second, first.Lead.ID)
	deliverAll(t, p, first)
	deliverAll(t, p, second)
	if got := disclosures(t, p); got != "first f 1" {
		t.Errorf("got %q, want only the first text", got)
	}
}

func TestStandardDisclosures(t *testing.T) {
	t.Parallel()
	p := platform(t)
	post := func(text string, people int) {
		t.Helper()
		var all []*leads.Delivery
		for i := range people {
			all = append(all, agreed(p, fmt.Sprint("person ", i), text))
		}
		deliverAll(t, p, all...)
	}
	mark := func(want string) {
		t.Helper()
		if err := p.Leads.MarkStandardDisclosures(t.Context(), p.Time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := disclosures(t, p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for range 30 {
		deliverAll(t, p, agreed(p, "one person", "Ann agrees"))
		sandbox := agreed(p, "one person", "test")
		sandbox.Lead.AccountID, sandbox.Lead.Sandbox, sandbox.Lead.EmailDigest = p.Required.Accounts[1].ID, true, []byte(sandbox.Lead.ID.String())
		deliverAll(t, p, sandbox)
	}
	post("I agree", 19)
	mark("Ann agrees f 30, I agree f 19, test f 30")
	p.Time.Advance(7*24*time.Hour - time.Minute)
	post("I agree", 20)
	mark("Ann agrees f 30, I agree t 0, test f 30")
	post("I agree", 2)
	mark("Ann agrees f 30, I agree t 0, test f 30")

	if n, err := p.Leads.DeleteSandbox(t.Context(), p.Time.Now()); err != nil || n != 30 {
		t.Errorf("deleted %d sandbox leads (%v), want 30", n, err)
	}
	mark("Ann agrees f 30, I agree t 0")
}

// People who agreed to a text earlier do not count.
func TestSeldomDisclosureIsNotStandard(t *testing.T) {
	t.Parallel()
	p := platform(t)
	for i := range 40 {
		deliverAll(t, p, agreed(p, fmt.Sprint("person ", i), "I agree"))
		p.Time.Advance(10 * time.Hour)
	}
	if err := p.Leads.MarkStandardDisclosures(t.Context(), p.Time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := disclosures(t, p); got != "I agree f 40" {
		t.Errorf("got %q", got)
	}
}

// After an hour, a post sends only the digest of a standard text.
func TestCachedDisclosureIsNotSent(t *testing.T) {
	t.Parallel()
	p := platform(t)
	var all []*leads.Delivery
	for i := range 20 {
		all = append(all, agreed(p, fmt.Sprint("person ", i), "I agree"))
	}
	deliverAll(t, p, all...)
	text := "I agree"
	for _, cached := range []bool{false, true} {
		if err := p.Leads.MarkStandardDisclosures(t.Context(), p.Time.Now()); err != nil {
			t.Fatal(err)
		}
		if sent := p.Leads.NewText(&text, p.Time.Now()); (sent == nil) != cached {
			t.Errorf("the text is sent: %t, want %t", sent != nil, !cached)
		}
		p.Time.Advance(time.Hour + time.Second)
	}
	if p.Leads.NewText(&text, p.Time.Now()) == nil {
		t.Error("the text is not sent, although the cache has expired")
	}
	p.Time.Advance(-time.Hour)
	deliverAll(t, p, agreed(p, "person", "I agree"), agreed(p, "person", "I do not agree"))
	if got := disclosures(t, p); got != "I agree t 0, I do not agree f 1" {
		t.Errorf("got %q", got)
	}
	if n := testkit.Value[int](t, p.DB, `SELECT count(*) FROM consents WHERE disclosure_digest = sha256('I agree')`); n != 21 {
		t.Errorf("got %d consents, want 21", n)
	}
}
