package soak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

func TestTwoNodes(t *testing.T) {
	t.Parallel()
	twoNodes(t, startPlatform(t, setup{prepare: createShortPartitions}))
}

// TestTwoNodesThroughPgBouncer is like TestTwoNodes, with a PgBouncer between the nodes and Postgres.
func TestTwoNodesThroughPgBouncer(t *testing.T) {
	t.Parallel()
	twoNodes(t, startPlatform(t, setup{prepare: createShortPartitions, server: throughPgBouncer}))
}

func twoNodes(t *testing.T, p *platform) {
	t.Run("identical posts", func(t *testing.T) { identicalPosts(t, p) })
	t.Run("changes", func(t *testing.T) { changesReachEveryNode(t, p) })
	t.Run("changes without LISTEN", func(t *testing.T) {
		p.withoutListen(t)
		changesReachEveryNode(t, p)
	})
	t.Run("slow clients", func(t *testing.T) { slowClients(t, p) })
	t.Run("rolling restarts", func(t *testing.T) { rollingRestarts(t, p) })
}

// identicalPosts sends the same post to both nodes 1000 times concurrently and checks that this creates
// only one lead.
func identicalPosts(t *testing.T, p *platform) {
	c := p.client()
	tx, err := c.ping(p.nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	const posts = 1000
	var all sync.WaitGroup
	var first atomic.Int64
	var leads sync.Map
	slots := make(chan struct{}, 100) // limits the open connections
	for i := range posts {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			a, _, _, err := c.post(p.nodes[i%2], postBody(tx, 1))
			switch {
			case err != nil || a.lead == "":
				t.Errorf("post %d: %s, %v", i, a.outcome, err)
			case a.outcome == stored:
				first.Add(1)
			}
			leads.Store(a.lead, true)
		})
	}
	all.Wait()
	different := 0
	leads.Range(func(any, any) bool { different++; return true })
	if first.Load() != 1 || different != 1 {
		t.Errorf("got %d answers without Idempotent-Replayed and %d lead IDs, want 1 and 1", first.Load(), different)
	}
	if all := p.leads(t); len(all) != 1 {
		t.Errorf("got %d stored leads, want 1", len(all))
	}
}

// changesReachEveryNode checks that both nodes apply changes to partners, secrets, prices and users. It
// logs how long this takes, which should be less than a second.
func changesReachEveryNode(t *testing.T, p *platform) {
	c := p.client()
	within := func(what string, holds func(n *node) bool) {
		t.Helper()
		start := time.Now()
		for _, n := range p.nodes {
			testkit.Eventually(t, recovery, what+" on "+n.name, func() bool { return holds(n) })
		}
		t.Logf("%s after %s", what, time.Since(start).Round(time.Millisecond))
	}
	posts := func(status int, secret string) func(n *node) bool {
		return func(n *node) bool {
			tx, err := c.ping(n)
			if err != nil || tx == "" {
				tx = "tx_" + strings.Repeat("A", 100) // not valid, which is checked after the signature
			}
			return c.status(n, postBody(tx, 1), secret) == status
		}
	}
	p.run(t, "partner", "suspend", slug)
	// A node that knows that the partner is suspended gives it no transactionId.
	within("partner suspended", posts(http.StatusBadRequest, p.secret))
	p.run(t, "partner", "approve", slug)
	within("partner approved", posts(http.StatusOK, p.secret))

	made := p.newSecret(t)
	within("new secret", posts(http.StatusOK, made.Secret))
	p.run(t, "secret", "revoke", slug, made.ID)
	within("secret revoked", posts(http.StatusUnauthorized, made.Secret))

	prices := func(n *node) bool {
		tx, err := c.ping(n)
		return err == nil && tx != ""
	}
	p.publish(t, "true")
	within("plumbers excluded", func(n *node) bool { return !prices(n) })
	p.publish(t, "false")
	within("plumbers included", prices)

	p.staffChangesReachEveryNode(t, within)
}

