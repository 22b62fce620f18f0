package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

type rejectionRow struct {
	request           uuid.UUID
	at                time.Time
	endpoint, outcome string
	fields            []string
}

// rejections returns a partner's rejections, newest first.
func (n *node) rejections(t testing.TB, p testkit.Partner) []rejectionRow {
	t.Helper()
	rows, err := n.sees.Query(t.Context(),
		`SELECT request_id, at, endpoint, outcome, fields FROM rejections WHERE partner_id = $1 ORDER BY id DESC`, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r rejectionRow, err error) {
		return r, row.Scan(&r.request, &r.at, &r.endpoint, &r.outcome, &r.fields)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The newest rejections of each partner are kept. Rejections without a partner are only counted
// (decision 24).
func TestNewestRejectionsAreKept(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var sent []uuid.UUID // of Required, the newest first
	for round := range 3 {
		for range 3 {
			n.Time.Advance(time.Second)
			r := n.signed(n.Required, n.Required.Slug, []byte(`{"contact":{"email":""},"answers":7}`))
			n.rejected(t, r, badPost)
			sent = slices.Insert(sent, 0, r.ID)
		}
		if round == 0 {
			n.rejected(t, unsigned(shared, []byte("{")), noSignature) // belongs to the platform account
			n.rejected(t, n.signed(n.Off, n.Off.Slug, []byte("{")), badJSON)
			n.rejected(t, n.signed(n.Off, shared, body("tx_1", partnerID(unknownAccount))), badSignature.as(models.OutcomeUnknownAccount)) // belongs to no partner
		}
		n.Traffic.Flush(t.Context())
	}
	kept := n.rejections(t, n.Required)
	if len(kept) != testkit.RejectionsPerPartner {
		t.Fatalf("got %d rejections, want %d", len(kept), testkit.RejectionsPerPartner)
	}
	for i, r := range kept {
		at := n.Time.Now().Add(-time.Duration(i) * time.Second)
		if r.request != sent[i] || !r.at.Equal(at) || r.endpoint != "post" || r.outcome != "payload" {
			t.Errorf("rejection %d: got %+v", i, r)
		}
		if want := []string{"transactionId", "contact.email", "consent.acknowledged", "answers"}; !slices.Equal(r.fields, want) {
			t.Errorf("got fields %v, want %v", r.fields, want)
		}
	}
	if kept := n.rejections(t, n.Off); len(kept) != 1 || kept[0].outcome != "json" || len(kept[0].fields) != 0 {
		t.Errorf("other partner: got %+v", kept)
	}
	if all := see[int64](t, n, `SELECT count(*) FROM rejections`); all != testkit.RejectionsPerPartner+2 {
		t.Errorf("got %d rejections in total", all)
	}
}

// Values from a rejected request are never stored or logged. Only the names of its invalid fields
// are stored (decision 24).
func TestRejectionsContainNoValues(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const canary = "CANARYBIRD"
	long := strings.Repeat(canary, 1000)
	bodies := []string{
		body1("email", canary), body1("email", long), body1("partnerId", canary), body1("partnerId", n.Off.Accounts[0].Identifier+canary),
		body1("transactionId", canary), body1("transactionId", "tx_"+canary), body1("notes", long), body1("postcode", long), body1("country", canary),
		body1(canary, canary), `{"` + canary + `":`, canary, `["` + canary + `"]`,
		`{"contact":{"email":"` + canary + `","name":"` + long + `","phoneE164":"` + canary + `","` + canary + `":1}}`,
		`{"location":{"country":"` + canary + `","postcode":"` + long + `","address":"` + long + `"}}`,
		`{"consent":{"acknowledged":"` + canary + `","acknowledgedAt":"` + canary + `","recipientHash":"` +
			canary + `","thirdPartyFormCertUrl":"` + canary + `"}}`,
		`{"answers":{"` + long + `":"` + canary + `"},"contact":"` + canary + `","consent":"` + canary +
			`","location":"` + canary + `"}`,
		string(body("tx_"+canary, `"name":"`+canary+`"`)),
		string(body(n.quote(t, n.Off.Slug), partnerID(n.Required.Accounts[0].Identifier), `"name":"`+canary+`"`)),
	}
	reject := func(r intake.PostRequest) {
		t.Helper()
		if _, err := n.in.Post(t.Context(), r); err == nil {
			t.Fatalf("accepted: %.80s", r.Body)
		} else if strings.Contains(err.Error(), canary) {
			t.Errorf("the error contains values: %v", err)
		}
	}
	for _, text := range bodies {
		for _, slug := range []string{shared, n.Required.Slug} {
			reject(n.signed(n.Required, slug, []byte(text)))
			reject(unsigned(slug, []byte(text)))
			if _, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: slug, Body: []byte(text)}); err == nil {
				t.Fatalf("priced: %.80s", text)
			}
		}
	}
	for _, headers := range []signing.Headers{
		{Timestamp: []string{canary}, Signature: []string{canary}},
		{Timestamp: []string{"1"}, Alias: []string{canary}},
		{Timestamp: []string{canary}},
	} {
		r := unsigned(n.Off.Slug, body("tx_1"))
		r.Headers, r.Address = headers, clientaddr.Group(canary)
		reject(r)
	}
	_, _ = n.in.Post(t.Context(), unsigned(canary, body("tx_1")))
	n.Traffic.Flush(t.Context())
	run(t, n.Recorder.Run)()

	if see[int64](t, n, `SELECT count(*) FROM rejections`) < testkit.RejectionsPerPartner {
		t.Error("no rejections were recorded, so the search below would be pointless")
	}
	for _, table := range n.tables(t) {
		if rows := see[int64](t, n, `SELECT count(*) FROM `+table+` AS row WHERE row::text ILIKE '%' || $1 || '%'`, canary); rows != 0 {
			t.Errorf("%d rows of %s contain values", rows, table)
		}
	}
	if strings.Contains(n.Log.String(), canary) {
		t.Error("the log contains values")
	}
}

func body1(name, value string) string { return fmt.Sprintf(`{%q:%q}`, name, value) }

func (n *node) tables(t testing.TB) []string {
	t.Helper()
	return see[[]string](t, n, `SELECT array_agg(tablename::text ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'`)
}

// Staff see that a partner is not active, however the post identifies the partner.
func TestRejectionsOfInactivePartners(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	gone := n.AddPartner(t, "gone", models.SigningRequired)
	n.DB.Exec(t, `UPDATE partners SET status = 'suspended' WHERE id = $1`, gone.ID)
	n.Reload(t)
	tx := n.quote(t, shared)
	n.rejected(t, n.signed(gone, gone.Slug, body(tx)), inactive)
	n.rejected(t, n.signed(gone, shared, body("tx_1", partnerID(gone.Accounts[1].Identifier))), badSignature.as(models.OutcomeInactive))
	n.rejected(t, unsigned(gone.Slug, body(tx)), noSignature.as(models.OutcomeInactive))
	n.Traffic.Flush(t.Context())
	got := n.rejections(t, gone)
	if len(got) != 3 {
		t.Fatalf("got %d rejections: %+v", len(got), got)
	}
	for _, r := range got {
		if r.outcome != "inactive" {
			t.Errorf("got outcome %q", r.outcome)
		}
	}
	sandbox := see[int](t, n,
		`SELECT count(*) FROM traffic_minutes WHERE partner_id = $1 AND account_id = $2 AND outcome = 'inactive'`,
		gone.ID, gone.Accounts[1].ID)
	if sandbox != 1 {
		t.Errorf("got %d counters of the account, want 1", sandbox)
	}
}
