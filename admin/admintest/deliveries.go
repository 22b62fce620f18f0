package admintest

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// ConsoleWithDeliveries is a console for a platform whose partners deliver leads. Its client is
// signed in as a finance user.
type ConsoleWithDeliveries struct {
	*Console
	*Client
	Platform *testkit.Platform
	in       *intake.Intake
	Other    testkit.Partner
}

// NewConsoleWithDeliveries starts a console that runs background jobs.
func NewConsoleWithDeliveries(t *testing.T) ConsoleWithDeliveries {
	t.Helper()
	return newConsoleWithDeliveries(t, Setup{})
}

// NewConsoleWithTwoUsers is like NewConsoleWithDeliveries, with the setting privacy.require_approval.
func NewConsoleWithTwoUsers(t *testing.T) ConsoleWithDeliveries {
	t.Helper()
	return newConsoleWithDeliveries(t, Setup{TwoUsers: true})
}

// NewConsoleWithRetention is like NewConsoleWithDeliveries, with a retention period for contact records.
func NewConsoleWithRetention(t *testing.T, days int) ConsoleWithDeliveries {
	t.Helper()
	return newConsoleWithDeliveries(t, Setup{Retention: retention.Periods{Contact: retention.Days{Default: days}}})
}

func newConsoleWithDeliveries(t *testing.T, s Setup) ConsoleWithDeliveries {
	t.Helper()
	h := NewConsole(t, s)
	b := ConsoleWithDeliveries{
		Console:  h,
		Client:   h.SignedInAs(t, models.Finance),
		Platform: testkit.NewPlatformOn(t, h.Database),
	}
	b.in, b.Other = b.Platform.Intake(intake.Settings{DefaultMode: models.SigningRequired}), b.Platform.ReportOnly
	h.RunJobs(t)
	return b
}

// EveryFinding returns the rows of a file from the partner Harbour. A comparison of the file with the
// ledger produces every kind of finding. The result foreign is the leadId of a row whose lead belongs to
// another partner.
func EveryFinding(b ConsoleWithDeliveries, t testing.TB) (rows []string, foreign string) {
	t.Helper()
	row := func(lead, amount string) string { return lead + "," + amount + ",GBP" }
	foreign, _ = b.Deliver(t, b.Other)
	even, price := b.Deliver(t, b.Harbour())
	less, _ := b.Deliver(t, b.Harbour())
	b.Deliver(t, b.Harbour())           // missing from the file
	b.DeliverFrom(t, b.Harbour(), "DE") // missing from the file, and in another currency
	b.Platform.Time.Advance(40 * 24 * time.Hour)
	late, _ := b.Deliver(t, b.Harbour())
	b.Platform.Time.Advance(-40 * 24 * time.Hour)
	return []string{
		"leadId,amount,currency", row(even, price.Decimal()), row(less, money.Amount{
			Minor:    price.Minor - 250,
			Currency: price.Currency,
		}.Decimal()),
		row(id.Format(id.Lead, uuid.New()), "12.50"), row(foreign, "12.50"), row(even, price.Decimal()),
		row(late, price.Decimal()),
		"=1+1,12.50,GBP", row(even, "12.345"),
	}, foreign
}

// Harbour returns the partner whose files are reconciled.
func (b ConsoleWithDeliveries) Harbour() testkit.Partner { return b.Platform.Required }

// Deliver delivers a lead from GB for a partner, and returns its leadId and payout.
func (b ConsoleWithDeliveries) Deliver(t testing.TB, by testkit.Partner) (lead string, earned money.Amount) {
	t.Helper()
	return b.DeliverFrom(t, by, "GB")
}

