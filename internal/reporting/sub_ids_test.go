package reporting_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/reporting"
)

// subIDLead stores a lead without its other rows.
func (f *traffic) subIDLead(t *testing.T, at time.Time, partner uuid.UUID, sandbox bool, subID, currency string, minor int64) uuid.UUID {
	t.Helper()
	lead := id.New(at)
	f.Exec(t, `INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, hmac_verified, sandbox, price_minor, currency, industry, term_id,
			urgency, card_version, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode, phone_flagged, sub_id, ciphertext)
		VALUES ($1, $1, '', $2, $3, false, $4, $5, $6, 'plumber', 1, '', 1, 'GB', '', $7, $7, 'GB', '', false, $8, '')`,
		lead, partner, f.account, sandbox, minor, currency, at, subID)
	return lead
}

func (f *traffic) returned(t *testing.T, lead uuid.UUID, state string) {
	t.Helper()
	f.Exec(t, `INSERT INTO returns (id, lead_id, partner_id, account_id, amount_minor, currency, reason, evidence, state, requested_by, requested_at, decided_at)
		SELECT $2, id, partner_id, account_id, price_minor, currency, 'fraud', '', $3::text, 'dmitri', now(), CASE WHEN $3 <> 'open' THEN now() END FROM leads WHERE id = $1`,
		lead, uuid.New(), state)
}

func TestSubIDs(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	f.subIDLead(t, now, f.mine, false, "mail", "GBP", 4560)
	f.returned(t, f.subIDLead(t, now, f.mine, false, "mail", "GBP", 1000), "accepted")
	f.returned(t, f.subIDLead(t, now, f.mine, false, "mail", "GBP", 440), "open")
	f.subIDLead(t, now, f.mine, false, "mail", "EUR", 200)
	f.subIDLead(t, now, f.mine, false, "banner", "GBP", 300)
	f.subIDLead(t, now, f.mine, false, "", "GBP", 7)                       // no subId
	f.subIDLead(t, now, f.mine, true, "mail", "GBP", 7)                    // sandbox
	f.subIDLead(t, now, f.theirs, false, "mail", "GBP", 7)                 // of another partner
	f.subIDLead(t, now.Add(-3*time.Hour), f.mine, false, "mail", "GBP", 7) // before the range
	f.subIDLead(t, now.Add(time.Second), f.mine, false, "mail", "GBP", 7)  // after the range
	pounds := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: money.GBP} }
	want := reporting.SubIDReport{Rows: []reporting.SubIDFigures{
		{SubID: "mail", Leads: 3, Payout: pounds(6000), Returns: 1, Returned: pounds(1000)},
		{SubID: "banner", Leads: 1, Payout: pounds(300), Returned: pounds(0)},
		{SubID: "mail", Leads: 1, Payout: money.Amount{Minor: 200, Currency: money.EUR}, Returned: money.Amount{Currency: money.EUR}},
	}}
	r := reporting.LastSteps(now.Add(time.Millisecond), time.Hour, 3)
	for name, c := range map[string]struct {
		scope scope.Scope
		want  reporting.SubIDReport
	}{
		"in scope":     {scope.Partners(f.theirs, f.mine), want},
		"out of scope": {scope.Partners(f.theirs), reporting.SubIDReport{}},
	} {
		got, err := reporting.NewReader(f.DB).SubIDs(t.Context(), c.scope, f.mine, r)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: (-want +got):\n%s (error %v)", name, diff, err)
		}
	}
}

// A partner can send any number of subIds. The report has a limited number of rows.
func TestSubIDsAreLimited(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	for i := range reporting.MaxSubIDs + 1 {
		f.subIDLead(t, now, f.mine, false, fmt.Sprintf("sub-%02d", i), "GBP", 100)
	}
	got, err := reporting.NewReader(f.DB).SubIDs(t.Context(), scope.System, f.mine, reporting.LastSteps(now.Add(time.Millisecond), time.Hour, 3))
	if err != nil || len(got.Rows) != reporting.MaxSubIDs || !got.More || got.TooMany {
		t.Errorf("got %d rows, more %t, too many %t, error %v", len(got.Rows), got.More, got.TooMany, err)
	}
}

// The query reads the index alone. Rows of leads are large, and most partners have no leads with a subId.
func TestSubIDsReadOnlyTheIndex(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, openTraffic(t).AppURL)
	if _, err := conn.Exec(t.Context(), `SET enable_seqscan = off; SET enable_bitmapscan = off`); err != nil {
		t.Fatal(err)
	}
	from := testkit.StartTime().Add(-time.Hour)
	first, end := quote.IDRange(from, testkit.StartTime())
	var plan string
	err := conn.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+reporting.SubIDsSQL, postgres.PlanEachTime, uuid.New(), from, testkit.StartTime(), first, end).Scan(&plan)
	if err != nil || !strings.Contains(plan, `"Node Type": "Index Only Scan"`) || !strings.Contains(plan, "leads_20260101_partner_id_sub_id_") {
		t.Errorf("got %v and this plan:\n%s", err, plan)
	}
}
