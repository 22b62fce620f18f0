package api

import (
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
)

const caller = "0af7651916cd43dd8448eb211c80319c"

// TestTraces traces a post, whose trace the proxy has begun. The trace contains the statement that stores the lead, and
// no personal data. A client that is not a trusted proxy has no influence.
func TestTraces(t *testing.T) {
	t.Parallel()
	collector := testkit.NewCollector(t)
	n := node.Start(t, func(n *node.Node) {
		n.Config.HTTP.TrustedProxies = []string{"127.0.0.1/32"}
		n.Config.Tracing.Endpoint, n.Config.Tracing.SampleRatio = collector.URL, 0
	})
	stranger := n.StartPeer(t, func(n *node.Node) { n.Config.HTTP.TrustedProxies = nil })
	traced := with("Traceparent", "00-"+caller+"-b7ad6b7169203331-01")
	ping := node.Request{Path: n.Required.Base() + "/api/lead/ping", Body: node.MinimalPing}
	n.Do(t, ping)
	traced(&ping)
	stranger.Do(t, ping)
	post := n.Signed(n.Required, n.FreshPost(t, n.Required))
	traced(&post)
	answer := n.Do(t, post)
	delivered := node.Decode[node.Delivered](t, answer)
	if answer.Status != http.StatusOK {
		t.Fatal(answer)
	}
	stranger.Close(t)
	n.Shutdown(t) // sends the last spans
	spans := map[string]ptrace.Span{}
	for _, s := range collector.Spans() {
		spans[s.Name()] = s
		if s.TraceID().String() != caller {
			t.Errorf("the span %s has another trace: %s", s.Name(), s.TraceID())
		}
	}
	for _, name := range []string{"post", "store lead", "acquire connection", "batch"} {
		if _, found := spans[name]; !found {
			t.Errorf("there is no span %s", name)
		}
	}
	sql, _ := spans["batch"].Attributes().Get("db.query.text")
	if !strings.Contains(sql.Str(), "INSERT INTO leads") {
		t.Errorf("the statement that stores the lead is not in the trace: %s", sql.Str())
	}
	want := map[string]any{
		"http.request.method": "POST", "http.route": "/p/:slug/api/lead/post",
		"http.response.status_code": int64(http.StatusOK),
		"pingpost.outcome":          "delivered", "pingpost.lead_id": delivered.LeadID, "pingpost.partner": "",
		"pingpost.request_id": answer.Header.Get("X-Request-Id"),
	}
	got := spans["post"].Attributes().AsRaw()
	for key, value := range want {
		if got[key] != value && value != "" || got[key] == nil {
			t.Errorf("%s: got %v, want %v", key, got[key], value)
		}
	}
	if _, found := spans["ping"]; found {
		t.Error("a ping was traced")
	}
	for what, secret := range n.Secrets() {
		if strings.Contains(collector.Text(), secret) {
			t.Errorf("the traces contain %s", what)
		}
	}
	if strings.Contains(collector.Text(), node.Marker) {
		t.Error("the traces contain personal data")
	}
	if lines := n.Log.Count(`"trace_id":"` + caller + `"`); lines != 1 {
		t.Errorf("%d lines of the log have the trace, want 1", lines)
	}
}
