package proxies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// send sends a POST request through the proxy.
func (p proxy) send(t *testing.T, path, body string, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Error(err)
		return answer{Response: &http.Response{}}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{resp, string(text)}
}

const slug = "harbour-leads"

// platform has two nodes in separate processes.
type platform struct {
	binary string
	env    []string
	owner  string // the setting of the database URL for migrations
	secret string
	nodes  [2]*process
}

// process is a node in a process of its own.
type process struct {
	backend
	snapshot string
	cmd      *exec.Cmd
	log      *testkit.Log
}

// build builds the service and returns its path.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "pingpost")
	args := append(append([]string{"build"}, flags...), "-o", binary, "../../cmd/pingpost")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("building pingpost: %v\n%s", err, out)
	}
	return binary
}

// newPlatform builds the service, and creates a partner. It starts no nodes.
func newPlatform(t *testing.T) *platform {
	t.Helper()
	database := testkit.NewDatabaseURLs(t)
	p := &platform{binary: build(t), owner: "PINGPOST_DATABASE_URL=" + database.OwnerURL}
	p.env = append(os.Environ(),
		"PINGPOST_DATABASE_URL="+database.AppURL,
		"PINGPOST_PLATFORM_KEYS="+node.NewKey().Reveal(), "LEAD_VAULT_KEK="+node.NewKey().Reveal(),
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com", "PINGPOST_HTTP_ADMIN_URL=https://console.example.com", "PINGPOST_HTTP_TRUSTED_PROXIES=127.0.0.1/32",
		"PINGPOST_LIMITS_PINGS_PER_ADDRESS=0", "PINGPOST_LIMITS_POSTS_PER_PARTNER=0") // the test is one client of one partner
	for i := range p.nodes {
		p.nodes[i] = &process{
			backend:  backend{testkit.FreeAddress(t), testkit.FreeAddress(t)},
			snapshot: filepath.Join(t.TempDir(), "snapshot"),
		}
		t.Cleanup(func() { p.nodes[i].kill() })
	}
	p.run(t, "partner", "create", slug, "--signing", "required")
	p.run(t, "account", "create", slug, slug)
	var made struct{ Secret string }
	if err := json.Unmarshal(p.run(t, "secret", "create", slug, "--json"), &made); err != nil {
		t.Fatal(err)
	}
	p.secret = made.Secret
	p.run(t, "partner", "approve", slug)
	return p
}

// run runs a command and returns its output.
func (p *platform) run(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.binary, args...)
	cmd.Env = p.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pingpost %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// cannotStore returns the settings of a node that cannot store leads, because its Vault does not respond.
func cannotStore(t *testing.T) []string {
	t.Helper()
	return []string{"PINGPOST_KEYS_WRITE_WITH=vault", "PINGPOST_VAULT_ADDRESS=http://" + testkit.FreeAddress(t),
		"PINGPOST_VAULT_ROLE_ID=role", "PINGPOST_VAULT_SECRET_ID=secret"}
}

// serve returns the command that runs a node.
func (p *platform) serve(n *process, settings ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, "serve")
	cmd.Env = append(append(p.env[:len(p.env):len(p.env)],
		"PINGPOST_HTTP_API_ADDR="+n.api, "PINGPOST_HTTP_OPS_ADDR="+n.ops,
		"PINGPOST_DATABASE_SNAPSHOT_FILE="+n.snapshot), settings...)
	return cmd
}

