package app_test

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
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// contract is the OpenAPI document, read once: that takes half a second.
var contract = sync.OnceValues(func() (*testkit.Contract, error) { return testkit.NewContract(api.Document()) })

// asDocumented holds an exchange against the OpenAPI document: the answer, and
// with valid the request too.
func asDocumented(t testing.TB, req *http.Request, body string, a answer, valid bool) {
	t.Helper()
	c, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	resp := &http.Response{StatusCode: a.status, Header: a.header}
	if err := c.ValidateExchange(req, []byte(body), resp, []byte(a.body), valid); err != nil {
		t.Errorf("not as documented: %v\n%d %s", err, a.status, a.body)
	}
}

// began is when a node's manual clock stands still at first. It has
// milliseconds, so that whatever drops them is seen.
var began = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// node is a whole service on free ports, on a database of its own.
type node struct {
	*app.App
	cfg     *config.Config
	db      *testkit.Database
	clock   clock.Clock   // the service's: hands, unless a test took the machine's
	hands   *clock.Manual // to move it
	keys    *keyring.Keys
	service *partners.Service
	log     *testkit.Log

	required, reportOnly, off partner

	api, admin, ops string // origins
	client          *http.Client
	root            *pgx.Conn

	mu     sync.Mutex
	ids    map[string]bool // request ids seen
	priced int             // pings answered with 200
	lossy  bool            // the test loses answers of the database
	ended  bool
}

// partner is one that a node was started with.
type partner struct {
	models.Partner
	secret   string
	accounts [2]string // partnerIds, the default first
}

// base is the path of the partner's own base URL.
func (p partner) base() string { return "/p/" + p.Slug }

// option changes a node before it starts.
type option func(*node)

func onMachineClock(n *node) { n.clock = clock.System{} }

func withoutKEK(n *node) { n.cfg.Keys.Local = "" }

// startNode starts a node with dev's defaults, a manual clock and everything
// logged. It is stopped, and its log looked at, when the test ends.
func startNode(t *testing.T, options ...option) *node {
	t.Helper()
	n := &node{cfg: config.Defaults(config.Dev), db: testkit.NewDatabase(t), hands: clock.NewManual(began), log: &testkit.Log{}, ids: map[string]bool{}}
	n.clock = n.hands
	n.cfg.HTTP.APIAddr, n.cfg.HTTP.AdminAddr, n.cfg.HTTP.OpsAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	n.cfg.Database.URL = config.Secret(n.db.AppURL)
	n.cfg.Keys.Platform, n.cfg.Keys.Local = []config.Secret{newKey()}, newKey()
	n.cfg.Log.Level, n.cfg.Log.Format = "debug", "json" // what leaks at any level leaks
	for _, change := range options {
		change(n)
	}
	listeners, err := app.Listen(n.cfg.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	n.cfg.HTTP.PublicURL = "http://" + listeners.API.Addr().String()
	if err := n.cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	n.prepare(t)
	if n.App, err = app.Start(t.Context(), app.Options{
		Config: n.cfg, Environment: "development", Clock: n.clock, Log: n.log, Listeners: listeners,
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.stop(t) })
	n.api, n.admin, n.ops = "http://"+n.APIAddr(), "http://"+n.AdminAddr(), "http://"+n.OpsAddr()
	return n
}

// prepare makes the partners, as an operator would have, and the test's own
// tools.
func (n *node) prepare(t *testing.T) {
	t.Helper()
	var err error
	if n.keys, err = keyring.NewKeys(n.cfg.Keys.PlatformKeys()); err != nil {
		t.Fatal(err)
	}
	n.service = partners.NewService(n.db.DB, n.keys, n.clock)
	n.required = n.newPartner(t, "harbour-leads", models.SigningRequired)
	n.reportOnly = n.newPartner(t, "meadow-media", models.SigningReportOnly)
	n.off = n.newPartner(t, "tinker-forms", models.SigningOff)
	if n.root, err = pgx.Connect(t.Context(), n.db.RootURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.root.Close(context.Background()) })
	n.client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 100},
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newPartner makes an approved partner with a secret and two accounts: those
// given, or two plain ones. A node that runs knows it when this returns.
func (n *node) newPartner(t *testing.T, slug string, mode models.SigningMode, accounts ...partners.NewAccount) partner {
	t.Helper()
	ctx := t.Context()
	if accounts == nil {
		accounts = []partners.NewAccount{{Identifier: slug + "-main"}, {Identifier: slug + "-second"}}
	}
	row, err := n.service.Create(ctx, partners.NewPartner{Slug: slug, Name: slug, Signing: mode})
	if err != nil {
		t.Fatal(err)
	}
	p := partner{Partner: row}
	for i, account := range accounts {
		if _, err := n.service.CreateAccount(ctx, row, account); err != nil {
			t.Fatal(err)
		}
		p.accounts[i] = account.Identifier
	}
	made, err := n.service.CreateSecret(ctx, row, "")
	if err != nil {
		t.Fatal(err)
	}
	p.secret = made.Plain
	if err := n.service.SetStatus(ctx, scope.System, row.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
	if n.App != nil {
		n.knows(t, p)
	}
	return p
}

// stop stops the node, unless the test has done so itself.
func (n *node) stop(t *testing.T) {
	t.Helper()
	if n.ended {
		return
	}
	n.client.CloseIdleConnections()
	if err := n.Stop(context.Background()); err != nil {
		t.Error("stopping the node:", err)
	}
	n.over(t)
}

// over checks what must hold of every node that has been stopped, whatever was
// sent to it: nothing panicked, and every ping that was answered with 200 was
// recorded, and no other.
func (n *node) over(t *testing.T) {
	t.Helper()
	n.ended = true
	n.client.CloseIdleConnections()
	if log := n.log.String(); strings.Contains(strings.ToLower(log), "panic") {
		t.Errorf("something panicked:\n%s", log)
	}
	count := "SELECT count(*) FROM pings"
	if n.lossy { // a batch whose answer is lost is written once more: pings are a log without a key (D2)
		count = "SELECT count(DISTINCT transaction) FROM pings"
	}
	var recorded int
	if err := n.root.QueryRow(context.Background(), count).Scan(&recorded); err != nil {
		t.Fatal(err)
	}
	if recorded != n.priced {
		t.Errorf("%d pings were answered with 200 and %d were recorded", n.priced, recorded)
	}
}

func newKey() config.Secret {
	var raw [32]byte
	rand.Read(raw[:])
	return config.Secret(base64.StdEncoding.EncodeToString(raw[:]))
}
