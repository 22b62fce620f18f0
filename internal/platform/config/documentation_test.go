package config

import (
	"os"
	"strings"
	"testing"
)

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/how-to/configure-a-node.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDocumentedExampleLoads(t *testing.T) {
	_, rest, _ := strings.Cut(documentation(t), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no YAML example")
	}
	disk := files{
		"pingpost.yaml":               example,
		"/run/secrets/database-url":   databaseURL + "\n",
		"/run/secrets/platform-keys":  keyA + "\n" + keyB + "\n",
		"/run/secrets/lead-vault-kek": keyC,
	}
	cfg, err := load(Source{File: "pingpost.yaml"}, disk.read)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Keys.Platform) != 2 || cfg.Database.MaxConnections != 40 || cfg.HTTP.TrustedProxies[0] != "10.20.0.0/24" {
		t.Errorf("got a configuration that differs from the example:\n%s", cfg.Redacted())
	}
	if got := cfg.Warnings(); len(got) > 0 {
		t.Errorf("the example has warnings: %q", got)
	}
}

func TestTheDocumentedProblemsAreReal(t *testing.T) {
	environ := append(sufficient()[3:], "PINGPOST_HTTP_API_ADDR=:8080", "PINGPOST_HTTP_ADMIN_ADDR=:8081", "PINGPOST_LOG_LEVEL=loud")
	_, err := loadText("http:\n  # misspelt\n  api_adr: x\n", environ...)
	if err == nil {
		t.Fatal("got no problems")
	}
	if shown := err.Error(); !strings.Contains(documentation(t), shown) {
		t.Errorf("not in the documentation:\n%s", shown)
	}
}
