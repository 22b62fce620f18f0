// Package node starts whole nodes for system tests, sends requests to them, and reads what they have
// stored and logged.
package node

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/api"
	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
)

// contract returns the OpenAPI document. It parses the document only once, because parsing takes half a
// second.
var contract = sync.OnceValues(func() (*testkit.Contract, error) { return testkit.NewContract(api.Document()) })

// asDocumented checks a response against the OpenAPI document. If the parameter valid is true, it
// checks the request as well.
func asDocumented(t testing.TB, req *http.Request, body string, a Answer, valid bool) {
	t.Helper()
	c, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	resp := &http.Response{StatusCode: a.Status, Header: a.Header}
	if err := c.ValidateExchange(req, []byte(body), resp, []byte(a.Body), valid); err != nil {
		t.Errorf("does not match the OpenAPI document: %v\n%d %s", err, a.Status, a.Body)
	}
}

// StartTime is the initial time of a node's manual clock. Its milliseconds are not zero, so that tests
// detect code that drops them.
var StartTime = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// Version is the version of the program that nodes log.
const Version = "v1.2.3"

// Node is a complete service that listens on free ports. A node has its own database, unless StartPeer
// started it.
type Node struct {
	*app.App
	Config   *config.Config
	DB       *testkit.Database
	Clock    clock.Clock   // the service's clock: Manual unless OnMachineClock is used
	Manual   *clock.Manual // a clock that tests can set
	Keys     *keyring.Keys
	Partners *partners.Service
	Log      *testkit.Log

	Required, ReportOnly, Off Partner

	API, Admin, Ops string // origins
	Client          *http.Client
	Root            *pgx.Conn

	// ReadConfig reads the configuration again, for its secrets; nil if they are never replaced.
	ReadConfig func() (*config.Config, error)

	LosesAnswers bool // the test drops some of the database's responses
	seen         *seen
	stopped      bool
}

// The type seen records the responses of all nodes on one database.
type seen struct {
	mu         sync.Mutex
	requestIDs map[string]bool
	priced     int // pings answered with 200
}

// Partner is a partner for tests, with its secret and its accounts.
type Partner struct {
	models.Partner
	Secret   string
	Accounts [2]string // partnerIds; the first is the default account's
}

// Base returns the path of the partner's own base URL.
func (p Partner) Base() string { return "/p/" + p.Slug }

// Option changes a node's settings before it starts.
type Option func(*Node)

// OnMachineClock makes the node use the system clock.
func OnMachineClock(n *Node) { n.Clock = clock.System{} }

// WithVault makes a node use Vault at the given URL instead of the local key, and the system clock.
func WithVault(v *testkit.Vault, url string) Option {
	return func(n *Node) {
		n.Config.Keys.Local = nil
		n.Config.Vault.Address = url
		role := v.Roles[devvault.Serve]
		n.Config.Vault.RoleID, n.Config.Vault.SecretID = role.RoleID, config.Secret(role.SecretID)
		n.Config.Vault.Timeout = time.Second
		OnMachineClock(n)
	}
}

// Start starts a node with the default settings of pingpost dev and a manual clock. The node logs at all
// levels. Shutdown is called when the test ends.
func Start(t *testing.T, options ...Option) *Node {
	t.Helper()
	n := &Node{
		Config: config.Defaults(config.Dev),
		DB:     testkit.NewDatabase(t),
		Manual: clock.NewManual(StartTime),
		Log:    &testkit.Log{},
		seen:   &seen{requestIDs: map[string]bool{}},
	}
	n.Clock = n.Manual
	n.Config.HTTP.APIAddr, n.Config.HTTP.AdminAddr, n.Config.HTTP.OpsAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	n.Config.Database.URL = config.Secret(n.DB.AppURL)
	n.Config.Keys.Platform, n.Config.Keys.Local = []config.Secret{NewKey()}, []config.Secret{NewKey()}
	n.Config.Log.Level, n.Config.Log.Format = "debug", "json" // personal data must not be logged at any level
	for _, change := range options {
		change(n)
	}
	listeners, err := app.Listen(n.Config.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	n.Config.HTTP.PublicURL = "http://" + listeners.API.Addr().String()
	n.Config.HTTP.AdminURL = "http://localhost:8081"
	if listeners.Admin != nil {
		n.Config.HTTP.AdminURL = "http://" + listeners.Admin.Addr().String()
	}
	if err := n.Config.Validate(); err != nil {
		t.Fatal(err)
	}
	n.prepare(t)
	if err := n.launch(t, listeners); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Shutdown(t) })
	return n
}

func (n *Node) launch(t testing.TB, listeners *app.Listeners) (err error) {
	if n.App, err = app.Start(t.Context(), app.Options{
		Config: n.Config, Environment: "development", Version: Version, Clock: n.Clock, Log: n.Log, Listeners: listeners,
		ReadConfig: n.ReadConfig,
	}); err != nil {
		return err
	}
	n.stopped = false
	n.API, n.Admin, n.Ops = "http://"+n.APIAddr(), "http://"+n.AdminAddr(), "http://"+n.OpsAddr()
	return nil
}

