package intake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	leastPing = `{"industry":"plumber","postcode":"SW1A 1AA"}`
	shared    = "" // the slug of the shared base URL
)

// node is an Intake with its own database.
type node struct {
	*testkit.Platform
	in   *intake.Intake
	sees *pgx.Conn // a connection without a proxy, for checks
}

func newNode(t testing.TB) *node { return nodeOf(t, testkit.NewPlatform(t)) }

func nodeOn(t testing.TB, d *testkit.Database) *node { return nodeOf(t, testkit.NewPlatformOn(t, d)) }

func nodeOf(t testing.TB, p *testkit.Platform) *node {
	t.Helper()
	n := &node{Platform: p, sees: testkit.Connect(t, p.DB.RootURL)}
	n.in = n.Intake(settings())
	return n
}

func settings() intake.Settings { return intake.Settings{DefaultMode: models.SigningRequired} }

// withDefault returns the same node with a different default signing mode.
func (n *node) withDefault(mode models.SigningMode) *node {
	return &node{n.Platform, n.Intake(intake.Settings{DefaultMode: mode}), n.sees}
}

func (n *node) ping(t testing.TB, slug, body string) intake.PingResult {
	t.Helper()
	r, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: slug, Body: []byte(body)})
	if err != nil {
		t.Fatalf("ping to %q: %v", slug, err)
	}
	return r
}

// quote returns the transactionId of a priced ping to a base URL.
func (n *node) quote(t testing.TB, slug string) string {
	t.Helper()
	r := n.ping(t, slug, leastPing)
	if !r.Accepted {
		t.Fatalf("ping to %q got no price: %s", slug, r.Reason)
	}
	return string(r.TransactionID)
}

// body returns a post with the required fields and the given members.
func body(transactionID string, members ...string) []byte {
	all := append([]string{
		fmt.Sprintf(`"transactionId":%q`, transactionID), `"email":"ann@example.com"`, `"consent":{"acknowledged":true}`,
	}, members...)
	return []byte("{" + strings.Join(all, ",") + "}")
}

func partnerID(identifier string) string { return fmt.Sprintf(`"partnerId":%q`, identifier) }

func unsigned(slug string, body []byte) intake.PostRequest {
	return intake.PostRequest{ID: uuid.New(), Slug: slug, Address: clientaddr.Group("192.0.2.1"), Body: body}
}

// signed returns a post signed by the partner now.
func (n *node) signed(by testkit.Partner, slug string, body []byte) intake.PostRequest {
	r := unsigned(slug, body)
	r.Headers = by.Sign(n.Time.Now(), body)
	return r
}

func (n *node) post(t testing.TB, r intake.PostRequest) intake.PostResult {
	t.Helper()
	result, err := n.in.Post(t.Context(), r)
	if err != nil {
		t.Fatalf("post to %q: %v", r.Slug, err)
	}
	return result
}

// rejected sends a post, checks that it is rejected with want, and returns the error.
func (n *node) rejected(t testing.TB, r intake.PostRequest, want rejection) *apperr.Error {
	t.Helper()
	_, err := n.in.Post(t.Context(), r)
	return want.check(t, err)
}

// unavailable sends a post that must be rejected with a Retry-After of two seconds
// (decision 21).
func (n *node) unavailable(t testing.TB, by testkit.Partner, body []byte, want rejection) {
	t.Helper()
	if f := n.rejected(t, n.signed(by, by.Slug, body), want); f.RetryAfter.Seconds() != 2 {
		t.Errorf("got Retry-After %s", f.RetryAfter)
	}
}

// rejection is the code and reason of a rejection.
type rejection struct {
	code   apperr.Code
	reason string
}

// The rejections defined in the specification and in decisions 3 and 22.
var (
	timestampMissing = rejection{apperr.Unauthorized, "timestamp_missing"}
	timestampFormat  = rejection{apperr.Unauthorized, "timestamp_format"}
	timestampWindow  = rejection{apperr.Unauthorized, "timestamp_window"}
	badSignature     = rejection{apperr.Unauthorized, "signature"}
	noSignature      = rejection{apperr.Unauthorized, "signature_missing"}
	badJSON          = rejection{apperr.Invalid, "json"}
	badPing          = rejection{apperr.Invalid, "payload"}
	badPost          = rejection{apperr.Invalid, "payload"}
	badTransactionID = rejection{apperr.Invalid, "transaction_format"}
	notYourQuote     = rejection{apperr.Invalid, "quote_owner"}
	expired          = rejection{apperr.Expired, "expired"}
	delivered        = rejection{apperr.Delivered, "already_delivered"}
	noKeyWrapper     = rejection{apperr.Unavailable, "no_key_wrapper"}
	notSaved         = rejection{apperr.Unavailable, "storing"}
	tooLargeToMatch  = rejection{apperr.TooLarge, "match_too_large"}
	tooMany          = rejection{apperr.TooMany, "too_many"}
	inactive         = rejection{apperr.Forbidden, "inactive"}
	unknownSlug      = rejection{apperr.NotFound, "unknown_partner"}
)

// as returns a rejection whose reason only staff see.
func (want rejection) as(outcome models.Outcome) rejection {
	return rejection{want.code, string(outcome)}
}

func (want rejection) check(t testing.TB, err error) *apperr.Error {
	t.Helper()
	var f *apperr.Error
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want %+v", err, want)
	}
	if diff := cmp.Diff(want, rejection{f.Code, f.Reason}, cmp.AllowUnexported(rejection{})); diff != "" {
		t.Errorf("rejected with %v (-want +got):\n%s", err, diff)
	}
	return f
}

// see returns the value that a query selects.
func see[T any](t testing.TB, n *node, sql string, args ...any) (v T) {
	t.Helper()
	if err := n.sees.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// stored contains the number of rows of each kind.
type stored struct{ leads, consents, accruals, events int64 }

var (
	nothing = stored{}
	oneLead = stored{1, 1, 1, 1}
	oneTest = stored{1, 1, 0, 1} // a sandbox lead earns nothing (decision 25)
)

func (n *node) stored(t testing.TB) stored {
	t.Helper()
	c := see[[]int64](t, n, `SELECT ARRAY[(SELECT count(*) FROM leads), (SELECT count(*) FROM consents),
		(SELECT count(*) FROM ledger_entries WHERE kind = 'accrual'), (SELECT count(*) FROM lead_events)]`)
	return stored{c[0], c[1], c[2], c[3]}
}

// stores checks that calling do stores exactly the wanted number of rows of each kind.
func (n *node) stores(t testing.TB, want stored, do func()) {
	t.Helper()
	before := n.stored(t)
	do()
	after := n.stored(t)
	got := stored{after.leads - before.leads, after.consents - before.consents, after.accruals - before.accruals,
		after.events - before.events}
	if got != want {
		t.Errorf("stored %+v, want %+v", got, want)
	}
}
