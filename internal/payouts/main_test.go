package payouts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// If nodeDatabase is set, this test binary runs as a node with the database at that URL until it is
// killed. nodeTime is the time of its clock.
const (
	nodeDatabase = "PAYOUTS_TEST_DATABASE"
	nodeTime     = "PAYOUTS_TEST_TIME"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(nodeDatabase); url != "" {
		runNode(url)
	}
	testkit.Main(m)
}

func runNode(url string) {
	at, err := time.Parse(time.RFC3339Nano, os.Getenv(nodeTime))
	if err != nil {
		panic(err)
	}
	db, err := postgres.Open(context.Background(), postgres.Options{
		URL:              url,
		MaxConnections:   5,
		ConnectTimeout:   5 * time.Second,
		StatementTimeout: 10 * time.Second,
	})
	if err != nil {
		panic(err)
	}
	now := clock.NewManual(at)
	queue := jobs.NewQueue(db, now, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	payouts.NewService(db, now, queue, blobstore.NewStore(db, nil, now), payouts.Policy{ReturnWindow: window}).
		ClaimOneAccountPerStep()
	queue.Run(context.Background())
}

const window = 30 * 24 * time.Hour

// approvalLimits contains limits that only tests of limits reach, in CAD.
var approvalLimits = map[money.Currency]int64{money.GBP: 1e9, money.EUR: 1e9, money.USD: 1e9, money.CAD: 100_00}

// paidLedger is a platform with two finance users who pay its partners.
type paidLedger struct {
	*testkit.Platform
	in    *intake.Intake
	queue *jobs.Queue
	financeUser
	dmitri, fay financeUser
}

// financeUser is a service that acts as one user.
type financeUser struct {
	*payouts.Service
	who audit.Actor
}

func newPaidLedger(t testing.TB) *paidLedger {
	t.Helper()
	p := testkit.NewPlatform(t)
	tr := &paidLedger{Platform: p, in: p.Intake(intake.Settings{DefaultMode: models.SigningRequired})}
	log, lines := testkit.NewLog()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(lines)
		}
	})
	tr.queue = jobs.NewQueue(p.DB.DB, p.Time, log)
	s := payouts.NewService(p.DB.DB, p.Time, tr.queue, blobstore.NewStore(p.DB.DB, p.Keys, p.Time),
		payouts.Policy{ReturnWindow: window, ExportRetention: 7 * 24 * time.Hour, ApprovalLimits: approvalLimits})
	user := func(name string) financeUser {
		actor := testkit.Actor(t, p.DB, name+"@example.com")
		return financeUser{s.By(actor), actor}
	}
	tr.dmitri, tr.fay = user("dmitri"), user("fay")
	tr.financeUser = tr.dmitri
	return tr
}

// delivered is a lead as its partner sees it.
type delivered struct {
	lead        uuid.UUID
	transaction string
	payout      money.Amount
}

// quote sends a ping and returns its transactionId.
func (tr *paidLedger) quote(t testing.TB, country string) string {
	t.Helper()
	r, err := tr.in.Ping(intake.PingRequest{
		ID:   uuid.New(),
		Body: fmt.Appendf(nil, `{"industry":"plumber","postcode":"SW1A 1AA","country":%q}`, country),
	})
	if err != nil || !r.Accepted {
		t.Fatalf("ping: got %+v and error %v", r, err)
	}
	return string(r.TransactionID)
}

// sandboxQuote returns a quote for the sandbox account of the partner whose signing mode is
// required.
func (tr *paidLedger) sandboxQuote(t testing.TB) string {
	t.Helper()
	r, err := tr.in.Ping(intake.PingRequest{
		ID:   uuid.New(),
		Slug: tr.Required.Slug,
		Body: []byte(`{"industry":"plumber","postcode":"SW1A 1AA"}`),
	})
	if err != nil || !r.Accepted {
		t.Fatalf("ping: got %+v and error %v", r, err)
	}
	return string(r.TransactionID)
}

// post delivers a lead with a quote, signed by the partner, for one of its accounts.
func (tr *paidLedger) post(t testing.TB, by testkit.Partner, account int, transaction string) (delivered, error) {
	t.Helper()
	body := fmt.Appendf(nil,
		`{"transactionId":%q,"partnerId":%q,"email":"ann@example.com","consent":{"acknowledged":true}}`, transaction,
		by.Accounts[account].Identifier)
	r, err := tr.in.Post(t.Context(), intake.PostRequest{
		ID:      uuid.New(),
		Address: clientaddr.Group("192.0.2.1"),
		Body:    body,
		Headers: by.Sign(tr.Time.Now(), body),
	})
	return delivered{r.LeadID, transaction, r.Payout}, err
}

// deliver pings and posts a lead.
func (tr *paidLedger) deliver(t testing.TB, by testkit.Partner, country string) delivered {
	t.Helper()
	d, err := tr.post(t, by, 0, tr.quote(t, country))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// runJobs runs jobs until the test ends or stop is called.
func (tr *paidLedger) runJobs(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); tr.queue.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// run starts a run with the current time as cutoff and waits until it is prepared.
func (tr *paidLedger) run(t testing.TB, c money.Currency, minimum int64) models.PayoutRun {
	t.Helper()
	return tr.prepare(t, payouts.NewRun{Currency: c, Cutoff: tr.Time.Now(), Minimum: minimum})
}

// prepare starts a run and waits until it is prepared.
func (tr *paidLedger) prepare(t testing.TB, n payouts.NewRun) models.PayoutRun {
	t.Helper()
	r, err := tr.dmitri.BeginRun(t.Context(), scope.Everywhere, n)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "the run is prepared",
		func() bool { return tr.get(t, r).State != models.RunPreparing })
	return tr.get(t, r)
}

func (tr *paidLedger) get(t testing.TB, r models.PayoutRun) models.PayoutRun {
	t.Helper()
	r, err := tr.FindRun(t.Context(), scope.Everywhere, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pay approves a run as another user and marks it as paid.
func (tr *paidLedger) pay(t testing.TB, r models.PayoutRun) models.PayoutRun {
	t.Helper()
	if err := tr.fay.ApproveRun(t.Context(), scope.Everywhere, r.ID, r.RowVersion); err != nil {
		t.Fatal(err)
	}
	if err := tr.dmitri.PayRun(t.Context(), scope.Everywhere, r.ID, r.RowVersion+1, "BACS 2026-01-02"); err != nil {
		t.Fatal(err)
	}
	return tr.get(t, r)
}

// rejected checks the code and the reason of err.
func rejected(t testing.TB, what string, err error, code apperr.Code, reason string) {
	t.Helper()
	var f *apperr.Error
	if !errors.As(err, &f) || f.Code != code || f.Reason != reason {
		t.Errorf("%s: got %v, want code %s and reason %s", what, err, code, reason)
	}
}

// balance returns a partner's balance in a currency.
func (tr *paidLedger) balance(t testing.TB, partner uuid.UUID, c money.Currency) int64 {
	t.Helper()
	sums, err := tr.Sums(t.Context(), scope.Everywhere, payouts.Filter{Partner: partner, Currency: c})
	if err != nil {
		t.Fatal(err)
	}
	if len(sums) == 0 {
		return 0
	}
	return sums[0].Owed()
}
