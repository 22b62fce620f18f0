package faults

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// fewConnections is the number of the node's database connections. It is small, so that each connection has
// prepared the statements of every page before a column is added.
const fewConnections = 4

// roundPatience limits a round of requests and jobs. Rounds are slow when the machine is busy.
const roundPatience = 5 * time.Minute

// TestColumnsAddedUnderLoad adds a column to every table while partners send requests, staff use the console
// and jobs run. Statements that were prepared before must still work, because nodes keep running while a
// schema is migrated.
func TestColumnsAddedUnderLoad(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) {
		n.Config.Database.MaxConnections = fewConnections
		n.Config.Database.StatementTimeout = roundPatience
		n.Config.Privacy.ErasureJournal = t.TempDir()
		n.Config.Console.SecondFactorRoles = nil
	})
	b := newBusyNode(t, n)
	pages := b.pages(t)
	// Enough users at once use all connections.
	var users sync.WaitGroup
	for range 2 * fewConnections {
		users.Go(func() { b.visit(t, pages) })
	}
	users.Wait()
	if t.Failed() {
		t.FailNow()
	}

	var stopped atomic.Bool
	var load sync.WaitGroup
	stop := func() {
		stopped.Store(true)
		load.Wait()
	}
	defer stop()
	var rounds []*atomic.Int64
	repeat := func(do func()) {
		done := new(atomic.Int64)
		rounds = append(rounds, done)
		load.Go(func() {
			for !stopped.Load() && !t.Failed() {
				do()
				done.Add(1)
			}
		})
	}
	awaitRounds := func() { // two, because the first one has already started
		t.Helper()
		for _, done := range rounds {
			before := done.Load()
			testkit.Eventually(t, roundPatience, "two more rounds", func() bool { return t.Failed() || done.Load() >= before+2 })
		}
	}
	repeat(func() { b.sendRequests(t) })
	repeat(func() { b.visit(t, pages) })
	repeat(func() { b.runJobs(t) })
	awaitRounds()
	addColumns(t, n)
	awaitRounds()
	stop()

	if failed := testkit.Value[int](t, n.DB, `SELECT count(*) FROM jobs WHERE failure <> '' OR attempt > 1`); failed > 0 {
		t.Errorf("%d jobs have failed, want 0", failed)
	}
	for line := range strings.Lines(n.Log.String()) {
		if strings.Contains(line, "0A000") {
			t.Error(line)
		}
	}
}

// addColumns adds a column to every table, as a migration of a later version would. Like `migrate up`, it
// gives up after a short wait for a lock and tries again, so that it does not block other statements for
// long.
func addColumns(t *testing.T, n *node.Node) {
	t.Helper()
	ctx := t.Context()
	owner := testkit.Connect(t, n.DB.OwnerURL)
	if _, err := owner.Exec(ctx, `SET lock_timeout = '200ms'`); err != nil {
		t.Fatal(err)
	}
	rows, _ := owner.Query(ctx, `SELECT c.oid::regclass::text FROM pg_class c
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace ORDER BY 1`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		testkit.Eventually(t, roundPatience, "a column is added to "+table, func() bool {
			_, err := owner.Exec(ctx, `ALTER TABLE `+table+` ADD COLUMN added_later text`)
			if rejected, ok := errors.AsType[*pgconn.PgError](err); ok && rejected.Code == "55P03" {
				return false
			}
			if err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			return true
		})
	}
}

// busyNode is a node with partners that send requests and a user with all permissions.
type busyNode struct {
	*node.Node
	user *admintest.Client
	lead string // the leadId of a delivered lead
}

func newBusyNode(t *testing.T, n *node.Node) *busyNode {
	t.Helper()
	const email = "everywhere@example.com"
	people := staff.NewService(n.DB.DB, n.Keys, n.Clock, staff.Settings{PasswordCost: testkit.CheapPasswords()})
	_, err := people.By(audit.Operator).Seed(t.Context(), staff.NewMember{
		Email: email, Name: "Ada Marsh",
		Roles: []models.StaffRole{
			{Role: models.Administrator}, {Role: models.AccountManager}, {Role: models.PricingManager},
			{Role: models.Finance}, {Role: models.Privacy},
		},
	}, admintest.Password)
	if err != nil {
		t.Fatal(err)
	}
	b := &busyNode{Node: n}
	const post = `{"transactionId":"$TX","contact":{"email":"` + node.PersonEmail + `"},"consent":{"acknowledged":true,"disclosureText":"I agree."}}`
	b.lead = n.Deliver(t, n.Required, post).LeadID
	n.Manual.Advance(time.Hour) // so that a payout run can contain the lead
	b.user = admintest.SignedInAt(t, n.Admin, email)
	testkit.Eventually(t, node.Patience, "the node knows the user's roles",
		func() bool { return b.user.Get(t, "/staff").Status == http.StatusOK })
	return b
}

// sendRequests sends a ping, a post, the same post again, and an invalid post.
func (b *busyNode) sendRequests(t *testing.T) {
	t.Helper()
	body := b.FreshPost(t, b.Required)
	for range 2 {
		if a := b.Post(t, b.Required, body); a.Status != http.StatusOK {
			t.Errorf("post: got %d %s, want 200", a.Status, a.Body)
		}
	}
	if a := b.Post(t, b.Required, "{}"); a.Status != http.StatusBadRequest {
		t.Errorf("invalid post: got %d %s, want 400", a.Status, a.Body)
	}
}

