//go:build linux

package compose

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/test/node"
)

// TestPlatform starts all services except Grafana, delivers leads through HAProxy, restarts Vault, and starts
// everything again with the same volumes.
func TestPlatform(t *testing.T) {
	t.Parallel()
	m := newMachine(t, load(t))
	checkDoctors(t, m.up(t))
	p := onboard(t, m)
	body := p.quote(t)
	lead := p.post(t, body)
	p.checkReveal(t, lead)
	p.checkClientAddress(t)
	p.checkPolicies(t)
	p.awaitMonitoring(t)

	m.stop(t, "vault")
	m.running["vault"] = m.start(t, "vault")
	m.awaitHealthy(t, "vault-unseal")
	p.checkReveal(t, lead)

	m.down(t)
	checkDoctors(t, m.up(t))
	p.awaitReady(t)
	if again := p.post(t, body); again != lead {
		t.Errorf("after a restart, the post of the lead %s gets the lead %s", lead, again)
	}
	if other := p.post(t, p.quote(t)); other == lead {
		t.Errorf("another post gets the lead %s, too", lead)
	}
	p.checkReveal(t, lead)
}

// checkDoctors checks that pingpost doctor has found no problem before the nodes start, except that it cannot reach the
// published ports from a container.
func checkDoctors(t *testing.T, output map[string]string) {
	t.Helper()
	for _, name := range []string{"doctor-api", "doctor-console"} {
		passed := map[string]bool{}
		for line := range strings.Lines(output[name]) {
			fields := strings.Fields(line)
			passed[fields[1]] = fields[0] == "ok"
			if fields[0] != "ok" && !slices.Contains([]string{"public_url", "admin_url", "settings"}, fields[1]) {
				t.Errorf("%s: %s", name, line)
			}
		}
		for _, check := range []string{"database", "storing", "key_wrapper", "wrapping_key", "erasure_journal"} {
			if !passed[check] {
				t.Errorf("%s has not checked %s: %s", name, check, output[name])
			}
		}
	}
}

// platform is a running platform with a partner.
type platform struct {
	*machine
	client *http.Client // trusts HAProxy's certificate
	secret string
}

const (
	partner = "harbour-leads"
	baseURL = "https://localhost:8443/p/" + partner + "/api/lead/"
)

// onboard waits until both nodes are ready, and creates a partner.
func onboard(t *testing.T, m *machine) *platform {
	t.Helper()
	p := &platform{machine: m, client: m.client()}
	p.awaitReady(t)
	roots := x509.NewCertPool()
	if ca := p.mustExec(t, "haproxy", "cat", "/secrets/ca.crt"); !roots.AppendCertsFromPEM([]byte(ca)) {
		t.Fatalf("not a certificate: %s", ca)
	}
	p.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	p.mustExec(t, "console", "/pingpost", "partner", "create", partner, "--signing", "required")
	p.mustExec(t, "console", "/pingpost", "account", "create", partner, partner)
	made := p.mustExec(t, "console", "/pingpost", "secret", "create", partner, "--json")
	var created struct{ Secret string }
	if err := json.Unmarshal([]byte(made), &created); err != nil || created.Secret == "" {
		t.Fatalf("secret create: %v", err)
	}
	p.secret = created.Secret
	p.mustExec(t, "console", "/pingpost", "partner", "approve", partner)
	return p
}

// mustExec is like exec, but fails the test if the program fails.
func (p *platform) mustExec(t *testing.T, service string, args ...string) string {
	t.Helper()
	out, err := p.exec(service, args...)
	if err != nil {
		t.Fatalf("%s: %v: %v\n%s", service, args, err, out)
	}
	return out
}

// awaitReady waits until both nodes can store and read leads.
func (p *platform) awaitReady(t *testing.T) {
	t.Helper()
	for _, name := range []string{"api", "console"} {
		testkit.Eventually(t, patience, name+" is ready", func() bool {
			status, _ := p.get("http://" + p.addresses[name] + ":8082/readyz")
			return status == http.StatusOK
		})
	}
}

// get sends a GET request. If there is no answer, it returns the status 0.
func (p *platform) get(url string) (status int, body []byte) {
	resp, err := p.client.Get(url)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, body
}

// send sends a POST request through HAProxy. If the answer has the status 200, send decodes it. If there is no answer,
// send returns the status 0.
func (p *platform) send(t *testing.T, path, body string, header http.Header, answer any) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, baseURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := p.client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
			t.Fatal(err)
		}
	}
	return resp.StatusCode
}

// quote asks for a price, and returns the body of a post at this price.
func (p *platform) quote(t *testing.T) string {
	t.Helper()
	var quoted struct {
		Accepted      bool
		TransactionID string
	}
	testkit.Eventually(t, patience, "the ping gets a price", func() bool {
		return p.send(t, "ping", node.MinimalPing, http.Header{}, &quoted) == http.StatusOK && quoted.Accepted
	})
	return node.WithTransaction(node.MinimalPost, quoted.TransactionID)
}

