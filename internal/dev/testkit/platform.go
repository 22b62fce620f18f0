package testkit

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

// RequestLogRows is how many requests of each kind a Platform logs for each partner.
const RequestLogRows = 5

// StartTime is the initial time of a Platform's clock. Its milliseconds are not zero, so that tests
// notice code that drops them.
func StartTime() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC) }

// Platform contains everything that intake needs, on a test's own database. It has a manual clock, the
// published default rate card, and a partner for each signing mode. Nothing runs in the background, so
// the test must call Reload after a change.
type Platform struct {
	intake.Deps
	DB       *Database
	Time     *clock.Manual // the clock in Deps
	Partners *partners.Service
	Cards    *ratecard.Service
	Watcher  *snapshot.Watcher
	Log      *Log

	Required, ReportOnly, Off Partner
}

// Partner is an approved partner with its secret and accounts.
type Partner struct {
	models.Partner
	Secret   string
	SecretID uuid.UUID
	Accounts []models.Account // default account first
}

// platformRows are the partners, the rate card and the registered keys of a Platform.
type platformRows struct{ required, reportOnly, off Partner }

var platformDatabase = Prepared[platformRows]{Fill: fillPlatform}

// clone returns a copy whose accounts a test can change.
func (p Partner) clone() Partner {
	p.Accounts = slices.Clone(p.Accounts)
	return p
}

// NewPlatform returns a Platform on a database of its own.
func NewPlatform(t testing.TB) *Platform {
	t.Helper()
	d, rows := platformDatabase.Copy(t)
	return newPlatform(t, d, rows)
}

// NewPlatformOn returns a Platform on the given database, which has no partners yet.
func NewPlatformOn(t testing.TB, d *Database) *Platform {
	t.Helper()
	return newPlatform(t, d, fillPlatform(t, d))
}

