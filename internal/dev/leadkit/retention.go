package leadkit

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
)

// ByCountry contains periods in days by the code of the country.
type ByCountry = map[string]int

// Periods returns retention periods, in days. Some countries can have periods of their own.
func Periods(contact, consent int, contactBy, consentBy ByCountry) retention.Periods {
	return retention.Periods{
		Contact: retention.Days{Default: contact, ByCountry: contactBy}, Consent: retention.Days{
			Default: consent, ByCountry: consentBy,
		},
	}
}

// Retaining returns the services with the given periods, as a node has them.
func (k Kit) Retaining(periods retention.Periods) privacy.Services {
	return k.RetainingBy(testkit.NewQueue(k.DB.DB, k.Time), periods)
}

// RetainingBy is like Retaining, with the node's queue.
func (k Kit) RetainingBy(queue *jobs.Queue, periods retention.Periods) privacy.Services {
	return NewServices(k.DB.DB, k.Wrappers, k.Keys, k.Journal, k.Time,
		Settings{RevealsPerDay: RevealsPerDay, Retention: periods, Jobs: queue})
}

// PassDays advances the clock.
func (k Kit) PassDays(t *testing.T, n int) {
	t.Helper()
	for ; n > 0; n -= 20 { // partitions are created from the day before until 28 days after
		k.Time.Advance(time.Duration(min(n, 20)) * 24 * time.Hour)
		if err := k.DB.EnsurePartitions(t.Context(), k.Time.Now(), postgres.Monthly); err != nil {
			t.Fatal(err)
		}
	}
}

// DeliverIn delivers a lead from a country.
func (k Kit) DeliverIn(t *testing.T, country, email string) uuid.UUID {
	t.Helper()
	in, transaction := k.Quote(t, country)
	post := fmt.Appendf(nil, `{"transactionId":%q,"partnerId":%q,"contact":{"email":%q},"consent":{"acknowledged":true,"disclosureText":"I agree"}}`,
		transaction, k.Required.Accounts[0].Identifier, email)
	lead, err := k.Send(t, in, k.Required, post)
	if err != nil {
		t.Fatal(err)
	}
	return lead.LeadID
}

// Stored returns which data of a lead is stored: "contact consent", "consent" or "".
func (k Kit) Stored(t *testing.T, lead uuid.UUID) string {
	t.Helper()
	return testkit.Value[string](t, k.DB, `SELECT concat_ws(' ', CASE WHEN k.lead_id IS NOT NULL AND l.ciphertext IS NOT NULL THEN 'contact' END,
			CASE WHEN c.disclosure_digest IS NOT NULL THEN 'consent' END)
		FROM leads l JOIN consents c ON c.lead_id = l.id LEFT JOIN lead_keys k ON k.lead_id = l.id WHERE l.id = $1`, lead)
}

// Expect fails the test unless this data of the leads is stored (see Stored) and the journal is correct.
func (k Kit) Expect(t *testing.T, when string, want map[uuid.UUID]string) {
	t.Helper()
	for lead, data := range want {
		if got := k.Stored(t, lead); got != data {
			t.Errorf("%s: lead %s: got %q, want %q", when, lead, got, data)
		}
	}
	if _, err := k.Erasures.Verify(t.Context()); err != nil {
		t.Errorf("%s: verify: %v", when, err)
	}
	if incomplete, err := k.Leads.Incomplete(t.Context(), testkit.StartTime().Add(-time.Hour),
		k.Time.Now().Add(time.Hour)); err != nil || len(incomplete) != 0 {
		t.Errorf("%s: got incomplete leads %v, %v", when, incomplete, err)
	}
}

// Counts contains the number of leads whose data a run erased, by category and country.
type Counts = map[models.RetentionCategory]map[string]int64

// RunRetention carries out a run, and fails the test unless the run erases the wanted numbers of leads.
func RunRetention(t *testing.T, s *retention.Service, want Counts) {
	t.Helper()
	got, err := s.Run(t.Context())
	if err != nil || got.EndedAt == nil || fmt.Sprint(got.Erased) != fmt.Sprint(want) {
		t.Errorf("run: got %v, %v, want %v", got.Erased, err, want)
	}
}

// AddCopies adds copies of a lead, one for each minute after its receipt. Every third copy is from Germany.
func (k Kit) AddCopies(t *testing.T, lead uuid.UUID, n int) {
	t.Helper()
	k.DB.Exec(t, `WITH c AS (SELECT first_id($2::timestamptz + i * interval '1 minute') AS id, $2 + i * interval '1 minute' AS at,
				CASE WHEN i % 3 = 0 THEN 'DE' ELSE 'GB' END AS country FROM generate_series(1, $3::int) i),
			k AS (INSERT INTO lead_keys SELECT r.* FROM c, lead_keys o, jsonb_populate_record(o, jsonb_build_object('lead_id', c.id)) r WHERE o.lead_id = $1),
			s AS (INSERT INTO consents SELECT r.* FROM c, consents o, jsonb_populate_record(o, jsonb_build_object('lead_id', c.id, 'received_at', c.at)) r WHERE o.lead_id = $1)
		INSERT INTO leads SELECT r.* FROM c, leads o, jsonb_populate_record(o, jsonb_build_object('id', c.id, 'received_at', c.at, 'country', c.country)) r WHERE o.id = $1`,
		lead, testkit.StartTime(), n)
}
