package config

import (
	"os"
	"strings"
	"testing"
)

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documented is a row of a table in docs/configuration.md.
type documented struct{ variable, serve, dev, meaning string }

func documentedKeys(t *testing.T) map[string]documented {
	rows := make(map[string]documented)
	section := ""
	for line := range strings.Lines(documentation(t)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(heading)
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		if len(cells) != 5 {
			t.Fatalf("%d cells in %s", len(cells), line)
		}
		path := section + "." + strings.Trim(cells[0], "`")
		if _, twice := rows[path]; twice {
			t.Errorf("%s is documented twice", path)
		}
		rows[path] = documented{strings.Trim(cells[1], "`"), cells[2], cells[3], cells[4]}
	}
	return rows
}

func TestEveryKeyIsDocumentedWithItsDefaults(t *testing.T) {
	rows := documentedKeys(t)
	dev := Defaults(Dev).parts()
	for i, p := range Defaults(Serve).parts() {
		missing := problemsOf(p.Validate())
		for j, f := range p.fields() {
			path := p.path(f)
			row, ok := rows[path]
			if !ok {
				t.Errorf("%s is not documented", path)
				continue
			}
			delete(rows, path)
			if row.variable != variable(path) {
				t.Errorf("%s: documented as %s, want %s", path, row.variable, variable(path))
			}
			if want := documentedDefault(f, missing.mentions(path)); row.serve != want {
				t.Errorf("%s: documented default %s, want %s", path, row.serve, want)
			}
			inDev := dev[i].fields()[j]
			want := documentedDefault(inDev, problemsOf(dev[i].Validate()).mentions(path))
			if want == "required" || f.secret {
				want = "generated"
			}
			if row.dev != want {
				t.Errorf("%s: documented for dev %s, want %s", path, row.dev, want)
			}
			if len(row.meaning) < 40 {
				t.Errorf("%s: the description is too short", path)
			}
		}
	}
	for path := range rows {
		t.Errorf("%s is documented but is not a key", path)
	}
}

func documentedDefault(f field, required bool) string {
	shown := strings.Trim(f.show(), `"`)
	switch {
	case required:
		return "required"
	case shown == "" || shown == "[]":
		return "none"
	}
	return "`" + shown + "`"
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
	environ := append(sufficient()[2:], "PINGPOST_HTTP_API_ADDR=:8080", "PINGPOST_LOG_LEVEL=loud")
	_, err := loadText("http:\n  # misspelt\n  api_adr: x\n", environ...)
	if err == nil {
		t.Fatal("got no problems")
	}
	if shown := "    " + strings.ReplaceAll(err.Error(), "\n", "\n    "); !strings.Contains(documentation(t), shown) {
		t.Errorf("not in the documentation:\n%s", shown)
	}
}