func fillPlatform(t testing.TB, d *Database) (rows platformRows) {
	t.Helper()
	at := clock.NewManual(StartTime())
	p := &Platform{Partners: partners.NewService(d.DB, PlatformKeys(t, 1), at)}
	rows.required = p.AddPartner(t, "harbour-leads", models.SigningRequired)
	rows.reportOnly = p.AddPartner(t, "meadow-media", models.SigningReportOnly)
	rows.off = p.AddPartner(t, "tinker-forms", models.SigningOff)
	cards, err := ratecard.NewService(d.DB, NewQueue(d.DB, at), at)
	if err == nil {
		_, err = cards.PublishShipped(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	RegisterKeys(t, d, LocalWrappers(t))
	return rows
}

func newPlatform(t testing.TB, d *Database, rows platformRows) *Platform {
	t.Helper()
	p := &Platform{DB: d, Time: clock.NewManual(StartTime())}
	p.Required, p.ReportOnly, p.Off = rows.required.clone(), rows.reportOnly.clone(), rows.off.clone()
	p.Keys = PlatformKeys(t, 1)
	p.Partners = partners.NewService(d.DB, p.Keys, p.Time)
	p.build(t)
	p.Reload(t)
	return p
}

func (p *Platform) build(t testing.TB) {
	t.Helper()
	var err error
	if p.Cards, err = ratecard.NewService(p.DB.DB, NewQueue(p.DB.DB, p.Time), p.Time); err != nil {
		t.Fatal(err)
	}
	if p.Quotes, err = quote.NewSealer(p.Keys.QuoteKeys()); err != nil {
		t.Fatal(err)
	}
	log, lines := NewLog()
	p.Log, p.Clock, p.Wrappers = lines, p.Time, LocalWrappers(t)
	p.Directory = snapshot.New("directory", p.Partners.LoadDirectory)
	p.Card = snapshot.New("rate_card", p.Cards.LoadCurrent)
	p.Watcher = snapshot.NewWatcher(p.DB.Pool, log, p.Directory, p.Card)
	p.Caps = partners.NewCaps(p.DB.DB, p.Time, log)
	p.Leads = leads.NewStore(p.DB.Pool)
	p.Recorder = intake.NewRecorder(p.DB.Pool, log, 0, func(ctx context.Context) error {
		return p.DB.EnsurePingPartitions(ctx, p.Time.Now(), 1)
	})
	p.Traffic = intake.NewTraffic(p.DB.Pool, log, RequestLogRows)
}

// NewQueue returns a queue of jobs that logs nothing.
func NewQueue(db *postgres.DB, c clock.Clock) *jobs.Queue {
	return jobs.NewQueue(db, c, slog.New(slog.DiscardHandler))
}

// LocalWrappers returns key wrappers with a local key, which is the same for all tests.
func LocalWrappers(t testing.TB) *envelope.Wrappers {
	t.Helper()
	local, err := envelope.NewLocal(bytes.Repeat([]byte{0xEE}, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return envelope.NewWrappers(local)
}

// RegisterKeys registers the wrapping keys, so that leads can be stored with them.
func RegisterKeys(t testing.TB, d *Database, w *envelope.Wrappers) {
	t.Helper()
	if _, err := leads.NewStore(d.DB.Pool).RegisterKeys(t.Context(), w.Keys()); err != nil {
		t.Fatal(err)
	}
}

// PlatformKeys returns Keys with one platform key for each of the given bytes. Each key repeats one of
// these bytes.
func PlatformKeys(t testing.TB, fills ...byte) *keyring.Keys {
	t.Helper()
	var raw [][]byte
	for _, fill := range fills {
		raw = append(raw, bytes.Repeat([]byte{fill}, keyring.KeySize))
	}
	keys, err := keyring.NewKeys(raw)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// AddPartner adds an approved partner with a secret and the given accounts. By default it has two
// accounts: <slug>-main, the default account, and the sandbox account <slug>-trial.
func (p *Platform) AddPartner(
	t testing.TB, slug string, mode models.SigningMode, accounts ...partners.NewAccount,
) Partner {
	t.Helper()
	if accounts == nil {
		accounts = []partners.NewAccount{{Identifier: slug + "-main"}, {Identifier: slug + "-trial", Sandbox: true}}
	}
	row, err := p.Partners.Create(t.Context(), partners.NewPartner{Slug: slug, Name: slug, Signing: mode})
	if err != nil {
		t.Fatal(err)
	}
	made := Partner{Partner: row}
	for _, a := range accounts {
		account, err := p.Partners.CreateAccount(t.Context(), scope.System, row, a)
		if err != nil {
			t.Fatal(err)
		}
		made.Accounts = append(made.Accounts, account)
	}
	secret, err := p.Partners.CreateSecret(t.Context(), scope.System, row, "")
	if err != nil {
		t.Fatal(err)
	}
	made.Secret, made.SecretID = secret.Plain, secret.ID
	if err := p.Partners.SetStatus(t.Context(), scope.System, row.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
	return made
}

// Reload loads changes from the database, as every node does within a second.
func (p *Platform) Reload(t testing.TB) {
	t.Helper()
	if err := p.Watcher.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Caps.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Intake returns an intake that is built from the platform's parts, as in a node.
func (p *Platform) Intake(s intake.Settings) *intake.Intake { return intake.New(p.Deps, s) }

// Sign returns the headers of a post that the partner signed at the given time.
func (p Partner) Sign(at time.Time, body []byte) signing.Headers {
	return SignWith(p.Secret, at, body)
}

// SignWith is like Sign, but uses the given secret.
func SignWith(secret string, at time.Time, body []byte) signing.Headers {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return signing.Headers{Timestamp: []string{stamp}, Signature: []string{signing.Sign([]byte(secret), stamp, body)}}
}

// Actor adds a user without a role or a password, and returns the user as an actor for the audit log.
func Actor(t testing.TB, d *Database, email string) audit.Actor {
	t.Helper()
	actor := audit.Actor{Staff: uuid.New(), Name: email, Role: "finance"}
	d.Exec(t,
		`INSERT INTO staff (id, email, name, status, created_at, updated_at) VALUES ($1, $2, $2, 'invited', now(), now())`,
		actor.Staff, email)
	return actor
}
