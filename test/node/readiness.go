package node

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
)

// Readiness is what /readyz and /readyz/ping answer.
type Readiness struct {
	Status int
	Ready  bool
	Checks map[string]string
}

// Readiness asks the ops listener for one of them.
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
		t.Errorf("%s: ready %t, answered %d", path, r.Ready, r.Status)
	}
	return r
}

// What the two answer when every check passes.
var (
	PingChecks = map[string]string{"rate_card": "ok", "directory": "ok"}
	PostChecks = map[string]string{
		"platform_keys": "ok", "rate_card": "ok", "directory": "ok",
		"database": "ok", "commits": "ok", "schema": "ok", "clock": "ok", "key_wrapper": "ok", "lead_keys": "ok",
	}
)

// Failing is the checks with some of them failing.
func Failing(checks map[string]string, failing ...string) map[string]string {
	out := maps.Clone(checks)
	for i := 0; i < len(failing); i += 2 {
		out[failing[i]] = failing[i+1]
	}
	return out
}

func (n *Node) CheckReadiness(t testing.TB, path string, want map[string]string) {
	t.Helper()
	if got := n.Readiness(t, path); !maps.Equal(got.Checks, want) {
		t.Errorf("%s: %d %v, want %v", path, got.Status, got.Checks, want)
	}
}