// StartAgain starts a stopped node again, as if in a new process.
func (n *Node) StartAgain(t *testing.T) {
	t.Helper()
	if err := n.launch(t, nil); err != nil {
		t.Fatal(err)
	}
}

// StartPeer starts another node on the same database. The new node is stopped when the test ends.
func (n *Node) StartPeer(t *testing.T, options ...Option) *Node {
	t.Helper()
	other, err := n.TryStartPeer(t, options...)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// TryStartPeer is like StartPeer, but returns an error if the node does not start.
func (n *Node) TryStartPeer(t *testing.T, options ...Option) (*Node, error) {
	t.Helper()
	other, config := *n, *n.Config
	other.Config = &config
	for _, change := range options {
		change(&other)
	}
	if err := other.launch(t, nil); err != nil {
		return nil, err
	}
	t.Cleanup(func() { other.Close(t) })
	return &other, nil
}

// prepare creates the partners, as an operator would, and opens the test's own connection to the
// database.
func (n *Node) prepare(t *testing.T) {
	t.Helper()
	var err error
	if n.Keys, err = keyring.NewKeys(n.Config.Keys.PlatformKeys()); err != nil {
		t.Fatal(err)
	}
	n.Partners = partners.NewService(n.DB.DB, n.Keys, n.Clock)
	n.Required = n.NewPartner(t, "harbour-leads", models.SigningRequired)
	n.ReportOnly = n.NewPartner(t, "meadow-media", models.SigningReportOnly)
	n.Off = n.NewPartner(t, "tinker-forms", models.SigningOff)
	if n.Root, err = pgx.Connect(t.Context(), n.DB.RootURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Root.Close(context.Background()) })
	n.Client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 100},
		Timeout:       Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// NewPartner creates an approved partner with a secret and the given accounts. If no accounts are given,
// it creates two. If the node is running, NewPartner waits until the node knows the partner.
func (n *Node) NewPartner(t *testing.T, slug string, mode models.SigningMode, accounts ...partners.NewAccount) Partner {
	t.Helper()
	ctx := t.Context()
	if accounts == nil {
		accounts = []partners.NewAccount{{Identifier: slug + "-main"}, {Identifier: slug + "-second"}}
	}
	row, err := n.Partners.Create(ctx, partners.NewPartner{Slug: slug, Name: slug, Signing: mode})
	if err != nil {
		t.Fatal(err)
	}
	p := Partner{Partner: row}
	for i, account := range accounts {
		if _, err := n.Partners.CreateAccount(ctx, scope.System, row, account); err != nil {
			t.Fatal(err)
		}
		p.Accounts[i] = account.Identifier
	}
	made, err := n.Partners.CreateSecret(ctx, scope.System, row, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Secret = made.Plain
	if err := n.Partners.SetStatus(ctx, scope.System, row.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
	if n.App != nil {
		n.AwaitPartner(t, p)
	}
	return p
}

// Close stops the node if it is running.
func (n *Node) Close(t *testing.T) {
	t.Helper()
	if n.stopped {
		return
	}
	n.stopped = true
	n.Client.CloseIdleConnections()
	if err := n.Stop(context.Background()); err != nil {
		t.Error("stopping the node:", err)
	}
}

// Shutdown stops the node and calls CheckStopped, unless the node has already been stopped.
func (n *Node) Shutdown(t *testing.T) {
	t.Helper()
	if !n.stopped {
		n.Close(t)
		n.CheckStopped(t)
	}
}

// CheckStopped fails the test if a stopped node has panicked, or if the number of recorded pings differs
// from the number of pings that were answered with 200.
func (n *Node) CheckStopped(t *testing.T) {
	t.Helper()
	n.stopped = true
	n.Client.CloseIdleConnections()
	if log := n.Log.String(); strings.Contains(strings.ToLower(log), "panic") {
		t.Errorf("the node panicked:\n%s", log)
	}
	count := "SELECT count(*) FROM pings"
	if n.LosesAnswers { // a batch is written twice if the response to it is lost, because pings have no key (decision 2)
		count = "SELECT count(DISTINCT transaction) FROM pings"
	}
	var recorded int
	if err := n.Root.QueryRow(context.Background(), count).Scan(&recorded); err != nil {
		t.Fatal(err)
	}
	if priced := n.PricedPings(); recorded != priced {
		t.Errorf("%d pings were answered with 200, but %d were recorded", priced, recorded)
	}
}

// NewKey returns a random key that can be used as a platform key or as the local key.
func NewKey() config.Secret {
	var raw [32]byte
	rand.Read(raw[:])
	return config.Secret(base64.StdEncoding.EncodeToString(raw[:]))
}