// DeliverFrom is like Deliver, but the lead is from the given country and is priced in that country's
// currency.
func (b ConsoleWithDeliveries) DeliverFrom(
	t testing.TB, by testkit.Partner, country string,
) (lead string, earned money.Amount) {
	t.Helper()
	b.Platform.Reload(t)
	q, err := b.in.Ping(intake.PingRequest{
		ID:   uuid.New(),
		Body: fmt.Appendf(nil, `{"industry":"plumber","postcode":"SW1A 1AA","country":%q}`, country),
	})
	if err != nil || !q.Accepted {
		t.Fatalf("ping: got %+v, %v", q, err)
	}
	body := fmt.Appendf(nil,
		`{"transactionId":%q,"partnerId":%q,"email":"ann@example.com","consent":{"acknowledged":true}}`,
		q.TransactionID, by.Accounts[0].Identifier)
	r, err := b.in.Post(t.Context(), intake.PostRequest{
		ID:      uuid.New(),
		Address: clientaddr.Group("192.0.2.1"),
		Body:    body,
		Headers: by.Sign(b.Platform.Time.Now(), body),
	})
	if err != nil {
		t.Fatal(err)
	}
	return id.Format(id.Lead, r.LeadID), r.Payout
}

// PartnerFileForm returns the body and the content type of a form that uploads a partner's file.
func PartnerFileForm(t testing.TB, key, partner, name, content string) (io.Reader, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, field := range [][2]string{{ui.FormKeyField, key}, {"partner", partner}} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			t.Fatal(err)
		}
	}
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &body, w.FormDataContentType()
}

// Upload uploads a partner's file.
func (b *Client) Upload(t testing.TB, partner, name, content string) Response {
	t.Helper()
	body, kind := PartnerFileForm(t, uuid.NewString(), partner, name, content)
	return b.Send(t, http.MethodPost, "/reconciliation/new", body, http.Header{
		"Content-Type": {kind},
		"Origin":       {b.Console.URL},
	})
}

// UploadPartnerFile uploads a partner's file and returns the URL of its reconciliation.
func (b ConsoleWithDeliveries) UploadPartnerFile(t testing.TB, partner string, rows ...string) string {
	t.Helper()
	return b.Upload(t, partner, "march.csv", strings.Join(rows, "\n")+"\n").ExpectCreated(t, "/reconciliation/rn_")
}

// Version returns the version number that the forms on a reconciliation's page contain. The parameter at
// is the URL of the page.
func (b ConsoleWithDeliveries) Version(t testing.TB, at string) string {
	t.Helper()
	return fmt.Sprint(testkit.Value[int](t, b.Database, `SELECT row_version FROM reconciliations WHERE id = $1`,
		IDOf(t, at)))
}

// IDOf returns the ID in the URL of a reconciliation's page.
func IDOf(t testing.TB, at string) uuid.UUID {
	t.Helper()
	key, err := id.Parse(id.Reconciliation, strings.TrimPrefix(at, "/reconciliation/"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// ColumnForm returns the fields of a column mapping form for a file with the columns leadId, amount and
// currency.
func (b ConsoleWithDeliveries) ColumnForm(t testing.TB, at string) url.Values {
	t.Helper()
	return url.Values{
		"version":  {b.Version(t, at)},
		"lead_id":  {"leadId"},
		"amount":   {"amount"},
		"currency": {"in:currency"},
		"from":     {"2026-01-01"},
		"to":       {"2026-01-31"},
	}
}

// Compare submits the column mapping form and waits until the comparison is complete.
func (b ConsoleWithDeliveries) Compare(t testing.TB, at string, form url.Values) {
	t.Helper()
	b.Post(t, at+"/compare", form).ExpectRedirect(t, at)
	b.AwaitState(t, at, models.ReconciliationCompared)
}

// AwaitState waits until a reconciliation has the given state.
func (b ConsoleWithDeliveries) AwaitState(t testing.TB, at string, state models.ReconciliationState) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "the reconciliation is "+string(state),
		func() bool { return b.StateOf(t, at) == state })
}

// StateOf returns the state of a reconciliation.
func (b ConsoleWithDeliveries) StateOf(t testing.TB, at string) models.ReconciliationState {
	t.Helper()
	r, err := b.Options.Reconcile.Get(t.Context(), scope.System, IDOf(t, at))
	if err != nil {
		t.Fatal(err)
	}
	return r.State
}
