package faults

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/test/node"
)

// onServer makes a node use the test's own Postgres.
func onServer(t *testing.T, s *testkit.Server) node.Option {
	return func(n *node.Node) {
		n.DB, n.LosesAnswers = s.NewDatabase(t), true
		n.Config.Database.URL = config.Secret(n.DB.AppURL)
	}
}

// TestReadinessRequiresWritableDatabase checks that a node is ready for posts only while the database
// can store them. Otherwise, it must report the reason. It must log each change once. Pings do not need
// a database.
func TestReadinessRequiresWritableDatabase(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := node.Start(t, onServer(t, server))
	n.Deliver(t, n.Required, node.MinimalPost)
	lines := func(check string) int { return n.Log.Count(`"check":"` + check + `"`) }
	for _, c := range []struct{ check, setting, value string }{
		{"database", "default_transaction_read_only", "on"},
		{"commits", "synchronous_standby_names", "missing_standby"},
	} {
		t.Run(c.check, func(t *testing.T) {
			n.AwaitReadiness(t, "/readyz")
			logged := lines(c.check)
			body := n.FreshPost(t, n.Required)
			server.Set(t, c.setting, c.value)
			n.AwaitReadiness(t, "/readyz", c.check)
			n.AwaitReadiness(t, "/readyz/ping")
			awaitMetric(t, n, `pingpost_ready{check="`+c.check+`"}`, "0")
			if a := n.Post(t, n.Required, body); a.Status != http.StatusServiceUnavailable {
				t.Errorf("post: got %d %s, want 503", a.Status, a.Body)
			}
			n.CheckServes(t)
			server.Set(t, c.setting, "")
			n.AwaitReadiness(t, "/readyz")
			awaitMetric(t, n, `pingpost_ready{check="`+c.check+`"}`, "1")
			if got := node.Decode[node.Delivered](t, n.Post(t, n.Required, body)); got.LeadID == "" {
				t.Error("the post was not delivered afterwards")
			}
			testkit.Eventually(t, node.Patience, "both changes are logged", func() bool { return lines(c.check)-logged == 2 })
		})
	}
	if lines("database") != 2 || lines("commits") != 2 {
		t.Errorf("a change was logged more than once:\n%s", n.Log)
	}
}

// awaitMetric waits until a metric has the given value.
func awaitMetric(t *testing.T, n *node.Node, name, value string) {
	t.Helper()
	testkit.Eventually(t, node.Patience, name+" is "+value, func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"), "\n"+name+" "+value+"\n")
	})
}
