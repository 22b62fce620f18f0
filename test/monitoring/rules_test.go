// Package monitoring tests the rules for Prometheus and the dashboards for Grafana.
package monitoring

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const (
	rulesFile = "../../deploy/prometheus/rules.yaml"
	runbooks  = "../../docs/runbooks"
)

// series contains the values of series in promtool's notation, by their names and labels. For example, 0+60x9 is ten
// values that begin with 0 and grow by 60. The time also begins with 0.
type series map[string]string

// minutes is the length of the tests. The last value of a series is evaluated.
const minutes = 220

// constant returns values that do not change.
func constant(value int) string { return fmt.Sprintf("%d+0x%d", value, minutes) }

// growing returns values that grow every minute.
func growing(step int) string { return fmt.Sprintf("0+%dx%d", step, minutes) }

// of returns the name of a series of a node. The labels are in addition to those that Prometheus sets.
func of(instance, name, labels string) string {
	return strings.TrimSuffix(fmt.Sprintf(`%s{job="pingpost",instance="%s",%s`, name, instance, labels), ",") + "}"
}

// healthyNode returns the series of a healthy node with a partner API and a console.
func healthyNode(instance string) series {
	at := func(name, labels string) string { return of(instance, name, labels) }
	s := series{
		at("up", ""): constant(1),
		at("pingpost_build_info", `version="v0.1.0",revision="a",schema="17"`):             constant(1),
		at("pingpost_requests_total", `route="ping",status="200",outcome="priced"`):        growing(6000),
		at("pingpost_requests_total", `route="ping",status="500",outcome="error"`):         constant(0),
		at("pingpost_requests_total", `route="post",status="200",outcome="delivered"`):     growing(600),
		at("pingpost_requests_total", `route="post",status="503",outcome="unavailable"`):   constant(0),
		at("pingpost_request_duration_seconds_bucket", `route="ping",le="0.005"`):          growing(6000),
		at("pingpost_request_duration_seconds_bucket", `route="ping",le="0.1"`):            growing(6000),
		at("pingpost_request_duration_seconds_bucket", `route="ping",le="+Inf"`):           growing(6000),
		at("pingpost_request_duration_seconds_bucket", `route="post",le="0.1"`):            growing(600),
		at("pingpost_request_duration_seconds_bucket", `route="post",le="2.5"`):            growing(600),
		at("pingpost_request_duration_seconds_bucket", `route="post",le="+Inf"`):           growing(600),
		at("pingpost_console_requests_total", `area="leads",status="200",outcome="ok"`):    growing(60),
		at("pingpost_console_requests_total", `area="leads",status="500",outcome="error"`): constant(0),
		at("pingpost_leads_stored_total", `currency="GBP"`):                                growing(500),
		at("pingpost_pings_dropped_total", `reason="queue_full"`):                          constant(0),
		at("pingpost_partitions_end_timestamp_seconds", `table="leads"`):                   constant(1_000_000),
		at("pingpost_jobs", `kind="export",state="failed"`):                                constant(3),
		at("pingpost_jobs_oldest_seconds", `kind="export"`):                                constant(0),
		at("pingpost_vault_calls_total", `operation="wrap",result="ok"`):                   growing(60),
		at("pingpost_vault_calls_total", `operation="wrap",result="unavailable"`):          constant(0),
		at("pingpost_posts_waiting", `signed="true"`):                                      constant(0),
	}
	for _, check := range []string{"clock", "database", "storing"} {
		s[at("pingpost_ready", fmt.Sprintf(`check="%s"`, check))] = constant(1)
		s[at("pingpost_check_failing", fmt.Sprintf(`check="%s",reason=""`, check))] = constant(0)
	}
	for name, value := range map[string]int{
		"pingpost_clock_skew_seconds": 0, "pingpost_listen_connected": 1, "pingpost_snapshot_write_failures_total": 0,
		"pingpost_log_lines_dropped_total": 0, "pingpost_traffic_dropped_total": 0, "pingpost_leads_incomplete_total": 0,
		"pingpost_ledger_totals_differences": 0, "pingpost_audit_intact": 1, "pingpost_replaced_primaries": 0,
		"pingpost_caps_age_seconds": 1, "pingpost_directory_unreadable": 0, "pingpost_erasure_journal_ok": 1,
		"pingpost_erasures_pending": 0, "pingpost_retention_due_leads": 0, "pingpost_lead_keys_missing": 0,
		"pingpost_data_keys_waited_total": 0, "pingpost_forwarded_for_ignored_total": 0,
	} {
		s[at(name, "")] = constant(value)
	}
	for _, now := range []string{
		"pingpost_snapshot_timestamp_seconds", "process_start_time_seconds", "pingpost_audit_verified_timestamp_seconds",
		"pingpost_erasure_journal_checked_timestamp_seconds", "pingpost_retention_run_timestamp_seconds",
	} {
		s[at(now, "")] = growing(60)
	}
	return s
}

