package proxies

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

const patience = 2 * time.Minute

// backend is a node as a proxy sees it.
type backend struct{ api, ops string } // addresses

// proxy is a running proxy.
type proxy struct {
	url    string
	client *http.Client // trusts the proxy's certificate
}

// program is a proxy whose configuration file is shipped.
type program struct {
	name string
	file string // in the folder deploy
	args func(t *testing.T, config, dir string) []string
}

var programs = []program{
	{"haproxy", "haproxy/haproxy.cfg", func(t *testing.T, config, dir string) []string {
		return []string{"-db", "-f", write(t, dir, "haproxy.cfg", config)}
	}},
	{"nginx", "nginx/pingpost.conf", func(t *testing.T, config, dir string) []string {
		write(t, dir, "pingpost.conf", config)
		return []string{"-p", dir, "-c", write(t, dir, "nginx.conf", `
daemon off;
pid nginx.pid;
error_log stderr;
events {}
http {
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	include pingpost.conf;
}`)}
	}},
}

// start starts the program with its shipped file. Only addresses and the paths of files are replaced.
func (p program) start(t *testing.T, nodes [2]backend) proxy {
	t.Helper()
	dir, listen := t.TempDir(), testkit.FreeAddress(t)
	certificate, key, client := newCertificate(t)
	replace := []string{
		"/etc/haproxy/pingpost.pem", write(t, dir, "pingpost.pem", certificate+key),
		"/etc/nginx/pingpost.crt", write(t, dir, "pingpost.crt", certificate),
		"/etc/nginx/pingpost.key", write(t, dir, "pingpost.key", key),
		"/var/log/nginx/pingpost.log", filepath.Join(dir, "pingpost.log"),
		"bind :443 ", "bind " + listen + " ",
		"listen 443 ", "listen " + listen + " ",
	}
	for i, shipped := range []string{"10.20.0.11", "10.20.0.12"} {
		_, opsPort, err := net.SplitHostPort(nodes[i].ops)
		if err != nil {
			t.Fatal(err)
		}
		replace = append(replace,
			shipped+":8080 check port 8082", nodes[i].api+" check port "+opsPort,
			shipped+":8080", nodes[i].api)
	}
	shipped, err := os.ReadFile(filepath.Join("..", "..", "deploy", p.file))
	if err != nil {
		t.Fatal(err)
	}
	config := strings.NewReplacer(replace...).Replace(string(shipped))

	cmd := exec.Command(find(t, p.name), p.args(t, config, dir)...)
	log := &testkit.Log{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", p.name, log.String())
		}
	})
	testkit.Eventually(t, patience, p.name+" accepts connections", func() bool {
		conn, err := net.Dial("tcp", listen)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return proxy{"https://" + listen, client}
}

// find returns the path of a proxy. Debian installs proxies in a folder that is not on PATH for all users.
func find(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Fatalf("%s is not installed. Run `make needs`", name)
	}
	return path
}

// newCertificate returns a certificate with its key in PEM, and a client that trusts it.
func newCertificate(t *testing.T) (certificate, key string, client *http.Client) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	client = s.Client()
	client.Timeout = patience
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 100
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), client
}

func write(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body string
}

// request is what a node received.
type request struct {
	path, body string
	header     http.Header
}

// recorder is a backend that records what it receives.
type recorder struct {
	backend
	received chan request
	held     chan struct{} // requests for /held wait until it is closed
	// The checks that fail: none, "/readyz" or "/readyz/ping", which includes "/readyz".
	failing atomic.Value
	failed  atomic.Int64 // number of failed checks of /readyz
}

// slowAnswer is longer than a node needs for a post.
const slowAnswer = 6 * time.Second

// startRecorder starts a recorder that answers all requests with the status.
func startRecorder(t *testing.T, status int, ready bool) *recorder {
	t.Helper()
	r := &recorder{received: make(chan request, 100), held: make(chan struct{})}
	r.failing.Store("")
	if !ready {
		r.failing.Store("/readyz")
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := new(strings.Builder)
		if _, err := io.Copy(body, req.Body); err != nil {
			t.Error(err)
		}
		r.received <- request{req.RequestURI, body.String(), req.Header}
		if req.URL.Path == "/slow" {
			time.Sleep(slowAnswer)
		}
		if strings.HasPrefix(req.URL.Path, "/held/") {
			<-r.held
		}
		w.Header().Set("X-Request-Id", "rq_of_the_node")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(status)
	}))
	t.Cleanup(api.Close)
	ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(r.failing.Load().(string), req.URL.Path) {
			w.WriteHeader(http.StatusServiceUnavailable)
			if req.URL.Path == "/readyz" {
				r.failed.Add(1)
			}
		}
	}))
	t.Cleanup(ops.Close)
	r.backend = backend{strings.TrimPrefix(api.URL, "http://"), strings.TrimPrefix(ops.URL, "http://")}
	return r
}

// awaitFailedChecks waits until HAProxy has taken the node out of the pool because of two failed checks. When HAProxy
// starts a third check, it already knows the results of the first two.
func (r *recorder) awaitFailedChecks(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patience, "three checks failed", func() bool { return r.failed.Load() >= 3 })
}

