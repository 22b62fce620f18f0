package node

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// Readiness is the response from /readyz or /readyz/ping.
type Readiness struct {
	Status   int
	Ready    bool
	Checks   map[string]string
	Warnings map[string]string
}

// Readiness requests /readyz or /readyz/ping from the ops listener.
func (n *Node) Readiness(t testing.TB, path string) Readiness {
	t.Helper()
	resp, err := n.Client.Get(n.Ops + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := Readiness{Status: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if r.Ready != (r.Status == http.StatusOK) || !r.Ready && r.Status != http.StatusServiceUnavailable {
		t.Errorf("%s: ready is %t with status %d", path, r.Ready, r.Status)
	}
	return r
}

// checks lists the checks that each path reports. A node that is stopping also reports the check
// draining.
var checks = map[string][]string{
	"/readyz/ping": {"rate_card", "directory"},
	"/readyz": {"platform_keys", "rate_card", "directory", "database", "commits", "schema", "clock",
		"key_wrapper", "wrapping_key", "partitions", "storing"},
}

// AwaitReadiness waits until the failing checks of the path are exactly the given ones.
func (n *Node) AwaitReadiness(t testing.TB, path string, failing ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, check := range checks[path] {
		want[check] = true
	}
	for _, check := range failing {
		want[check] = false
	}
	var diff string
	defer func() {
		if diff != "" {
			t.Logf("%s (-want +got):\n%s", path, diff)
		}
	}()
	testkit.Eventually(t, Patience, "exactly the expected checks of "+path+" fail", func() bool {
		got := map[string]bool{}
		for check, state := range n.Readiness(t, path).Checks {
			got[check] = state == "ok"
		}
		diff = cmp.Diff(want, got)
		return diff == ""
	})
}