// publish publishes a copy of the current version. The parameter exclude states whether plumbers are
// excluded.
func (p *platform) publish(t *testing.T, exclude string) {
	t.Helper()
	_, err := p.root(t).Exec(t.Context(), fmt.Sprintf(`DO $$
		DECLARE last record; card uuid := gen_random_uuid();
		BEGIN
			SELECT id, version INTO last FROM rate_cards WHERE state = 'published' ORDER BY version DESC LIMIT 1;
			INSERT INTO rate_cards (id, state, author, note, created_at, updated_at) VALUES (card, 'draft', 'a test', 'plumbers', now(), now());
			INSERT INTO pricing_rules (rate_card_id, position, industry, category, country, urgency, base, floor, ceiling, multiplier, exclude, note)
				SELECT card, position, industry, category, country, urgency, base, floor, ceiling, multiplier, exclude, note
				FROM pricing_rules WHERE rate_card_id = last.id AND note <> 'plumbers';
			INSERT INTO pricing_rules (rate_card_id, position, industry, exclude, note) VALUES (card, 100000, 'plumber', %s, 'plumbers');
			UPDATE rate_cards SET state = 'published', version = last.version + 1, effective_at = now() WHERE id = card;
		END $$`, exclude))
	if err != nil {
		t.Fatal(err)
	}
}

// withoutListen repeatedly closes all LISTEN connections until the test ends.
func (p *platform) withoutListen(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	conn, err := pgx.Connect(ctx, p.superuserURL(database))
	if err != nil {
		t.Fatal(err)
	}
	var cut atomic.Int64
	ended := make(chan error, 1)
	tick := time.NewTicker(10 * time.Millisecond) // so that the nodes and commands have processor time
	go func() {
		for range tick.C {
			tag, err := conn.Exec(ctx,
				`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`)
			if err != nil {
				ended <- err
				return
			}
			cut.Add(tag.RowsAffected())
		}
	}()
	testkit.Eventually(t, recovery, "the LISTEN connections are closed", func() bool { return cut.Load() >= int64(len(p.nodes)) })
	t.Cleanup(func() {
		stop()
		defer tick.Stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_ = conn.Close(context.WithoutCancel(ctx))
	})
}

// rollingRestarts restarts the nodes one by one under load, behind a load balancer that polls
// /readyz. No request may fail.
func rollingRestarts(t *testing.T, p *platform) {
	b := p.loadBalancer(t)
	c := p.client()
	balanced := &node{
		name:        "the load balancer",
		environment: []string{"PINGPOST_HTTP_API_ADDR=" + strings.TrimPrefix(b.URL, "http://")},
	}
	stop := make(chan struct{})
	var delivered atomic.Int64
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				tx, err := c.ping(balanced)
				if err != nil || tx == "" {
					t.Errorf("a ping failed: %v", err)
					return
				}
				if err := c.store(balanced, tx); err != nil {
					t.Error(err)
					return
				}
				delivered.Add(1)
			}
		})
	}
	for i := range 6 {
		before := delivered.Load()
		testkit.Eventually(t, recovery, "leads are delivered", func() bool { return t.Failed() || delivered.Load() > before+30 })
		p.nodes[i%2].restart(t)
		if t.Failed() {
			break
		}
	}
	close(stop)
	load.Wait()
}

// restart stops the node with SIGTERM and starts it again.
func (n *node) restart(t *testing.T) {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
	case <-time.After(recovery):
		t.Fatalf("%s does not stop:\n%s", n.name, n.log.String())
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("%s exited with code %d:\n%s", n.name, code, n.log.String())
	}
	n.start(t)
}

// fall is the number of consecutive health checks that must fail before the load balancer stops sending requests to a
// node. On a busy machine, one check of a ready node may take too long.
const fall = 2

// loadBalancer starts a load balancer. It polls each node's /readyz, sends requests to the ready
// nodes in turn, and never retries a request.
func (p *platform) loadBalancer(t *testing.T) *httptest.Server {
	t.Helper()
	var failed [2]atomic.Int64 // checks in a row
	ctx, stop := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	for i, n := range p.nodes {
		polling.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					if n.ready(ctx) {
						failed[i].Store(0)
					} else {
						failed[i].Add(1)
					}
				}
			}
		})
	}
	var turn atomic.Int64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			i := int(turn.Add(1)) % 2
			if failed[i].Load() >= fall {
				i = 1 - i
			}
			target, _ := url.Parse(p.nodes[i].url("API"))
			r.SetURL(target)
		},
		Transport:    &http.Transport{MaxIdleConnsPerHost: 100},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	b := httptest.NewServer(proxy)
	t.Cleanup(func() {
		b.Close()
		stop()
		polling.Wait()
	})
	return b
}
