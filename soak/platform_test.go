package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
)

const (
	slug     = "harbour-leads"
	database = "soak"
	// recovery limits how long a part of the platform may take to recover.
	recovery = 60 * time.Second
)

var passwords = devpg.Passwords{Owner: "owner-of-soak", App: "app-of-soak"}

// platform has two nodes and a Postgres server, all in separate processes.
type platform struct {
	postgres *devpg.Server
	// databaseURL is the URL for the nodes and commands.
	databaseURL  string
	url          func(user, password, database string) string // not through the network
	superuserURL func(database string) string
	options      devpg.Options
	network      *testkit.Network // between the nodes and Postgres
	nodes        [2]*node
	secret       string
}

// The partitions that contain most of the leads of a test.
const (
	shortPartitions = 40
	partitionLength = 4 * time.Second
)

// setup configures startPlatform.
type setup struct {
	postgres devpg.Options               // by default as durable as in production, in a temporary folder
	prepare  func(*testing.T, *platform) // called before the nodes start; may be nil
	// server returns the address to which the nodes and commands connect. By default, it is Postgres's.
	server func(*testing.T, *platform) string
}

// throughPgBouncer starts a PgBouncer in session mode.
func throughPgBouncer(t *testing.T, p *platform) string {
	t.Helper()
	// The pool has enough connections for two nodes and the commands.
	settings := []string{"pool_mode = session", "default_pool_size = 60", "max_client_conn = 200"}
	return testkit.NewPgBouncer(t, settings, p.postgres.URL(devpg.AppRole, passwords.App, database)).Address
}