// faults contains the series that differ from a healthy platform, by the only alert that they cause.
var faults = map[string]series{
	"": {},
	"PingpostNoNodeReady": {
		of("a", "pingpost_ready", `check="storing"`): "1+0x210 0+0x9",
		of("b", "pingpost_ready", `check="storing"`): "1+0x210 0+0x9",
	},
	"PingpostPostsFailing":        {of("a", "pingpost_requests_total", `route="post",status="503",outcome="unavailable"`): growing(30)},
	"PingpostPingsFailing":        {of("a", "pingpost_requests_total", `route="ping",status="500",outcome="error"`): growing(300)},
	"PingpostPostsSlow":           {of("a", "pingpost_request_duration_seconds_bucket", `route="post",le="0.1"`): growing(500)},
	"PingpostPingsSlow":           {of("a", "pingpost_request_duration_seconds_bucket", `route="ping",le="0.005"`): growing(5000)},
	"PingpostPostsWaiting":        {of("a", "pingpost_posts_waiting", `signed="true"`): constant(1)},
	"PingpostConsoleFailing":      {of("a", "pingpost_console_requests_total", `area="leads",status="500",outcome="error"`): growing(10)},
	"PingpostForwardedForIgnored": {of("a", "pingpost_forwarded_for_ignored_total", ""): growing(1)},
	"PingpostNodeDown":            {of("a", "up", ""): "1+0x210 0+0x9"},
	"PingpostNodeNotReady": {
		of("a", "pingpost_check_failing", `check="clock",reason=""`):        "0+0x210 stale",
		of("a", "pingpost_check_failing", `check="clock",reason="differs"`): "_x210 1+0x9",
	},
	"PingpostVersionsDiffer":     {of("c", "pingpost_build_info", `version="v0.2.0",revision="b",schema="17"`): constant(1)},
	"PingpostClockSkew":          {of("a", "pingpost_clock_skew_seconds", ""): constant(-2)},
	"PingpostListenDisconnected": {of("a", "pingpost_listen_connected", ""): constant(0)},
	"PingpostSnapshotOld":        {of("a", "pingpost_snapshot_timestamp_seconds", ""): constant(60)},
	"PingpostLogLinesLost":       {of("a", "pingpost_traffic_dropped_total", ""): growing(1)},
	"PingpostLeadsIncomplete":    {of("a", "pingpost_leads_incomplete_total", ""): "0+0x210 1+0x9"},
	"PingpostLedgerTotalsDiffer": {of("a", "pingpost_ledger_totals_differences", ""): constant(1)},
	"PingpostAuditLogChanged":    {of("a", "pingpost_audit_intact", ""): constant(0)},
	"PingpostAuditLogNotVerified": {
		of("a", "pingpost_audit_verified_timestamp_seconds", ""): constant(60),
		of("b", "pingpost_audit_verified_timestamp_seconds", ""): constant(60),
	},
	"PingpostReplacedPrimary":        {of("a", "pingpost_replaced_primaries", ""): constant(1)},
	"PingpostPartitionsEnd":          {of("a", "pingpost_partitions_end_timestamp_seconds", `table="leads"`): constant(200_000)},
	"PingpostPingsNotRecorded":       {of("a", "pingpost_pings_dropped_total", `reason="queue_full"`): growing(1)},
	"PingpostCapsOld":                {of("a", "pingpost_caps_age_seconds", ""): constant(31)},
	"PingpostDirectoryUnreadable":    {of("a", "pingpost_directory_unreadable", ""): constant(1)},
	"PingpostJobFailed":              {of("a", "pingpost_jobs", `kind="export",state="failed"`): "3+0x210 4+0x9"},
	"PingpostJobStuck":               {of("a", "pingpost_jobs_oldest_seconds", `kind="export"`): constant(3700)},
	"PingpostErasureJournalUnusable": {of("a", "pingpost_erasure_journal_checked_timestamp_seconds", ""): constant(60)},
	"PingpostErasuresPending":        {of("a", "pingpost_erasures_pending", ""): constant(1)},
	"PingpostLeadKeysMissing":        {of("a", "pingpost_lead_keys_missing", ""): constant(1)},
	"PingpostVaultFailing":           {of("a", "pingpost_vault_calls_total", `operation="wrap",result="unavailable"`): growing(1)},
	"PingpostDataKeysShort":          {of("a", "pingpost_data_keys_waited_total", ""): growing(10)},
}

