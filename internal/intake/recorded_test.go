package intake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// All columns are written unchanged. The recorder creates the day's partition when necessary, even
// if the first rows are written at shutdown.
func TestRecorderWritesAllColumns(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	if see[int64](t, n, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'pings'::regclass`) != 0 {
		t.Fatal("a partition exists before the first ping")
	}
	rows := []intake.PingRecord{
		{
			Quote: quote.Quote{
				ID: uuid.New(), Price: money.Amount{Minor: 1<<31 - 1, Currency: money.AUD}, Country: [2]byte{'Z', 'Z'},
				TermID: 1072, Postcode: "〒100-0001 東京", CardVersion: 7, Partner: uuid.New(), Sandbox: true,
			},
			IssuedAt: testkit.StartTime().Add(123_456 * time.Microsecond),
			Urgency:  "dès que possible 🚰",
			JobType:  `tab	"quote" \N \.`,
			Budget:   "£500–£1,000\r\nou plus",
			Outcome:  "priced",
			Took:     131 * time.Microsecond,
		},
		{
			Quote:    quote.Quote{Price: money.Amount{Currency: money.EUR}, Country: [2]byte{'F', 'R'}, TermID: 1},
			IssuedAt: testkit.StartTime(), Outcome: string(models.OutcomeExcluded),
		},
	}
	stop := run(t, n.Recorder.Run)
	for _, row := range rows {
		n.Recorder.Offer(row)
	}
	stop()
	n.stats(t, intake.RecorderStats{Written: 2})
	got := n.readPings(t)
	if len(got) != len(rows) {
		t.Fatalf("got %d rows, want %d", len(got), len(rows))
	}
	for i, want := range rows {
		if !got[i].IssuedAt.Equal(want.IssuedAt) {
			t.Errorf("row %d: got time %s, want %s", i, got[i].IssuedAt, want.IssuedAt)
		}
		got[i].IssuedAt = want.IssuedAt
		if got[i] != want {
			t.Errorf("row %d: got %+v\nwant %+v", i, got[i], want)
		}
	}
}

// readPings reads the pings by price, highest first.
func (n *node) readPings(t testing.TB) []intake.PingRecord {
	t.Helper()
	rows, err := n.sees.Query(t.Context(), `SELECT transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency,
		job_type, budget, outcome, price_minor, currency, card_version, duration_us FROM pings ORDER BY price_minor DESC`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p intake.PingRecord, err error) {
		var country, currency string
		var transaction, partner *uuid.UUID
		var micros int64
		err = row.Scan(&transaction, &p.IssuedAt, &partner, &p.Quote.Sandbox, &p.Quote.TermID, &country, &p.Quote.Postcode, &p.Urgency,
			&p.JobType, &p.Budget, &p.Outcome, &p.Quote.Price.Minor, &currency, &p.Quote.CardVersion, &micros)
		if err != nil {
			return p, err
		}
		if transaction != nil {
			p.Quote.ID = *transaction
		}
		if partner != nil {
			p.Quote.Partner = *partner
		}
		copy(p.Quote.Country[:], country)
		p.Took = time.Duration(micros) * time.Microsecond
		p.Quote.Price.Currency, err = money.ParseCurrency(currency)
		return p, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// All pings except rejected ones are recorded with their results.
func TestPingsAreRecorded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.setPrice(t, n.Off, 0, `[{"industry":"plumber"}]`, nil)
	const text = `{"industry":"plumber","postcode":" É1 ","country":"fr","urgency":" ASAP ","job_type":"répair","budget":"£1"}`
	priced := n.ping(t, n.Required.Slug, text)
	n.ping(t, n.Off.Slug, text)
	if _, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Body: []byte(`{}`)}); err == nil {
		t.Fatal("an empty ping was priced")
	}
	n.eventuallyFlushed(t, 2)
	got := n.readPings(t)
	p, rejected := got[0], got[1]
	if p.Quote != (quote.Quote{ID: p.Quote.ID, Price: priced.Quote.Price, Country: [2]byte{'F', 'R'}, TermID: priced.Quote.TermID, Postcode: "É1", CardVersion: 1, Partner: n.Required.ID}) ||
		p.Quote.ID != priced.Quote.ID || p.JobType != "répair" || p.Budget != "£1" || p.Outcome != "priced" ||
		!p.IssuedAt.Equal(n.Time.Now()) {
		t.Errorf("got %+v", p)
	}
	if !strings.EqualFold(strings.TrimSpace(p.Urgency), "asap") {
		t.Errorf("got urgency %q", p.Urgency)
	}
	if rejected.Quote.ID != uuid.Nil || rejected.Outcome != string(models.OutcomeExcluded) ||
		rejected.Quote.Price.Minor != 0 || rejected.Quote.Partner != n.Off.ID {
		t.Errorf("got %+v", rejected)
	}
}