// start starts a node and waits until it answers pings.
func (p *platform) start(t *testing.T, i int, settings ...string) {
	t.Helper()
	n := p.nodes[i]
	n.log, n.cmd = &testkit.Log{}, p.serve(n, settings...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.await(t, "/readyz/ping", http.StatusOK)
}

// await waits until a health check has the status.
func (n *process) await(t *testing.T, check string, status int) {
	t.Helper()
	testkit.Eventually(t, 2*patience, fmt.Sprintf("%s is %d", check, status), func() bool {
		resp, err := http.Get("http://" + n.ops + check)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == status
	})
}

// kill kills the node if it is running.
func (n *process) kill() {
	if n.cmd != nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}

var pingsMetric = regexp.MustCompile(`(?m)^pingpost_requests_total\{.*route="ping".*status="200".*\} (\d+)$`)

// pings returns how many pings the node has answered with a price.
func (n *process) pings(t *testing.T) (total int) {
	t.Helper()
	resp, err := http.Get("http://" + n.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range pingsMetric.FindAllStringSubmatch(string(text), -1) {
		count, err := strconv.Atoi(line[1])
		if err != nil {
			t.Fatal(err)
		}
		total += count
	}
	return total
}

// ping sends a ping through the proxy and returns the body for a post.
func (p *platform) ping(t *testing.T, through proxy) string {
	t.Helper()
	a := through.send(t, "/p/"+slug+"/api/lead/ping", node.MinimalPing, nil)
	var quoted struct{ TransactionID string }
	if err := json.Unmarshal([]byte(a.body), &quoted); err != nil || a.StatusCode != http.StatusOK {
		t.Errorf("ping: got %d %s", a.StatusCode, a.body)
	}
	return node.WithTransaction(node.MinimalPost, quoted.TransactionID)
}

// post sends a signed post through the proxy.
func (p *platform) post(t *testing.T, through proxy, body string) answer {
	t.Helper()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	return through.send(t, "/p/"+slug+"/api/lead/post", body, http.Header{
		"X-Timestamp": {now}, "X-Signature-Sha256": {signing.Sign([]byte(p.secret), now, []byte(body))},
	})
}

// deliver sends pings, and a post for each of them. None may fail.
func (p *platform) deliver(t *testing.T, through proxy, leads int) {
	t.Helper()
	failed := 0
	for range leads {
		if a := p.post(t, through, p.ping(t, through)); a.StatusCode != http.StatusOK {
			failed++
			t.Logf("post: got %d %s", a.StatusCode, a.body)
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d posts failed", failed, leads)
	}
}

// If one of two nodes cannot store leads, no post fails, and both nodes answer pings. If neither can,
// partners get the service's own answer.
func TestNodeThatCannotStore(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.start(t, 0)
	p.nodes[0].await(t, "/readyz", http.StatusOK)
	p.start(t, 1, cannotStore(t)...)
	p.nodes[1].await(t, "/readyz", http.StatusServiceUnavailable)
	for _, program := range programs {
		t.Run(program.name, func(t *testing.T) {
			through := program.start(t, [2]backend{p.nodes[0].backend, p.nodes[1].backend})
			before := [2]int{p.nodes[0].pings(t), p.nodes[1].pings(t)}
			p.deliver(t, through, 180)
			for i, n := range p.nodes {
				if n.pings(t) == before[i] {
					t.Errorf("node %d has answered no ping", i)
				}
			}
		})
	}

	p.nodes[0].kill()
	p.start(t, 0, cannotStore(t)...)
	p.nodes[0].await(t, "/readyz", http.StatusServiceUnavailable)
	for _, program := range programs {
		t.Run(program.name+" without a node that can store", func(t *testing.T) {
			through := program.start(t, [2]backend{p.nodes[0].backend, p.nodes[1].backend})
			for range 4 {
				a := p.post(t, through, p.ping(t, through))
				if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "2" ||
					!strings.HasPrefix(a.body, spec.NotSaved.Start()) {
					t.Errorf("got %d, Retry-After %q: %s", a.StatusCode, a.Header.Get("Retry-After"), a.body)
				}
			}
		})
	}
}

// load delivers leads through the proxy until end is called. None may fail. The function more waits until 40 more have
// been delivered.
func (p *platform) load(t *testing.T, through proxy) (more, end func()) {
	t.Helper()
	p.deliver(t, through, 10)
	var load sync.WaitGroup
	stop, delivered := make(chan struct{}), make(chan struct{})
	for range 4 {
		load.Go(func() {
			for {
				p.deliver(t, through, 1)
				select {
				case <-stop:
					return
				case delivered <- struct{}{}:
				}
			}
		})
	}
	more = func() {
		for range 40 {
			<-delivered
		}
	}
	return more, func() {
		close(stop)
		load.Wait()
	}
}

// If a node is killed under load and started again, no ping and no post fails.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	for i := range p.nodes {
		p.start(t, i)
		p.nodes[i].await(t, "/readyz", http.StatusOK)
	}
	for _, program := range programs {
		t.Run(program.name, func(t *testing.T) {
			through := program.start(t, [2]backend{p.nodes[0].backend, p.nodes[1].backend})
			more, end := p.load(t, through)
			defer end()
			more()
			p.nodes[1].kill()
			more()
			before := p.nodes[0].pings(t)
			more()
			if p.nodes[0].pings(t) == before {
				t.Error("the other node has answered no ping")
			}
			p.start(t, 1)
			p.nodes[1].await(t, "/readyz", http.StatusOK)
			testkit.Eventually(t, 2*patience, "the node gets pings again", func() bool {
				more()
				return p.nodes[1].pings(t) > 0
			})
		})
	}
}
