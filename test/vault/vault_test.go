package vault

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/devvault"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// vaultNode is a node that writes with Vault, behind a proxy that can disturb.
type vaultNode struct {
	*node.Node
	vault   *testkit.Vault
	network *testkit.Network // between the node and Vault
}

// withVault gives a node Vault instead of the local key.
func withVault(v *testkit.Vault, address string) node.Option {
	return func(n *node.Node) {
		n.Config.Keys.Local = ""
		n.Config.Vault.Address = "http://" + address
		n.Config.Vault.RoleID, n.Config.Vault.SecretID = v.Roles[devvault.Serve].RoleID, config.Secret(v.Roles[devvault.Serve].SecretID)
		n.Config.Vault.Timeout = time.Second
		node.OnMachineClock(n)
	}
}

func startWithVault(t *testing.T, options ...node.Option) *vaultNode {
	t.Helper()
	return startBehindProxy(t, testkit.NewVault(t), options...)
}

func startBehindProxy(t *testing.T, v *testkit.Vault, options ...node.Option) *vaultNode {
	t.Helper()
	network := testkit.NewNetwork(t, strings.TrimPrefix(v.Address, "http://"))
	n := &vaultNode{node.Start(t, append([]node.Option{withVault(v, network.Address())}, options...)...), v, network}
	testkit.Eventually(t, 5*time.Second, "data keys are ready", func() bool { return n.status(n.Ops+"/readyz") == http.StatusOK })
	return n
}