// longFaults need series that are longer than a day. They have 3,000 values, one every 4 minutes.
var longFaults = map[string]series{
	"PingpostNoLeads": {of("a", "pingpost_leads_stored_total", `currency="GBP"`): "0+10x2900 29000+0x99"},
	"PingpostRetentionLate": {
		of("a", "pingpost_retention_due_leads", ""):             "5+0x3000",
		of("a", "pingpost_retention_run_timestamp_seconds", ""): "600+0x3000",
	},
}

// TestRules checks which alerts fire on a healthy platform (none), and for each fault (exactly one).
func TestRules(t *testing.T) {
	type sample struct {
		Labels string  `yaml:"labels"`
		Value  float64 `yaml:"value"`
	}
	type expression struct {
		Expr     string   `yaml:"expr"`
		EvalTime string   `yaml:"eval_time"`
		Samples  []sample `yaml:"exp_samples"`
	}
	type input struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	type group struct {
		Name        string       `yaml:"name"`
		Interval    string       `yaml:"interval"`
		Series      []input      `yaml:"input_series"`
		Expressions []expression `yaml:"promql_expr_test"`
	}
	check := func(interval, at string, faults map[string]series, healthy series) {
		var groups []group
		for _, alert := range slices.Sorted(maps.Keys(faults)) {
			e := expression{Expr: `count by (alertname) (ALERTS{alertstate="firing"}) > bool 0`, EvalTime: at}
			if alert != "" {
				e.Samples = []sample{{fmt.Sprintf(`{alertname="%s"}`, alert), 1}}
			}
			s := maps.Clone(healthy)
			maps.Copy(s, faults[alert])
			g := group{Name: alert, Interval: interval, Expressions: []expression{e}}
			for _, name := range slices.Sorted(maps.Keys(s)) {
				g.Series = append(g.Series, input{name, s[name]})
			}
			groups = append(groups, g)
		}
		rules, err := filepath.Abs(rulesFile)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(map[string]any{
			"rule_files": []string{rules}, "evaluation_interval": interval, "tests": groups,
		})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "rules_test.yaml")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	healthy := healthyNode("a")
	maps.Copy(healthy, healthyNode("b"))
	check("1m", fmt.Sprint(minutes, "m"), faults, healthy)
	check("4m", "12000m", longFaults, series{of("a", "pingpost_ready", `check="storing"`): "1+0x3000"})
}

// rule is an alert or a recording rule.
type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

func readRules(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	text, err := os.ReadFile(rulesFile)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// TestAlertsAreDocumented checks that each alert is tested, has a severity and a runbook, and uses only metrics that a
// node has.
func TestAlertsAreDocumented(t *testing.T) {
	known := knownMetrics(t)
	alerts := map[string]bool{}
	for _, r := range readRules(t) {
		known.check(t, r.Alert+r.Record, r.Expr)
		if r.Alert == "" {
			continue
		}
		alerts[r.Alert] = true
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s has the severity %q", r.Alert, s)
		}
		if faults[r.Alert] == nil && longFaults[r.Alert] == nil {
			t.Errorf("%s has no test", r.Alert)
		}
		page, err := os.ReadFile(filepath.Join(runbooks, r.Alert+".md"))
		if err != nil {
			t.Error(err)
		}
		url := r.Annotations["runbook_url"]
		if !strings.HasSuffix(url, "/docs/runbooks/"+r.Alert+".md") || r.Annotations["summary"] == "" {
			t.Errorf("%s: got the annotations %q", r.Alert, r.Annotations)
		}
		var headings []string
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "#") {
				headings = append(headings, strings.TrimSpace(line))
			}
		}
		want := []string{"# " + r.Alert, "## What it means", "## How to see it", "## What to do", "## What not to do"}
		if !slices.Equal(headings, want) || !strings.Contains(string(page), "\nSeverity: "+r.Labels["severity"]+"\n") {
			t.Errorf("the runbook of %s has the headings %q, or another severity", r.Alert, headings)
		}
	}
	pages, err := filepath.Glob(filepath.Join(runbooks, "Pingpost*.md"))
	if err != nil || len(pages) != len(alerts) {
		t.Errorf("there are %d runbooks for %d alerts (%v)", len(pages), len(alerts), err)
	}
}
