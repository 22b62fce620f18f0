package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// metrics contains the labels of metrics, without those that Prometheus adds.
type metrics map[string][]string

var (
	documentedMetric = regexp.MustCompile("(?m)^\\| `(pingpost_\\w+)` \\| \\w+ \\| (.*?) \\|")
	metricInExpr     = regexp.MustCompile(`(pingpost[_:][\w:]+)(?:\{([^}]*)\})?`)
	matchedLabel     = regexp.MustCompile(`(\w+)\s*(?:=|!=|=~|!~)"`)
	grouping         = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right) \(([^)]+)\)`)
	word             = regexp.MustCompile(`\w+`)
)

// addedLabels are labels that Prometheus adds, and the label of a histogram's buckets.
var addedLabels = []string{"job", "instance", "le"}

// knownMetrics returns the metrics of a node and of the recording rules. Another test compares
// docs/reference/metrics.md with a running node.
func knownMetrics(t *testing.T) metrics {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	m := metrics{}
	for _, line := range documentedMetric.FindAllStringSubmatch(string(page), -1) {
		m[line[1]] = word.FindAllString(line[2], -1)
	}
	for _, r := range readRules(t) {
		if r.Record != "" {
			m[r.Record] = groupingLabels(r.Expr)
		}
	}
	return m
}

func groupingLabels(expr string) []string {
	var labels []string
	for _, group := range grouping.FindAllStringSubmatch(expr, -1) {
		labels = append(labels, word.FindAllString(group[1], -1)...)
	}
	return labels
}

// check checks that the platform's metrics in an expression exist and have the labels that the expression uses.
func (m metrics) check(t *testing.T, where, expr string) {
	t.Helper()
	grouped := slices.Concat(addedLabels, []string{"alertname", "alertstate", "severity"})
	for _, use := range metricInExpr.FindAllStringSubmatch(expr, -1) {
		labels, found := m[strings.TrimSuffix(use[1], "_bucket")]
		if !found {
			t.Errorf("%s: there is no metric %s", where, use[1])
		}
		grouped = append(grouped, labels...)
		for _, label := range matchedLabel.FindAllStringSubmatch(use[2], -1) {
			if !slices.Contains(slices.Concat(labels, addedLabels), label[1]) {
				t.Errorf("%s: the metric %s has no label %s", where, use[1], label[1])
			}
		}
	}
	for _, label := range groupingLabels(expr) {
		if !slices.Contains(grouped, label) {
			t.Errorf("%s: no metric in %s has the label %s", where, expr, label)
		}
	}
}
