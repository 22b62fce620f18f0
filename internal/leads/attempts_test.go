package leads_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
)

// attempt is one post for a transaction, and its result. Its name is in its consent and event.
type attempt struct {
	*leads.Delivery
	name    string
	receipt leads.Receipt
	stored  bool
	err     error
}

// attemptPairs are the ways in which two posts for one transaction can differ.
var attemptPairs = map[string]func(*testkit.Platform) [2]*attempt{
	"equal bodies":     func(p *testkit.Platform) [2]*attempt { return newAttempts(p, p.Required, "a body") },
	"different bodies": func(p *testkit.Platform) [2]*attempt { return newAttempts(p, p.Required, "another body") },
	"two partners":     func(p *testkit.Platform) [2]*attempt { return newAttempts(p, p.ReportOnly, "a body") },
}

// newAttempts returns two attempts for a new transaction. The parameters partner and body are those of the second
// attempt.
func newAttempts(p *testkit.Platform, partner testkit.Partner, body string) [2]*attempt {
	first, second := &attempt{Delivery: delivery(p, p.Required), name: "first"}, &attempt{
		Delivery: delivery(p, partner), name: "second",
	}
	first.Key.BodyDigest, second.Key.BodyDigest = []byte("a body"), []byte(body)
	transaction := id.New(p.Time.Now())
	for _, a := range []*attempt{first, second} {
		onTransaction(a.Delivery, transaction)
		a.Consent.DisclosureText = &a.name
		a.Event.Detail = fmt.Sprintf(`{"attempt": %q}`, a.name)
	}
	return [2]*attempt{first, second}
}

// onTransaction changes the transaction of a delivery.
func onTransaction(d *leads.Delivery, transaction uuid.UUID) { d.Lead.ID = transaction }

// returned returns bytes that the database's response contains if it stored the attempt.
func (a *attempt) returned() string { return string(a.Lead.AttemptID[:]) }

func (a *attempt) deliver(t *testing.T, store *leads.Store) {
	a.receipt, a.stored, a.err = store.Deliver(t.Context(), a.Delivery)
}

// expectOneStored checks that one of the attempts was stored, with all of its rows and no row of
// the other, and that both attempts got its receipt.
func expectOneStored(t *testing.T, p *testkit.Platform, attempts [2]*attempt) {
	t.Helper()
	var winner *attempt
	for _, a := range attempts {
		if a.err != nil {
			t.Fatalf("%s attempt: %v", a.name, a.err)
		}
		if a.stored && winner != nil {
			t.Fatal("both attempts were stored")
		}
		if a.stored {
			winner = a
		}
	}
	if winner == nil {
		t.Fatal("no attempt was stored")
	}
	expectStored(t, p, winner)
	for _, a := range attempts {
		if a.receipt.PartnerID != winner.Lead.PartnerID || string(a.receipt.BodyDigest) != string(winner.Key.BodyDigest) ||
			a.receipt.LeadID != winner.receipt.LeadID {
			t.Errorf("the %s attempt got receipt %+v, want the receipt of the %s attempt", a.name, a.receipt, winner.name)
		}
	}
}

// expectStored checks that the rows of the attempt's transaction are exactly those of the attempt.
func expectStored(t *testing.T, p *testkit.Platform, a *attempt) {
	t.Helper()
	got := testkit.Value[string](t, p.DB, `SELECT coalesce(string_agg(concat_ws(' ', l.partner_id, convert_from(k.body_digest, 'UTF8'),
			c.partner_id, d.text, e.detail ->> 'attempt', m.partner_id, m.account_id), '; '), '')
		FROM leads l LEFT JOIN lead_keys k ON k.lead_id = l.id LEFT JOIN consents c ON c.lead_id = l.id LEFT JOIN lead_events e ON e.lead_id = l.id
			LEFT JOIN ledger_entries m ON m.lead_id = l.id LEFT JOIN disclosures d ON d.digest = c.disclosure_digest
		WHERE l.id = $1`, a.Lead.ID)
	want := fmt.Sprintf("%[1]s %[2]s %[1]s %[3]s %[3]s %[1]s %[4]s", a.Lead.PartnerID, a.Key.BodyDigest, a.name,
		a.Lead.AccountID)
	if got != want {
		t.Errorf("got rows %q, want %q", got, want)
	}
}

// forEachPair runs test for each pair of attempts, with a database behind a proxy.
func forEachPair(t *testing.T, test func(*testing.T, *testkit.Platform, *testkit.Proxy, [2]*attempt)) {
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatformOn(t, db)
	for name, pair := range attemptPairs {
		t.Run(name, func(t *testing.T) { test(t, p, proxy, pair(p)) })
	}
}

func TestAttemptsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, _ *testkit.Proxy, attempts [2]*attempt) {
		for _, a := range attempts {
			a.deliver(t, p.Leads)
		}
		expectOneStored(t, p, attempts)
		if !attempts[0].stored {
			t.Error("the second attempt was stored")
		}
	})
}

func TestAttemptsInOneGroup(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, _ *testkit.Proxy, attempts [2]*attempt) {
		deliverTogether(t, p.Leads, attempts)
		expectOneStored(t, p, attempts)
	})
}

func deliverTogether(t *testing.T, store *leads.Store, attempts [2]*attempt) {
	t.Helper()
	for i, r := range store.DeliverTogether(t.Context(), attempts[0].Delivery, attempts[1].Delivery) {
		attempts[i].receipt, attempts[i].stored, attempts[i].err = r.Receipt, r.Stored, r.Err
	}
}

// The second node waits until the first node commits.
func TestAttemptsOnTwoNodes(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, _ *testkit.Proxy, attempts [2]*attempt) {
		nodes := []*leads.Store{p.Leads, leads.NewStore(testkit.Open(t, p.DB.AppURL).Pool)}
		release := lock(t, p, "consents")
		ended := make(chan struct{})
		for i, a := range attempts {
			go func() {
				a.deliver(t, nodes[i])
				ended <- struct{}{}
			}()
			waitForStoring(t, p, i+1)
		}
		release()
		for range attempts {
			<-ended
		}
		expectOneStored(t, p, attempts)
	})
}

func TestAttemptAfterLostCommit(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, proxy *testkit.Proxy, attempts [2]*attempt) {
		proxy.DropResponse(attempts[0].returned(), nil)
		for _, a := range attempts {
			a.deliver(t, p.Leads)
		}
		expectOneStored(t, p, attempts)
		if !attempts[0].stored {
			t.Error("the read-back did not recognise the first attempt")
		}
	})
}

func TestAttemptsInGroupWithLostCommit(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, proxy *testkit.Proxy, attempts [2]*attempt) {
		proxy.DropResponse(attempts[0].returned(), nil)
		deliverTogether(t, p.Leads, attempts)
		expectOneStored(t, p, attempts)
	})
}

// The second attempt's response is lost, but the lead is the first attempt's.
func TestLostAnswerToSecondAttempt(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, proxy *testkit.Proxy, attempts [2]*attempt) {
		attempts[0].deliver(t, p.Leads)
		proxy.DropResponse("SELECT 0\x00", nil)
		attempts[1].deliver(t, p.Leads)
		expectOneStored(t, p, attempts)
	})
}

// The first attempt's outcome is unknown, because the read-back fails, too.
func TestAttemptAfterUnknownOutcome(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, proxy *testkit.Proxy, attempts [2]*attempt) {
		first, second := attempts[0], attempts[1]
		proxy.DropResponse(first.returned(), proxy.Down)
		first.deliver(t, p.Leads)
		expectDatabaseError(t, first.err)
		proxy.Up()
		second.deliver(t, p.Leads)
		if second.err != nil || second.stored || second.receipt.PartnerID != first.Lead.PartnerID ||
			string(second.receipt.BodyDigest) != string(first.Key.BodyDigest) {
			t.Errorf("the second attempt got %+v, stored %v and error %v, want the first attempt's receipt",
				second.receipt, second.stored, second.err)
		}
		expectStored(t, p, first)
	})
}

// The first attempt is aborted before its commit, so the second attempt stores the lead.
func TestAttemptAfterAbort(t *testing.T) {
	t.Parallel()
	forEachPair(t, func(t *testing.T, p *testkit.Platform, _ *testkit.Proxy, attempts [2]*attempt) {
		first, second := attempts[0], attempts[1]
		release := lock(t, p, "consents")
		ended := make(chan struct{})
		go func() {
			first.deliver(t, p.Leads)
			close(ended)
		}()
		waitForStoring(t, p, 1)
		p.DB.Exec(t, `SELECT pg_terminate_backend(pid) `+storing)
		<-ended
		expectDatabaseError(t, first.err)
		release()
		second.deliver(t, p.Leads)
		if second.err != nil || !second.stored {
			t.Errorf("the second attempt: got stored %v and error %v", second.stored, second.err)
		}
		expectStored(t, p, second)
	})
}