func durablePostgres(t *testing.T) devpg.Options {
	t.Helper()
	folder, err := os.MkdirTemp("", "pingpost-soak-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return devpg.Options{DataDir: folder, Durable: true}
}

// startPlatform starts a platform.
func startPlatform(t *testing.T, with setup) *platform {
	t.Helper()
	if with.postgres.DataDir == "" {
		with.postgres = durablePostgres(t)
	}
	p := &platform{options: with.postgres}
	t.Cleanup(func() {
		if p.postgres == nil {
			return
		}
		if err := p.postgres.Stop(); err != nil {
			t.Error(err)
		}
	})
	p.startPostgres(t)
	p.options.Port = p.postgres.Port()
	server := fmt.Sprintf("127.0.0.1:%d", p.options.Port)
	if with.server != nil {
		server = with.server(t, p)
	}
	p.network = testkit.NewNetwork(t, server)
	port := fmt.Sprintf("127.0.0.1:%d", p.options.Port)
	p.url = func(user, password, name string) string { return p.postgres.URL(user, password, name) }
	p.databaseURL = strings.Replace(p.url(devpg.AppRole, passwords.App, database), port, p.network.Address(), 1)
	p.superuserURL = func(name string) string { return p.postgres.SuperuserURL(name) }
	p.createDatabase(t)
	if with.prepare != nil {
		with.prepare(t, p)
	}
	p.createPartner(t)
	for i := range p.nodes {
		p.nodes[i] = p.newNode(t, fmt.Sprintf("node %d", i))
		p.nodes[i].start(t)
	}
	return p
}

// createDatabase creates the roles and the database, and applies the migrations.
func (p *platform) createDatabase(t *testing.T) {
	t.Helper()
	if err := devpg.Provision(t.Context(), p.superuserURL("postgres"), database, passwords); err != nil {
		t.Fatal(err)
	}
	owner, err := postgres.OpenOwner(p.url(devpg.OwnerRole, passwords.Owner, database), 10*time.Second)
	if err == nil {
		defer owner.Close()
		_, err = migrations.Up(t.Context(), owner)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// newNode returns a node that has not started. The settings replace those of the platform.
func (p *platform) newNode(t *testing.T, name string, settings ...string) *node {
	t.Helper()
	n := &node{name: name, environment: slices.Concat(p.environment(), []string{
		"PINGPOST_DATABASE_SNAPSHOT_FILE=" + filepath.Join(t.TempDir(), "snapshot"),
		"PINGPOST_HTTP_API_ADDR=" + testkit.FreeAddress(t), "PINGPOST_HTTP_ADMIN_ADDR=" + testkit.FreeAddress(t),
		"PINGPOST_HTTP_OPS_ADDR=" + testkit.FreeAddress(t), "PINGPOST_HTTP_PROFILE_ADDR=" + testkit.FreeAddress(t),
	}, settings)}
	t.Cleanup(func() {
		if n.cmd != nil {
			n.kill(t)
		}
	})
	return n
}

// createShortPartitions creates partitions of partitionLength for the coming minutes, so that faults
// also occur when one partition ends and the next begins, as at the end of a month. The nodes create the
// partitions before and after these.
func createShortPartitions(t *testing.T, p *platform) {
	t.Helper()
	root := p.root(t)
	for _, table := range []string{"leads", "lead_keys", "consents", "lead_events", "ledger_entries", "payout_run_entries"} {
		bound := "%L::timestamptz"
		if table != "ledger_entries" && table != "payout_run_entries" {
			bound = "first_id(%L)"
		}
		at := time.Now().UTC().Truncate(time.Second)
		for i := range shortPartitions {
			from, until := at.Add(time.Duration(i)*partitionLength), at.Add(time.Duration(i+1)*partitionLength)
			sql := fmt.Sprintf(`CREATE TABLE %[1]s_short_%[2]d PARTITION OF %[1]s FOR VALUES FROM (%[3]s) TO (%[3]s)`, table, i, bound)
			for _, bound := range []time.Time{from, until} {
				sql = strings.Replace(sql, "%L", "'"+bound.Format(time.RFC3339)+"'", 1)
			}
			if _, err := root.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (p *platform) environment() []string {
	return []string{
		"PINGPOST_DATABASE_URL=" + p.databaseURL,
		"PINGPOST_PLATFORM_KEYS=c29hay1zb2FrLXNvYWstc29hay1zb2FrLXNvYWstc28=", "LEAD_VAULT_KEK=a2VrLWtlay1rZWsta2VrLWtlay1rZWsta2VrLWtlayE=",
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com", "PINGPOST_HTTP_ADMIN_URL=https://console.example.com",
		"PINGPOST_LIMITS_PINGS_PER_ADDRESS=0", "PINGPOST_LIMITS_SHARED_PINGS_PER_ADDRESS=0", "PINGPOST_LIMITS_UNSIGNED_POSTS_PER_ADDRESS=0", "PINGPOST_LIMITS_POSTS_PER_PARTNER=0", "PINGPOST_LIMITS_SIGNATURE_FAILURES_PER_MINUTE=0", // all clients have the same address and belong to the same partner
		"PINGPOST_CONSOLE_SECOND_FACTOR_ROLES=administrator",
	}
}

// createPartner creates an approved partner that must sign its posts.
func (p *platform) createPartner(t *testing.T) {
	t.Helper()
	p.run(t, "partner", "create", slug, "--signing", "required")
	p.run(t, "account", "create", slug, slug)
	p.secret = p.newSecret(t).Secret
	p.run(t, "partner", "approve", slug)
}

type newSecret struct{ ID, Secret string }

func (p *platform) newSecret(t *testing.T) (made newSecret) {
	t.Helper()
	if err := json.Unmarshal(p.run(t, "secret", "create", slug, "--json"), &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// run runs a command and returns its output.
func (p *platform) run(t *testing.T, args ...string) []byte {
	t.Helper()
	return runCommand(t, p.command(t, args...))
}

// command returns a command with the platform's settings, which has not been started.
func (p *platform) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), binary, args...)
	// The nodes keep both cores busy, so a command may need longer to connect.
	cmd.Env = append(p.environment(), "PINGPOST_DATABASE_CONNECT_TIMEOUT=1m")
	return cmd
}

// runCommand runs a command and returns its output.
func runCommand(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return out
}

func (p *platform) startPostgres(t *testing.T) {
	t.Helper()
	var err error
	for end := time.Now().Add(recovery); ; { // killed processes may take a moment to exit
		if p.postgres, err = devpg.Start(t.Context(), p.options); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// killPostgres kills all of Postgres's processes and starts Postgres again.
func (p *platform) killPostgres(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dataDirectory(t), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(first))
	if err != nil || pid <= 1 {
		t.Fatalf("postmaster.pid does not contain a process ID: %q", first)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.postgres.Done():
	case <-time.After(recovery):
		t.Fatal("Postgres is still running after SIGKILL")
	}
	p.startPostgres(t)
}

// killBackend kills one of Postgres's backend processes. Postgres then restarts all of them.
func (p *platform) killBackend(t *testing.T) {
	t.Helper()
	c := testkit.Connect(t, p.superuserURL(database))
	var pid int
	if err := c.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity WHERE usename = $1 ORDER BY random() LIMIT 1`, devpg.AppRole).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

func (p *platform) dataDirectory(t *testing.T) (dir string) {
	t.Helper()
	if err := p.root(t).QueryRow(t.Context(), `SHOW data_directory`).Scan(&dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// root opens a connection as the superuser.
func (p *platform) root(t *testing.T) *pgx.Conn {
	t.Helper()
	return testkit.Connect(t, p.superuserURL(database))
}

// node is one process of the service.
type node struct {
	name        string
	environment []string
	cmd         *exec.Cmd
	ended       chan struct{}
	log         testkit.Log
	down        atomic.Bool // set before the node is killed, cleared when it is ready again
}

// url returns the URL of a listener: "API", "ADMIN" or "OPS".
func (n *node) url(listener string) string {
	for _, setting := range n.environment {
		if address, ok := strings.CutPrefix(setting, "PINGPOST_HTTP_"+listener+"_ADDR="); ok {
			return "http://" + address
		}
	}
	return ""
}

// start starts the node and waits until it is ready.
func (n *node) start(t *testing.T) {
	t.Helper()
	n.launch(t)
	n.await(t, n.ready)
	n.down.Store(false)
}

func (n *node) launch(t *testing.T) {
	t.Helper()
	n.cmd = exec.Command(binary, "serve")
	n.cmd.Env, n.cmd.Stdout, n.cmd.Stderr = n.environment, &n.log, &n.log
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(n.cmd, n.ended)
}

// await waits until the condition is true. The test fails if the node exits.
func (n *node) await(t *testing.T, condition func(context.Context) bool) {
	t.Helper()
	testkit.Eventually(t, recovery, n.name+" reaches the expected state", func() bool {
		select {
		case <-n.ended:
			t.Fatalf("%s exited:\n%s", n.name, n.log.String())
		default:
		}
		return condition(t.Context())
	})
}

func (n *node) ready(ctx context.Context) bool {
	failing, err := n.failingChecks(ctx)
	return err == nil && len(failing) == 0
}

// failingChecks returns the names of the checks of /readyz that fail.
func (n *node) failingChecks(ctx context.Context) (failing []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("OPS")+"/readyz", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct{ Checks map[string]string }
	err = json.NewDecoder(resp.Body).Decode(&answer)
	for check, state := range answer.Checks {
		if state != "ok" {
			failing = append(failing, check)
		}
	}
	return failing, err
}

const (
	// unreadyWithin and readyWithin limit how long a node takes to notice that it cannot store leads, and
	// that it can store them again.
	unreadyWithin = 5 * time.Second
	readyWithin   = 10 * time.Second
)

// awaitUnready waits until each node reports that one of the given checks fails.
func (p *platform) awaitUnready(t *testing.T, checks ...string) {
	t.Helper()
	p.awaitNodes(t, unreadyWithin, "is not ready", func(n *node) bool {
		failing, err := n.failingChecks(t.Context())
		return err == nil && slices.ContainsFunc(failing, func(check string) bool { return slices.Contains(checks, check) })
	})
}

// awaitReady waits until all nodes are ready.
func (p *platform) awaitReady(t *testing.T) {
	t.Helper()
	p.awaitNodes(t, readyWithin, "is ready again", func(n *node) bool { return n.ready(t.Context()) })
}

func (p *platform) awaitNodes(t *testing.T, within time.Duration, what string, holds func(*node) bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for _, n := range p.nodes {
		testkit.Eventually(t, time.Until(deadline), n.name+" "+what, func() bool { return holds(n) })
	}
}

func (n *node) kill(t *testing.T) {
	t.Helper()
	n.down.Store(true)
	if err := n.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-n.ended
}
