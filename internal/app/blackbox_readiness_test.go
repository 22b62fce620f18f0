package app_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/testkit"
)

// onServer has a node use a Postgres of the test's own.
func onServer(t *testing.T, s *testkit.Server) option {
	return func(n *node) {
		n.db, n.lossy = s.NewDatabase(t), true
		n.cfg.Database.URL = config.Secret(n.db.AppURL)
	}
}

// A node is ready for posts while the database can store them, and says what
// keeps it from that. Pings need no database. Each change is logged once.
func TestReadinessFollowsWhatTheDatabaseCanStore(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := startNode(t, onServer(t, server))
	n.deliver(t, n.required, leastPost)
	lines := func(check string) int { return n.log.Count(`"check":"` + check + `"`) }
	for _, c := range []struct{ check, setting, value, state string }{
		{"database", "default_transaction_read_only", "on", "read-only"},
		{"commits", "synchronous_standby_names", "one_that_is_away", "not confirmed within 3s: check that the synchronous standby is running"},
	} {
		t.Run(c.check, func(t *testing.T) {
			n.checksBecome(t, postChecks)
			logged := lines(c.check)
			body := n.freshPost(t, n.required)
			server.Set(t, c.setting, c.value)
			n.checksBecome(t, but(postChecks, c.check, c.state))
			n.isReady(t, "/readyz/ping", pingChecks)
			n.gauge(t, `pingpost_ready{check="`+c.check+`"}`, "0")
			if a := n.post(t, n.required, body); a.status != http.StatusServiceUnavailable {
				t.Errorf("a post was answered with %d %s", a.status, a.body)
			}
			n.works(t)
			server.Set(t, c.setting, "")
			n.checksBecome(t, postChecks)
			n.gauge(t, `pingpost_ready{check="`+c.check+`"}`, "1")
			if got := decode[delivered](t, n.post(t, n.required, body)); got.LeadID == "" {
				t.Error("the post is not delivered afterwards")
			}
			testkit.Eventually(t, patience, "both changes are logged", func() bool { return lines(c.check)-logged == 2 })
		})
	}
	if lines("database") != 2 || lines("commits") != 2 {
		t.Errorf("a change was logged more than once:\n%s", n.log)
	}
}

// checksBecome waits until the checks of /readyz are these.
func (n *node) checksBecome(t *testing.T, checks map[string]string) {
	t.Helper()
	testkit.Eventually(t, patience, "the checks are as expected", func() bool {
		return maps.Equal(n.readiness(t, "/readyz").Checks, checks)
	})
}

// gauge waits until a metric has the value.
func (n *node) gauge(t *testing.T, name, value string) {
	t.Helper()
	testkit.Eventually(t, patience, name+" is "+value, func() bool {
		return strings.Contains(n.get(t, n.ops+"/metrics"), "\n"+name+" "+value+"\n")
	})
}