// post delivers a lead and returns its ID. Like a partner, it sends the post again if there is no answer or a 503,
// because HAProxy may not listen yet, or not know yet that the node is ready.
func (p *platform) post(t *testing.T, body string) string {
	t.Helper()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	var delivered struct{ LeadID string }
	header := http.Header{
		"X-Timestamp": {now}, "X-Signature-Sha256": {signing.Sign([]byte(p.secret), now, []byte(body))},
	}
	var status int
	testkit.Eventually(t, patience, "HAProxy sends posts to the node", func() bool {
		status = p.send(t, "post", body, header, &delivered)
		return status != 0 && status != http.StatusServiceUnavailable
	})
	if status != http.StatusOK || delivered.LeadID == "" {
		t.Fatalf("post: got status %d and the lead %q", status, delivered.LeadID)
	}
	return delivered.LeadID
}

// checkReveal checks that the console's node can decrypt a lead, and the node for partners cannot.
func (p *platform) checkReveal(t *testing.T, lead string) {
	t.Helper()
	reveal := []string{"/pingpost", "lead", "reveal", lead, "--field", "email", "--reason", "request"}
	if out := p.mustExec(t, "console", reveal...); out != node.PersonEmail {
		t.Errorf("the console reveals %q, want %s", out, node.PersonEmail)
	}
	if out, err := p.exec("api", reveal...); err == nil || strings.Contains(out, node.PersonEmail) {
		t.Errorf("the node for partners reveals %q", out)
	}
}

// checkClientAddress checks that the node for partners trusts the client addresses that HAProxy sends.
func (p *platform) checkClientAddress(t *testing.T) {
	t.Helper()
	if ignored := p.running["api"].log.Count("X-Forwarded-For ignored"); ignored > 0 {
		t.Errorf("the node has ignored %d addresses from HAProxy", ignored)
	}
}

// documentedPolicy matches a command in docs/how-to/prepare-vault.md.
var documentedPolicy = regexp.MustCompile(`(?m)^vault PUT (sys/policies/acl/\S+) '(.*)'$`)

// checkPolicies checks that the policies in Vault are those in the documentation.
func (p *platform) checkPolicies(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/how-to/prepare-vault.md")
	if err != nil {
		t.Fatal(err)
	}
	var keys struct {
		Token string `json:"root_token"`
	}
	if err := json.Unmarshal([]byte(p.mustExec(t, "vault-unseal", "cat", "/secrets/vault.json")), &keys); err != nil {
		t.Fatal(err)
	}
	documented := documentedPolicy.FindAllStringSubmatch(string(page), -1)
	if len(documented) != 5 {
		t.Errorf("got %d documented policies, want 5", len(documented))
	}
	for _, policy := range documented {
		var want struct{ Policy string }
		var got struct{ Data struct{ Policy string } }
		answer := p.mustExec(t, "vault-unseal", "curl", "-sS", "-H", "X-Vault-Token: "+keys.Token,
			"https://vault:8200/v1/"+policy[1])
		if err := errors.Join(json.Unmarshal([]byte(policy[2]), &want), json.Unmarshal([]byte(answer), &got)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(strings.Fields(got.Data.Policy), strings.Fields(want.Policy)) {
			t.Errorf("%s is %q, want %q", policy[1], got.Data.Policy, want.Policy)
		}
	}
}

// awaitMonitoring waits until Prometheus has scraped both nodes, and checks that it has loaded the rules.
func (p *platform) awaitMonitoring(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patience, "Prometheus has scraped both nodes", func() bool {
		var targets struct {
			Data struct {
				ActiveTargets []struct{ ScrapeURL, Health string }
			}
		}
		_, body := p.get("http://localhost:9090/api/v1/targets")
		up := 0
		if json.Unmarshal(body, &targets) == nil {
			for _, target := range targets.Data.ActiveTargets {
				if target.Health == "up" {
					up++
				}
			}
		}
		return up == 2 && len(targets.Data.ActiveTargets) == 2
	})
	var rules struct {
		Data struct {
			Groups []struct{ Rules []struct{ Health string } }
		}
	}
	if _, body := p.get("http://localhost:9090/api/v1/rules"); json.Unmarshal(body, &rules) != nil {
		t.Fatalf("the rules: got %s", body)
	}
	var file struct{ Groups []struct{ Rules []any } }
	text, err := os.ReadFile(deploy + "/prometheus/rules.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(rules.Data.Groups) != len(file.Groups) {
		t.Fatalf("Prometheus has loaded %d groups of rules, want %d", len(rules.Data.Groups), len(file.Groups))
	}
	for i, group := range rules.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health == "err" {
				t.Errorf("a rule in group %d fails", i)
			}
		}
	}
}