// posts returns how many posts the recorder has received.
func (r *recorder) posts() (n int) {
	for len(r.received) > 0 {
		if got := <-r.received; strings.HasSuffix(got.path, "/post") {
			n++
		}
	}
	return n
}

// Proxies forward requests and responses unchanged, except that they replace the client's address.
func TestProxiesForward(t *testing.T) {
	t.Parallel()
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			node := startRecorder(t, http.StatusOK, true)
			through := p.start(t, [2]backend{node.backend, node.backend})
			send := func(path, body string) (answer, request) {
				t.Helper()
				a := through.send(t, path, body, http.Header{
					"X-Forwarded-For": {"192.0.2.7"}, "X-Request-Id": {"rq_of_the_client"}, "X-Signature-Sha256": {"signature"},
				})
				return a, <-node.received
			}
			for _, path := range []string{"/p/harbour-leads/api/lead/post", "/api/lead/ping", "/docs/a%2Fb", "/"} {
				const body = `{"email": "ada@example.com"}`
				a, got := send(path, body)
				if a.StatusCode != http.StatusOK || a.Header.Get("X-Request-Id") != "rq_of_the_node" || a.Header.Get("Location") != "" {
					t.Errorf("%s: got %d %v", path, a.StatusCode, a.Header)
				}
				if got.path != path || got.body != body || got.header.Get("X-Request-Id") != "rq_of_the_client" ||
					got.header.Get("X-Signature-SHA256") != "signature" {
					t.Errorf("%s: the node received %+v", path, got)
				}
				if from := got.header.Values("X-Forwarded-For"); !slices.Equal(from, []string{"127.0.0.1"}) {
					t.Errorf("%s: the node received the address %q, want 127.0.0.1", path, from)
				}
			}
			// Nodes reject longer bodies themselves, with the service's own answer.
			for _, size := range []int{64 << 10, 64<<10 + 1} {
				if a, got := send("/api/lead/post", strings.Repeat("x", size)); a.StatusCode != http.StatusOK || len(got.body) != size {
					t.Errorf("a body of %d bytes: got %d, and the node received %d bytes", size, a.StatusCode, len(got.body))
				}
			}
			if a, _ := send("/slow", ""); a.StatusCode != http.StatusOK {
				t.Errorf("a slow answer: got %d", a.StatusCode)
			}
		})
	}
}

// A proxy sends a post that no node can store to at most two nodes. Posts are shared between the nodes, although a ping
// precedes each of them.
func TestProxiesLimitTries(t *testing.T) {
	t.Parallel()
	for _, p := range programs {
		for name, ready := range map[string]bool{"ready": true, "not ready": false} {
			t.Run(p.name+" "+name, func(t *testing.T) {
				t.Parallel()
				const unavailable = http.StatusServiceUnavailable
				one, other := startRecorder(t, unavailable, ready), startRecorder(t, unavailable, ready)
				through := p.start(t, [2]backend{one.backend, other.backend})
				if !ready && p.name == "haproxy" { // nginx has no health checks
					one.awaitFailedChecks(t)
					other.awaitFailedChecks(t)
				}
				const posts = 20
				for range posts {
					through.send(t, "/api/lead/ping", "{}", nil)
					a := through.send(t, "/api/lead/post", "{}", nil)
					if a.StatusCode != unavailable || a.Header.Get("Retry-After") != "2" {
						t.Fatalf("got %d %v, want the node's 503", a.StatusCode, a.Header)
					}
				}
				tries := [2]int{one.posts(), other.posts()}
				if total := tries[0] + tries[1]; total < posts || total > 2*posts || min(tries[0], tries[1]) < posts/4 {
					t.Errorf("%d posts were tried %d times at one node and %d times at the other", posts, tries[0], tries[1])
				}
			})
		}
	}
}

// The nodes stop storing leads while posts wait for their answers. When these posts then fail, each of them
// gets a 503 with Retry-After, although no node is left for a second try.
func TestPostsWhileLastNodeBecomesUnready(t *testing.T) {
	t.Parallel()
	for _, check := range []string{"/readyz", "/readyz/ping"} {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			const unavailable = http.StatusServiceUnavailable
			nodes := [2]*recorder{startRecorder(t, unavailable, true), startRecorder(t, unavailable, true)}
			through := programs[0].start(t, [2]backend{nodes[0].backend, nodes[1].backend}) // nginx has no health checks
			const posts = 20
			send := func(path string) {
				var all sync.WaitGroup
				for range posts {
					all.Go(func() {
						a := through.send(t, path, "{}", nil)
						if a.StatusCode != unavailable || a.Header.Get("Retry-After") != "2" {
							t.Errorf("got %d %v %q, want a 503 with Retry-After", a.StatusCode, a.Header, a.body)
						}
					})
				}
				all.Wait()
			}
			send("/api/lead/post") // opens connections, which are then used again
			done := make(chan struct{})
			before := len(nodes[0].received) + len(nodes[1].received)
			go func() { defer close(done); send("/held/api/lead/post") }()
			testkit.Eventually(t, patience, "all posts wait", func() bool {
				return len(nodes[0].received)+len(nodes[1].received) == before+posts
			})
			for _, n := range nodes {
				n.failing.Store(check)
			}
			for _, n := range nodes {
				n.awaitFailedChecks(t)
			}
			for _, n := range nodes {
				close(n.held)
			}
			<-done
		})
	}
}
