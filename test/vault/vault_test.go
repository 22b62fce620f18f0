package vault

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// vaultNode is a node that uses Vault. A test can disturb the network between them.
type vaultNode struct {
	*node.Node
	vault   *testkit.Vault
	network *testkit.Network // the network between the node and Vault
}

func startWithVault(t *testing.T, options ...node.Option) *vaultNode {
	t.Helper()
	return startBehindProxy(t, testkit.NewVault(t), options...)
}

func startBehindProxy(t *testing.T, v *testkit.Vault, options ...node.Option) *vaultNode {
	t.Helper()
	network := testkit.NewNetwork(t, strings.TrimPrefix(v.Address, "http://"))
	options = append([]node.Option{node.WithVault(v, "http://"+network.Address())}, options...)
	n := &vaultNode{node.Start(t, options...), v, network}
	testkit.Eventually(t, time.Minute, "data keys are ready", func() bool { return n.status(n.Ops+"/readyz") == http.StatusOK })
	return n
}

// status returns the HTTP status for a URL, or 0 if there is no response.
func (n *vaultNode) status(url string) int {
	resp, err := n.Client.Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// load sends pings and posts until it is stopped. Pings must succeed. Posts must either succeed or get
// the 503 from the specification. After a 503, the same post must succeed later.
type load struct {
	n                *vaultNode
	stop             chan struct{}
	wait             sync.WaitGroup
	stored, rejected atomic.Int64
	mu               sync.Mutex
	unsaved          []string // the bodies of posts that got 503
}

func (n *vaultNode) load(t *testing.T) *load { return n.loadWith(t, 0) }

// loadWith is like load, but each client pauses after every delivery.
func (n *vaultNode) loadWith(t *testing.T, pause time.Duration) *load {
	l := &load{n: n, stop: make(chan struct{})}
	for range 8 {
		l.wait.Go(func() {
			for {
				l.deliver(t)
				select {
				case <-l.stop:
					return
				case <-time.After(pause):
				}
			}
		})
	}
	return l
}

func (l *load) deliver(t *testing.T) {
	_, priced := l.n.Send(t, node.Request{Path: l.n.Required.Base() + "/api/lead/ping", Body: node.MinimalPing})
	if priced.Status != http.StatusOK {
		t.Errorf("got %d for a ping, want 200: %s", priced.Status, priced.Body)
		return
	}
	body := node.WithTransaction(node.MinimalPost, node.Decode[node.Quoted](t, priced).TransactionID)
	if !l.post(t, body) {
		l.mu.Lock()
		if len(l.unsaved) < 50 {
			l.unsaved = append(l.unsaved, body)
		}
		l.mu.Unlock()
	}
}

func (l *load) post(t *testing.T, body string) (stored bool) {
	_, a := l.n.Send(t, l.n.Signed(l.n.Required, body))
	switch {
	case a.Status == http.StatusOK:
		l.stored.Add(1)
		return true
	case a.Status == http.StatusServiceUnavailable && a.Rejection() == spec.NotSaved.Body() &&
		a.Header.Get("Retry-After") == "2":
		l.rejected.Add(1)
	default:
		t.Errorf("got %d for a post, want 200 or the specification's 503: %s", a.Status, a.Body)
	}
	return false
}

// end stops the load, sends the rejected posts again, and checks that the number of complete leads is
// exactly the number of acknowledged posts.
func (l *load) end(t *testing.T) {
	close(l.stop)
	l.wait.Wait()
	for _, body := range l.unsaved {
		testkit.Eventually(t, time.Minute, "a rejected post is accepted later",
			func() bool { return l.post(t, body) })
	}
	n := l.n
	var leads, complete int64
	if err := n.Root.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE wrapped_key LIKE 'vault:v%' AND length(salt) = 16
		AND EXISTS (SELECT FROM consents c WHERE c.lead_id = l.id) AND EXISTS (SELECT FROM ledger_entries e WHERE e.lead_id = l.id)) FROM leads l JOIN lead_keys k ON k.lead_id = l.id`).Scan(&leads, &complete); err != nil {
		t.Fatal(err)
	}
	if leads != l.stored.Load() || complete != leads {
		t.Errorf("%d posts were acknowledged, but %d leads are stored, %d of them completely", l.stored.Load(), leads, complete)
	}
	t.Logf("%d posts stored, %d rejected", l.stored.Load(), l.rejected.Load())
}

// TestVaultFaults disturbs Vault until the node has used up its data keys. Pings must continue to
// succeed, and posts must get 200 or the 503 from the specification. When Vault works again, posts must
// be accepted within 5 seconds without a restart.
func TestVaultFaults(t *testing.T) {
	t.Parallel()
	cut := func(t *testing.T, n *vaultNode) func() {
		n.network.Down()
		return func() { n.network.Up(t) }
	}
	for name, disturb := range map[string]func(*testing.T, *vaultNode) (restore func()){
		"sealed": func(t *testing.T, n *vaultNode) func() { n.vault.Seal(t); return func() { n.vault.Unseal(t) } },
		"5 s latency": func(t *testing.T, n *vaultNode) func() {
			return n.network.AddFault(t, "latency", `{"latency":5000}`)
		},
		"cut": cut,
		"cut off during answer": func(t *testing.T, n *vaultNode) func() {
			return n.network.AddFault(t, "limit_data", `{"bytes":200}`)
		},
		"reset": func(t *testing.T, n *vaultNode) func() {
			return n.network.AddFault(t, "reset_peer", `{"timeout":0}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := startWithVault(t)
			l := n.load(t)
			restore := disturb(t, n)
			testkit.Eventually(t, 60*time.Second, "the data keys are used up", func() bool { return l.rejected.Load() > 20 })
			if got := n.status(n.Ops + "/readyz"); got != http.StatusServiceUnavailable {
				t.Errorf("/readyz without data keys: got %d, want 503", got)
			}
			if got := n.status(n.Ops + "/readyz/ping"); got != http.StatusOK {
				t.Errorf("/readyz/ping: got %d, want 200", got)
			}
			restore()
			before := l.stored.Load()
			testkit.Eventually(t, time.Minute, "posts are accepted again", func() bool { return l.stored.Load() > before })
			l.end(t)
		})
	}
}

