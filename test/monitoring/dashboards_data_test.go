package monitoring

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
)

// emptyQueries lists the queries that may have no data on a healthy platform, with the reasons. A query is identified by
// the title of its panel and its legend.
var emptyQueries = map[string]string{
	"Failed posts":                "no post has a 5xx status",
	"Failed requests {{route}}":   "no request has a 5xx status",
	"Failed requests console":     "no page has a 5xx status",
	"Checks that fail":            "no check fails",
	"Alerts":                      "no alert fires",
	"Leads in an hour a week ago": "the platform is new",
	"Failed Vault calls {{instance}} {{operation}} {{result}}": "no call fails",
}

var (
	variables   = strings.NewReplacer("$job", "pingpost", "$instance", ".+", "$__rate_interval", "1m")
	legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// TestDashboardsShowData checks that the queries of all panels return data if Prometheus scrapes a node that serves
// partners and uses Vault.
func TestDashboardsShowData(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	n := node.Start(t, node.WithVault(v, v.Address), func(n *node.Node) {
		n.Config.Privacy.ErasureJournal = t.TempDir()
		n.Config.Database.SnapshotFile = filepath.Join(t.TempDir(), "snapshot")
		n.DB.Exec(t, `INSERT INTO retention_runs (id, started_at, ended_at) VALUES (gen_random_uuid(), now(), now())`)
	})
	n.AwaitReadiness(t, "/readyz")
	p := startPrometheus(t, strings.TrimPrefix(n.Ops, "http://"))
	needed, optional := queries(t)
	var missing []string
	defer func() {
		if missing != nil {
			t.Errorf("queries without data:\n%s", strings.Join(missing, "\n"))
		}
	}()
	testkit.Eventually(t, node.Patience, "all queries return data", func() bool {
		n.Deliver(t, n.Required, n.FreshPost(t, n.Required))
		n.Post(t, n.Required, "{}")
		n.Get(t, n.Admin+"/login")
		missing = nil
		for _, q := range needed {
			if !p.query(t, q) {
				missing = append(missing, q.Expr)
			}
		}
		return missing == nil
	})
	for _, q := range optional {
		p.query(t, q) // fails the test if it is not valid
	}
}

// queries returns the queries that must return data, and those that may return none.
func queries(t *testing.T) (needed, optional []target) {
	t.Helper()
	for _, d := range dashboards(t) {
		for _, a := range d.Annotations.List {
			needed = append(needed, target{Expr: a.Expr})
		}
		for _, p := range d.Panels {
			empty := 0
			for _, q := range p.Targets {
				if emptyQueries[strings.TrimSpace(p.Title+" "+q.LegendFormat)] == "" {
					needed = append(needed, q)
				} else {
					optional = append(optional, q)
					empty++
				}
			}
			if empty > 0 && empty == len(p.Targets) && p.FieldConfig.Defaults.NoValue == "" {
				t.Errorf("the panel %s may be empty, but does not say what that means", p.Title)
			}
		}
	}
	if len(optional) != len(emptyQueries) {
		t.Errorf("%d queries may be empty, but %d are listed", len(optional), len(emptyQueries))
	}
	return needed, optional
}

// prometheus is a running Prometheus.
type prometheus struct{ url string }

// startPrometheus starts a Prometheus with the shipped settings and rules. It scrapes a node every second.
func startPrometheus(t *testing.T, ops string) prometheus {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"prometheus.yaml", "rules.yaml"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(rulesFile), name))
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("interval: 15s"), []byte("interval: 1s"))
		if name == "prometheus.yaml" {
			text = onlyScrape(t, text, ops)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := testkit.FreeAddress(t)
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+filepath.Join(folder, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	log := &testkit.Log{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // t.Context has ended the process
		if t.Failed() {
			t.Log(log)
		}
	})
	return prometheus{"http://" + address}
}

// onlyScrape changes settings of Prometheus so that it scrapes one node and sends no alerts.
func onlyScrape(t *testing.T, settings []byte, ops string) []byte {
	t.Helper()
	var s map[string]any
	if err := yaml.Unmarshal(settings, &s); err != nil {
		t.Fatal(err)
	}
	delete(s, "alerting")
	s["scrape_configs"].([]any)[0].(map[string]any)["static_configs"] = []any{map[string]any{"targets": []string{ops}}}
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// query reports whether a query returns series. They must have all labels in the legend.
func (p prometheus) query(t *testing.T, q target) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		p.url+"/api/v1/query?"+url.Values{"query": {variables.Replace(q.Expr)}}.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false // Prometheus does not listen yet
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable {
		return false // Prometheus is starting
	}
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Error != "" {
		t.Fatalf("%s: %v %s", q.Expr, err, answer.Error)
	}
	for _, series := range answer.Data.Result {
		for _, label := range legendLabel.FindAllStringSubmatch(q.LegendFormat, -1) {
			if series.Metric[label[1]] == "" {
				t.Fatalf("%s: a series has no label %s", q.Expr, label[1])
			}
		}
	}
	return len(answer.Data.Result) > 0
}
