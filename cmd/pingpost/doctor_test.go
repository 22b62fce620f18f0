package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// diagnose runs doctor with the given settings, or on dev's instance if there are none. It checks the exit code, and
// returns the worst status of each check.
func diagnose(t *testing.T, p *platform, settings ...string) map[string]string {
	t.Helper()
	arguments := []string{"doctor", "--json"}
	if settings == nil {
		arguments = append(arguments, "--data-dir", p.dir)
	}
	o := call(t, "", settings, arguments...)
	var found doctorView
	if err := json.Unmarshal([]byte(o.stdout), &found); err != nil {
		t.Fatalf("%v: %s %s", err, o.stdout, o.stderr)
	}
	worst := map[string]string{}
	ok := true
	for _, f := range found.Findings {
		status := string(f.Status)
		if f.Text == "" {
			t.Errorf("the finding %+v has no text", f)
		}
		if before := worst[f.Check]; before == "" || before == "ok" || status == "failed" {
			worst[f.Check] = status
		}
		ok = ok && status != "failed"
	}
	if found.OK != ok || (o.code == 0) != ok {
		t.Errorf("got ok %v and the exit code %d for %s", found.OK, o.code, o.stdout)
	}
	for _, secret := range settings {
		name, value, _ := strings.Cut(secret, "=")
		isSecret := strings.Contains(name, "KE") && name != "PINGPOST_KEYS_WRITE_WITH" && value != ""
		if isSecret && strings.Contains(o.stdout+o.stderr, value) {
			t.Errorf("the output contains the value of %s", secret)
		}
	}
	return worst
}

// doctorCommands breaks one thing after another. Exactly its check must fail.
func doctorCommands(t *testing.T, p *platform) {
	healthy := diagnose(t, p)
	for _, check := range []string{
		"settings", "database", "clock", "schema", "storing", "partitions", "platform_keys", "key_wrapper",
		"wrapping_key", "lead_keys", "erasure_journal",
	} {
		if status := healthy[check]; status != "ok" && (check != "settings" || status != "warning") {
			t.Errorf("on dev's instance, %s has the status %q", check, status)
		}
	}
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	_, unmigrated := p.anotherDatabase(t, "doctor")
	for name, c := range map[string]struct {
		setting string
		failed  string
		absent  string // a check that depends on the failed one
	}{
		"unreachable database": {"PINGPOST_DATABASE_URL=postgres://pingpost_app:word@127.0.0.1:1/pingpost", "database", "schema"},
		"owner's role":         {"PINGPOST_DATABASE_URL=" + running.OwnerURL, "database", ""},
		"unmigrated database":  {unmigrated, "schema", "partitions"},
		"other local key":      {"LEAD_VAULT_KEK=" + oldKey, "wrapping_key", ""},
		"other platform key":   {"PINGPOST_PLATFORM_KEYS=" + oldKey, "platform_keys", ""},
		"missing journal":      {"PINGPOST_PRIVACY_ERASURE_JOURNAL=" + filepath.Join(t.TempDir(), "missing"), "erasure_journal", ""},
		"unreachable Vault":    {"PINGPOST_VAULT_ADDRESS=http://127.0.0.1:1", "key_wrapper", "wrapping_key"},
	} {
		settings := p.production(t, c.setting)
		if name == "unreachable Vault" {
			settings = append(settings,
				"PINGPOST_KEYS_WRITE_WITH=vault", "PINGPOST_VAULT_AUTH=token", "PINGPOST_VAULT_TOKEN=unused")
		}
		found := diagnose(t, p, settings...)
		if found[c.failed] != "failed" || c.absent != "" && found[c.absent] != "" {
			t.Errorf("%s: got %v", name, found)
		}
		if name == "unreachable Vault" {
			if out := call(t, "", settings, "doctor").stdout; !strings.Contains(out, "cannot reach Vault") {
				t.Errorf("printed %s", out)
			}
		}
	}
	collector := testkit.NewCollector(t)
	for status, want := range map[int]string{http.StatusOK: "ok", http.StatusForbidden: "warning"} {
		collector.Respond(status)
		settings := p.production(t, "PINGPOST_TRACING_ENDPOINT="+collector.URL)
		if found := diagnose(t, p, settings...); found["tracing"] != want {
			t.Errorf("a collector that responds with %d: got %v", status, found)
		}
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "0d5bfb2b-4c1f-4d5b-8b43-0f0e7f2a6f8d") // of a proxy without nodes
	}))
	defer proxy.Close()
	urls := p.production(t, "PINGPOST_HTTP_PUBLIC_URL="+proxy.URL, "PINGPOST_HTTP_ADMIN_URL="+p.AdminURL)
	if found := diagnose(t, p, urls...); found["public_url"] != "warning" || found["admin_url"] != "ok" {
		t.Errorf("URLs of a proxy and a node: got %v", found)
	}
	if out := p.on(t, "doctor").ok(t); !strings.Contains(out, "database") || strings.Count(out, "\n") < 10 {
		t.Errorf("printed %s", out)
	}
}
