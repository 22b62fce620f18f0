// Package leadkit sets up a platform with leads, for the tests of the packages that reveal, export or erase their data.
package leadkit

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// Settings contains those settings of the services that tests can change.
type Settings struct {
	RevealsPerDay, LookupsPerDay int
	RequireApproval              bool
	RequestDays                  int
	Retention                    retention.Periods
	JournalFingerprint           string
	Jobs                         *jobs.Queue // a new queue if nil
}

// NewServices returns the services of a node.
func NewServices(
	db *postgres.DB, keys *envelope.Wrappers, platform *keyring.Keys, j journal.Store, c clock.Clock, s Settings,
) privacy.Services {
	if s.Jobs == nil {
		s.Jobs = testkit.NewQueue(db, c)
	}
	return privacy.NewServices(db, s.Jobs, keys, platform, j, c, privacy.Settings{
		Erasures:  erasure.Settings{RequireApproval: s.RequireApproval, JournalFingerprint: s.JournalFingerprint},
		Reveals:   reveal.Limits{RevealsPerDay: s.RevealsPerDay, LookupsPerDay: s.LookupsPerDay},
		Retention: s.Retention,
		Requests:  requests.Settings{RequireApproval: s.RequireApproval, RequestDays: s.RequestDays},
	})
}

// Kit is a platform with a user, and the services that act on behalf of this user.
type Kit struct {
	*testkit.Platform
	privacy.Services
	User    audit.Actor
	Journal *Journal
	Folder  string // of the journal
}

// New returns a platform without leads. The user can reveal RevealsPerDay fields a day.
func New(t *testing.T) Kit {
	t.Helper()
	p := testkit.NewPlatform(t)
	folder := t.TempDir()
	k := Kit{
		Platform: p, User: testkit.Actor(t, p.DB, "fay@example.com"),
		Journal: &Journal{Store: journal.Folder(folder)}, Folder: folder,
	}
	k.Services = k.Node(k.Journal)
	return k
}

// Node returns the services of another node, which uses the journal j.
func (k Kit) Node(j journal.Store) privacy.Services {
	return NewServices(k.DB.DB, k.Wrappers, k.Keys, j, k.Time, Settings{
		RevealsPerDay: RevealsPerDay, LookupsPerDay: 100, RequestDays: 365,
	}).By(k.User)
}

// WithRevealsPerDay returns the platform with another daily reveal limit.
func (k Kit) WithRevealsPerDay(n int) Kit {
	k.Services = NewServices(k.DB.DB, k.Wrappers, k.Keys, k.Journal, k.Time, Settings{
		RevealsPerDay: n, LookupsPerDay: 100,
	}).By(k.User)
	return k
}

// RevealsPerDay is the number of fields that a user may reveal per day.
const RevealsPerDay = 5

// Contact contains the members of a post with Ann's personal data.
const Contact = `"contact":{"email":"Ann.Example@example.com","name":"Ann Example","phone":"020 7946 0018"},"notes":"Ring the bell",
	"location":{"address":"1 High Street"},"answers":{"rooms":"3"}`

// OtherContact is like Contact, but for Bob, who has the same phone number.
const OtherContact = `"contact":{"email":"bob@example.com","phone":"020 7946 0018"}`

// Deliver delivers a lead. The parameter body contains members of the post, such as Contact.
func (k Kit) Deliver(t *testing.T, body string) uuid.UUID {
	t.Helper()
	lead, _ := k.Post(t, body)
	return lead
}

// Post delivers a lead, and returns a function that sends the same post again.
func (k Kit) Post(t *testing.T, body string) (uuid.UUID, func() (intake.PostResult, error)) {
	t.Helper()
	send := k.NewPost(t, "Ann Example agrees", body)
	lead, err := send()
	if err != nil {
		t.Fatal(err)
	}
	return lead.LeadID, send
}

// NewPost returns a function that sends a post with the given disclosure text.
func (k Kit) NewPost(t *testing.T, text, body string) func() (intake.PostResult, error) {
	t.Helper()
	in, transaction := k.Quote(t, "GB")
	post := fmt.Appendf(nil, `{"transactionId":%q,"partnerId":%q,%s,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04","disclosureText":%q,"recipientHash":"abababababababababababababababababababababababababababababababab","thirdPartyFormCertUrl":"https://cert.example.com/canary","thirdPartyLeadId":"canary-third-party"},"reference":"canary-click","subId":"canary-sub"}`, transaction, k.Required.Accounts[0].Identifier, body, text)
	return func() (intake.PostResult, error) { return k.Send(t, in, k.Required, post) }
}

// Quote sends a ping for a plumber in a country, GB or DE. It returns the intake, and the id of the transaction.
func (k Kit) Quote(t *testing.T, country string) (in *intake.Intake, transaction string) {
	t.Helper()
	k.Reload(t)
	in = k.Intake(intake.Settings{DefaultMode: models.SigningRequired})
	postcode := map[string]string{"GB": "SW1A 1AA", "DE": "10115"}[country]
	q, err := in.Ping(intake.PingRequest{
		ID: uuid.New(), Body: fmt.Appendf(nil, `{"industry":"plumber","postcode":%q,"country":%q}`, postcode, country),
	})
	if err != nil || !q.Accepted {
		t.Fatalf("ping: got %+v, %v", q, err)
	}
	return in, string(q.TransactionID)
}

// Send sends a post with the signature of a partner.
func (k Kit) Send(t *testing.T, in *intake.Intake, by testkit.Partner, post []byte) (intake.PostResult, error) {
	t.Helper()
	return in.Post(t.Context(), intake.PostRequest{
		ID: uuid.New(), Address: clientaddr.Group("192.0.2.1"), Body: post, Headers: by.Sign(k.Time.Now(), post),
	})
}

// AuditEvents counts the user's audit events with an action and an outcome.
func (k Kit) AuditEvents(t *testing.T, action, outcome string) int {
	t.Helper()
	return testkit.Value[int](t, k.DB, `SELECT count(*) FROM audit_events WHERE action = $1 AND outcome = $2`, action,
		outcome)
}

// CountReveals counts the recorded reveals of all leads.
func (k Kit) CountReveals(t *testing.T) int {
	t.Helper()
	return testkit.Value[int](t, k.DB, `SELECT count(*) FROM lead_reveals`)
}

// Rejection returns the code and reason of an error.
func Rejection(err error) string {
	if f := apperr.As(err); f != nil {
		return string(f.Code) + " " + f.Reason
	}
	return fmt.Sprint(err)
}

// IsConflict reports whether err is a Conflict error.
func IsConflict(err error) bool {
	f := apperr.As(err)
	return f != nil && f.Code == apperr.Conflict
}

// Must ends the test if err is not nil.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
