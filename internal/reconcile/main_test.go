package reconcile_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// reconcilePlatform is a platform with a reconcile service that acts for a finance user.
type reconcilePlatform struct {
	*testkit.Platform
	*reconcile.Service
	queue *jobs.Queue
	in    *intake.Intake
	who   audit.Actor
	files *blobstore.Store
}

func newReconcilePlatform(t testing.TB) *reconcilePlatform {
	t.Helper()
	p := testkit.NewPlatform(t)
	queue := testkit.NewQueue(p.DB.DB, p.Time)
	o := &reconcilePlatform{
		Platform: p,
		queue:    queue,
		in:       p.Intake(intake.Settings{DefaultMode: models.SigningRequired}),
	}
	o.who = audit.Actor{Name: "dmitri@example.com", Role: "finance", Staff: uuid.New()}
	p.DB.Exec(t,
		`INSERT INTO staff (id, email, name, status, created_at, updated_at) VALUES ($1, $2, 'Dmitri', 'invited', now(), now())`,
		o.who.Staff, o.who.Name)
	o.files = blobstore.NewStore(p.DB.DB, p.Keys, p.Time)
	o.Service = reconcile.NewService(p.DB.DB, p.Time, queue, o.files).By(o.who)
	return o
}

// deliver delivers a lead and returns its id and its payout in minor units.
func (o *reconcilePlatform) deliver(t testing.TB, by testkit.Partner, account int) (uuid.UUID, int64) {
	t.Helper()
	return o.deliverFrom(t, by, account, "GB")
}

// deliverFrom is like deliver, but for a lead in the given country, which determines the currency.
func (o *reconcilePlatform) deliverFrom(
	t testing.TB, by testkit.Partner, account int, country string,
) (uuid.UUID, int64) {
	t.Helper()
	o.Reload(t)
	q, err := o.in.Ping(intake.PingRequest{
		ID:   uuid.New(),
		Body: fmt.Appendf(nil, `{"industry":"plumber","postcode":"SW1A 1AA","country":%q}`, country),
	})
	if err != nil || !q.Accepted {
		t.Fatalf("ping: %+v, %v", q, err)
	}
	body := fmt.Appendf(nil,
		`{"transactionId":%q,"partnerId":%q,"email":"ann@example.com","consent":{"acknowledged":true}}`,
		q.TransactionID, by.Accounts[account].Identifier)
	r, err := o.in.Post(t.Context(), intake.PostRequest{
		ID:      uuid.New(),
		Address: clientaddr.Group("192.0.2.1"),
		Body:    body,
		Headers: by.Sign(o.Time.Now(), body),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.LeadID, r.Payout.Minor
}

// works runs the queue until the test ends or stop is called.
func (o *reconcilePlatform) works(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); o.queue.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// upload uploads a file with the given lines.
func (o *reconcilePlatform) upload(t testing.TB, partner uuid.UUID, list ...string) reconcile.Reconciliation {
	t.Helper()
	r, err := o.Upload(t.Context(), scope.Everywhere, partner, "march.csv", strings.NewReader(strings.Join(list, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	o.Time.Advance(time.Second) // later uploads are newer
	return o.get(t, r.ID)
}

func (o *reconcilePlatform) get(t testing.TB, r uuid.UUID) reconcile.Reconciliation {
	t.Helper()
	got, err := o.Get(t.Context(), scope.Everywhere, r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func leadID(lead uuid.UUID) string { return id.Format(id.Lead, lead) }

func csvOf(t testing.TB, o *reconcilePlatform, sc scope.Scope, r uuid.UUID, finding models.Finding) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := o.CSV(t.Context(), sc, r, finding, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