// TestRevokedAndExpiredTokens checks that no post fails when the node's Vault token is revoked or expires.
func TestRevokedAndExpiredTokens(t *testing.T) {
	t.Parallel()
	t.Run("revoked", func(t *testing.T) {
		n := startWithVault(t)
		l := n.load(t)
		for range 3 {
			testkit.Eventually(t, time.Minute, "new data keys are requested", n.refilled(l))
			n.vault.RevokeTokens(t)
		}
		testkit.Eventually(t, time.Minute, "new data keys are requested", n.refilled(l))
		l.end(t)
		if l.rejected.Load() > 0 {
			t.Errorf("got %d rejected posts, want 0", l.rejected.Load())
		}
	})
	// In the first case, the token reaches the role's maximum TTL several times under full load. In the
	// second, the TTL is longer and is reached only once, so the node has time to renew the token before
	// that.
	for _, c := range []struct {
		ttl, pause time.Duration
		logins     int
	}{{5 * time.Second, 0, 4}, {20 * time.Second, 50 * time.Millisecond, 2}} {
		t.Run("maximum TTL of "+c.ttl.String(), func(t *testing.T) {
			t.Parallel()
			v := testkit.NewVault(t)
			ttl := fmt.Sprintf("%.0fs", c.ttl.Seconds())
			v.Write(t, "auth/"+devvault.AuthMount+"/role/"+devvault.Serve,
				map[string]any{"token_ttl": ttl, "token_max_ttl": ttl})
			n := startBehindProxy(t, v)
			l := n.loadWith(t, c.pause)
			testkit.Eventually(t, time.Minute, "the node has logged in again",
				func() bool { return vaultLogins(t, n.Node, "ok") >= c.logins })
			before := l.stored.Load()
			testkit.Eventually(t, time.Minute, "further posts are stored", func() bool { return l.stored.Load() > before })
			l.end(t)
			if l.rejected.Load() > 0 {
				t.Errorf("got %d rejected posts, want 0", l.rejected.Load())
			}
		})
	}
}

// refilled returns a function that reports whether the pool of data keys must have been refilled
// since refilled was called, judging by the number of posts stored.
func (n *vaultNode) refilled(l *load) func() bool {
	start := l.stored.Load()
	return func() bool { return l.stored.Load() > start+envelope.PoolSize/2 }
}

// TestVaultKeyRotationUnderLoad checks that no post fails while the key is rotated.
func TestVaultKeyRotationUnderLoad(t *testing.T) {
	t.Parallel()
	n := startWithVault(t)
	l := n.load(t)
	rotation := n.vault.Wrapper(t, devvault.Rotate)
	for version := 2; version <= 3; version++ {
		if err := rotation.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, "leads use the new version", func() bool {
			var count int64
			err := n.Root.QueryRow(t.Context(), `SELECT count(*) FROM lead_keys WHERE key_version = $1`,
				fmt.Sprintf("v%d", version)).Scan(&count)
			return err == nil && count > 10
		})
	}
	l.end(t)
	if l.rejected.Load() > 0 {
		t.Errorf("got %d rejected posts, want 0", l.rejected.Load())
	}
}

// TestMissingLeadKeyIsWarning checks that a node that lacks the key for stored leads reports this, and
// stays ready.
func TestMissingLeadKeyIsWarning(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.Deliver(t, n.Required, node.MinimalPost)
	if _, err := n.Root.Exec(t.Context(), `UPDATE lead_keys SET key_version = '00000000'`); err != nil {
		t.Fatal(err)
	}
	awaitUnreadable := func(key string) {
		t.Helper()
		testkit.Eventually(t, time.Minute, "the node reports "+key, func() bool {
			return strings.Contains(n.Readiness(t, "/readyz").Warnings["lead_keys"], key)
		})
		n.AwaitReadiness(t, "/readyz")
		if !strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_lead_keys_missing 1\n") {
			t.Error("the metric is not 1")
		}
		if !strings.Contains(n.Log.String(), key) {
			t.Errorf("%s is not in the log", key)
		}
	}
	awaitUnreadable("local 00000000")
	if _, err := n.Root.Exec(t.Context(), `UPDATE lead_keys SET key_wrapper = 'vault', key_version = 'v1'`); err != nil {
		t.Fatal(err)
	}
	awaitUnreadable("vault v1")
}