// visit requests pages. None of them may fail.
func (b *busyNode) visit(t *testing.T, pages []string) {
	t.Helper()
	for _, page := range pages {
		if p := b.user.Get(t, page); p.Status >= http.StatusInternalServerError {
			t.Errorf("%s: got %d: %s", page, p.Status, p.Text())
		}
	}
}

// submit submits a form with the user's password. It returns the URL of the page that the response redirects to.
func (b *busyNode) submit(t *testing.T, path string, form url.Values) string {
	t.Helper()
	form.Set("proof", admintest.Password)
	p := b.user.Post(t, path, form)
	if p.Status != http.StatusSeeOther {
		t.Errorf("%s: got %d, want 303: %s", path, p.Status, p.Text())
	}
	return p.Location()
}

// awaitState waits until a page shows the wanted state.
func (b *busyNode) awaitState(t *testing.T, page, want string) {
	t.Helper()
	testkit.Eventually(t, roundPatience, page+" is "+want,
		func() bool { return t.Failed() || b.user.Get(t, page).State() == want })
}

// runJobs runs a job of each kind, and returns the URLs of the results.
func (b *busyNode) runJobs(t *testing.T) (export, run, reconciliation string) {
	t.Helper()
	export = b.submit(t, "/payouts/exports", url.Values{"currency": {"GBP"}})
	run = b.submit(t, "/payouts/runs/new", url.Values{
		"currency": {"GBP"}, "cutoff": {b.Clock.Now().UTC().Format(payoutpages.CutoffForm)},
	})
	p := b.user.Upload(t, b.Required.Slug, "march.csv", "leadId,amount,currency\n"+b.lead+",0.01,GBP\n")
	reconciliation = p.ExpectCreated(t, "/reconciliation/rn_")
	today := b.Clock.Now().UTC()
	b.submit(t, reconciliation+"/compare", url.Values{
		"version": {"1"}, "lead_id": {"leadId"}, "amount": {"amount"}, "currency": {"in:currency"},
		"from": {today.AddDate(0, 0, -1).Format(time.DateOnly)}, "to": {today.Format(time.DateOnly)},
	})
	b.awaitState(t, export+"/live", "done")
	b.awaitState(t, reconciliation, "compared")
	b.awaitState(t, run+"/live", "prepared")
	b.submit(t, run+"/cancel", url.Values{"version": {"2"}, "reason": {"A test"}}) // so that another run can start
	return export, run, reconciliation
}

// pages creates an object of each kind, and returns the URLs of all pages.
func (b *busyNode) pages(t *testing.T) (all []string) {
	t.Helper()
	lead, partner := "/leads/"+b.lead, web.PartnerURL(b.Required.ID)
	export, run, reconciliation := b.runJobs(t)
	b.submit(t, lead+"/hold", url.Values{"person": {"no"}, "reason": {"case 7"}})
	key := func(sql string) uuid.UUID { return testkit.Value[uuid.UUID](t, b.DB, sql) }
	pathOf := strings.NewReplacer(
		"/{$}", "/",
		"/leads/{id}", lead,
		"/partners/{id}", partner,
		"/pricing/drafts/{id}", b.submit(t, "/pricing/drafts/new", url.Values{"title": {"Winter"}, "from": {"1"}}),
		"/payouts/exports/{id}", export,
		"/payouts/returns/{id}", b.submit(t, "/payouts/returns/new", url.Values{"lead": {b.lead}, "reason": {"fraud"}, "evidence": {"Not a person"}}),
		"/payouts/runs/{id}", run,
		"/privacy/requests/{id}", b.submit(t, "/privacy/requests/new", url.Values{
			"kind": {"access"}, "received_on": {b.Clock.Now().UTC().Format(time.DateOnly)}, "email": {node.PersonEmail},
		}),
		"/privacy/disclosures/{id}", web.DisclosureURL(key(`SELECT id FROM disclosures`)),
		"/reconciliation/{id}", reconciliation,
		"/staff/{id}", "/staff/"+id.Format(id.Staff, key(`SELECT id FROM staff`)),
		"/jobs/{id}", "/jobs/1",
		"{partner}", id.Format(id.Partner, b.Required.ID),
		"{account}", id.Format(id.Account, key(`SELECT id FROM accounts WHERE identifier = 'harbour-leads-main'`)),
		"{secret}", id.Format(id.Secret, key(`SELECT s.id FROM signing_secrets s JOIN partners p ON p.id = partner_id WHERE slug = 'harbour-leads'`)),
		"{n}", "1", "{position}", "0", "{line}", "1",
	)
	for _, r := range admin.Routes(admin.Options{}) {
		if r.Method == http.MethodGet && !r.Open && r.Login == "" {
			all = append(all, pathOf.Replace(r.Path))
		}
	}
	for _, tab := range []string{"details", "signing", "secrets", "prices", "traffic", "requests", "documentation", "audit"} {
		all = append(all, partner+"?tab="+tab)
	}
	return append(all, "/partners?q=harbour", "/leads?partner=harbour-leads", "/audit?object="+b.lead, "/jump?q="+b.lead)
}