// status is a status, 0 when there was no answer.
func (n *vaultNode) status(url string) int {
	resp, err := n.Client.Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// load pings and posts until it is stopped. A ping must succeed; a post must, or
// get the specification's 503 and succeed with the very same body later.
type load struct {
	n                *vaultNode
	stop             chan struct{}
	wait             sync.WaitGroup
	stored, rejected atomic.Int64
	mu               sync.Mutex
	unspent          []string // bodies that were rejected
}

func (n *vaultNode) load(t *testing.T) *load { return n.loadWith(t, 0) }

// loadWith has each client pause after each of its deliveries.
func (n *vaultNode) loadWith(t *testing.T, pause time.Duration) *load {
	l := &load{n: n, stop: make(chan struct{})}
	for range 8 {
		l.wait.Go(func() {
			for {
				l.one(t)
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

func (l *load) one(t *testing.T) {
	_, priced := l.n.Send(t, node.Request{Path: l.n.Required.Base() + "/api/lead/ping", Body: node.MinimalPing})
	if priced.Status != http.StatusOK {
		t.Errorf("a ping was answered %d: %s", priced.Status, priced.Body)
		return
	}
	body := node.WithTransaction(node.MinimalPost, node.Decode[node.Quoted](t, priced).TransactionID)
	if !l.post(t, body) {
		l.mu.Lock()
		if len(l.unspent) < 50 {
			l.unspent = append(l.unspent, body)
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
	case a.Status == http.StatusServiceUnavailable && a.Body == `{"ok":false,"message":"`+spec.NotSaved+`"}` &&
		a.Header.Get("Retry-After") == "2":
		l.rejected.Add(1)
	default:
		t.Errorf("a post was answered %d: %s", a.Status, a.Body)
	}
	return false
}

// end stops the load, delivers what was rejected, and looks at what is stored:
// every acknowledged post whole, and nothing else.
func (l *load) end(t *testing.T) {
	close(l.stop)
	l.wait.Wait()
	for _, body := range l.unspent {
		testkit.Eventually(t, 5*time.Second, "a rejected post is accepted later, so its transaction was not used",
			func() bool { return l.post(t, body) })
	}
	n := l.n
	var leads, whole int64
	if err := n.Root.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE wrapped_key LIKE 'vault:v%' AND length(salt) = 16
		AND EXISTS (SELECT FROM consents c WHERE c.lead_id = l.id) AND EXISTS (SELECT FROM ledger_entries e WHERE e.lead_id = l.id)) FROM leads l`).Scan(&leads, &whole); err != nil {
		t.Fatal(err)
	}
	if leads != l.stored.Load() || whole != leads {
		t.Errorf("%d posts were acknowledged, %d leads are stored, %d of them whole", l.stored.Load(), leads, whole)
	}
	t.Logf("%d posts stored, %d rejected", l.stored.Load(), l.rejected.Load())
}

// Whatever happens to Vault, pings continue, posts get a 200 or the specified 503,
// and as soon as Vault is back, within 5 s and without a restart, posts are taken.
func TestVaultFaults(t *testing.T) {
	t.Parallel()
	cut := func(t *testing.T, n *vaultNode) func() {
		n.network.Down()
		return func() { n.network.Up(t) }
	}
	for name, disturb := range map[string]func(*testing.T, *vaultNode) (mend func()){
		"sealed": func(t *testing.T, n *vaultNode) func() { n.vault.Seal(t); return func() { n.vault.Unseal(t) } },
		"slow by 5 s": func(t *testing.T, n *vaultNode) func() {
			return n.network.AddFault(t, "latency", `{"latency":5000}`)
		},
		"cut": cut,
		"reset mid-answer": func(t *testing.T, n *vaultNode) func() {
			return n.network.AddFault(t, "limit_data", `{"bytes":200}`)
		},
		"reset": func(t *testing.T, n *vaultNode) func() {
			return n.network.AddFault(t, "reset_peer", `{"timeout":0}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := startWithVault(t)
			l := n.load(t)
			mend := disturb(t, n)
			testkit.Eventually(t, 60*time.Second, "the data keys are used up", func() bool { return l.rejected.Load() > 20 })
			if got := n.status(n.Ops + "/readyz"); got != http.StatusServiceUnavailable {
				t.Errorf("/readyz answers %d without data keys", got)
			}
			if got := n.status(n.Ops + "/readyz/ping"); got != http.StatusOK {
				t.Errorf("/readyz/ping answers %d", got)
			}
			mend()
			before := l.stored.Load()
			testkit.Eventually(t, 5*time.Second, "posts are taken again", func() bool { return l.stored.Load() > before })
			l.end(t)
		})
	}
}

// A revoked or expired token causes no failures.
func TestVaultTokensEnd(t *testing.T) {
	t.Parallel()
	t.Run("revoked", func(t *testing.T) {
		n := startWithVault(t)
		l := n.load(t)
		for range 3 {
			testkit.Eventually(t, 20*time.Second, "data keys are asked for", n.asks(l))
			n.vault.RevokeTokens(t)
		}
		testkit.Eventually(t, 20*time.Second, "data keys are asked for", n.asks(l))
		l.end(t)
		if l.rejected.Load() > 0 {
			t.Errorf("got %d rejected posts, want 0", l.rejected.Load())
		}
	})
	// A role's greatest life of a token is outlived: several times under full load,
	// and once when it is longer than renewing it takes.
	for _, c := range []struct {
		life, watched, pause time.Duration
	}{{2 * time.Second, 7 * time.Second, 0}, {20 * time.Second, 25 * time.Second, 50 * time.Millisecond}} {
		t.Run("outlived "+c.life.String(), func(t *testing.T) {
			t.Parallel()
			v := testkit.NewVault(t)
			life := fmt.Sprintf("%.0fs", c.life.Seconds())
			v.Write(t, "auth/"+devvault.AuthMount+"/role/"+devvault.Serve,
				map[string]any{"token_ttl": life, "token_max_ttl": life})
			n := startBehindProxy(t, v)
			l := n.loadWith(t, c.pause)
			select {
			case <-time.After(c.watched):
			case <-t.Context().Done():
			}
			before := l.stored.Load()
			testkit.Eventually(t, 5*time.Second, "posts go on", func() bool { return l.stored.Load() > before })
			l.end(t)
			if l.rejected.Load() > 0 {
				t.Errorf("got %d rejected posts, want 0", l.rejected.Load())
			}
		})
	}
}

// asks holds once so many posts have been stored that the pool has been filled
// again since the call.
func (n *vaultNode) asks(l *load) func() bool {
	start := l.stored.Load()
	return func() bool { return l.stored.Load() > start+envelope.PoolSize/2 }
}

// The key is rotated and its minimum version raised under load: nothing fails.
func TestVaultKeyRotatesUnderLoad(t *testing.T) {
	t.Parallel()
	n := startWithVault(t)
	l := n.load(t)
	rotation := n.vault.Wrapper(t, devvault.Rotate)
	for version := 2; version <= 3; version++ {
		if err := rotation.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 30*time.Second, "leads are under the new version", func() bool {
			var n1 int64
			err := n.Root.QueryRow(t.Context(), `SELECT count(*) FROM leads WHERE key_version = $1`,
				fmt.Sprintf("v%d", version)).Scan(&n1)
			return err == nil && n1 > 10
		})
	}
	l.end(t)
	if l.rejected.Load() > 0 {
		t.Errorf("got %d rejected posts, want 0", l.rejected.Load())
	}
}

// A node that lacks the key of stored leads says so, and serves pings.
func TestANodeWithoutTheKeyOfItsLeadsIsNotReady(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.Deliver(t, n.Required, node.MinimalPost)
	if _, err := n.Root.Exec(t.Context(), `UPDATE leads SET key_version = '00000000'`); err != nil {
		t.Fatal(err)
	}
	unreadable := func(key string) {
		t.Helper()
		testkit.Eventually(t, 5*time.Second, "the node knows of "+key, func() bool {
			return strings.Contains(n.Readiness(t, "/readyz").Checks["lead_keys"], key)
		})
		n.CheckReadiness(t, "/readyz", "lead_keys")
	}
	unreadable("local 00000000")
	n.CheckReadiness(t, "/readyz/ping")
	if _, err := n.Root.Exec(t.Context(), `UPDATE leads SET key_wrapper = 'vault', key_version = 'v1'`); err != nil {
		t.Fatal(err)
	}
	unreadable("vault v1")
}
