package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/test/node"
)

// TestUnreadableRequestsAreCounted sends bodies that are too large or incomplete, and requests with a wrong
// URL or method. The service counts them by endpoint and outcome, like other rejections, and logs them for
// the partner that the base URL belongs to (decisions 24, 65). Wrong URLs are not counted,
// nor is a wrong method on the shared base URL.
func TestUnreadableRequestsAreCounted(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	large := strings.Repeat(" ", 64<<10) + "{}"
	traffic, rejections := map[string]int{}, map[string]int{}
	for _, endpoint := range []string{"ping", "post"} {
		for base, partner := range map[string]string{"": "unknown", n.Required.Base(): n.Required.Slug} {
			expect := func(a node.Answer, status int, outcome string) {
				t.Helper()
				if a.Status != status {
					t.Errorf("%s%s: got %d %s, want %d", base, endpoint, a.Status, a.Body, status)
				}
				line := fmt.Sprint(partner, " ", endpoint, " ", outcome)
				if outcome == "not_found" {
					line = fmt.Sprint(partner, " unknown ", outcome)
				} else {
					traffic[line]++
				}
				if base != "" {
					rejections[line+" "+a.Header.Get("X-Request-Id")]++
				}
			}
			w := node.RawRequest{Path: base + "/api/lead/" + endpoint, Body: large}
			expect(exchange(t, n, w), http.StatusRequestEntityTooLarge, "too_large")
			w.Length, w.Body = chunkedEncoding, chunked(large)
			expect(exchange(t, n, w), http.StatusRequestEntityTooLarge, "too_large")
			expect(sendHalf(t, n, node.RawRequest{Path: w.Path, Body: node.MinimalPing}), http.StatusRequestTimeout, "incomplete")
			if base != "" {
				expect(exchange(t, n, node.RawRequest{Path: base + "/" + endpoint, Body: "{}"}), http.StatusNotFound, "not_found")
				get := node.RawRequest{Method: http.MethodGet, Path: w.Path, Line: "GET " + w.Path + " HTTP/1.1"}
				expect(exchange(t, n, get), http.StatusMethodNotAllowed, "method")
			}
		}
	}
	n.Shutdown(t)
	if got := countLines(t, n, `SELECT coalesce(p.slug, 'unknown') || ' ' || endpoint || ' ' || outcome, sum(count)::bigint
		FROM traffic_minutes t LEFT JOIN partners p ON p.id = t.partner_id GROUP BY 1`); !maps.Equal(got, traffic) {
		t.Errorf("got %v\nwant %v", got, traffic)
	}
	recorded := map[string]int{}
	for line, count := range countLines(t, n, `SELECT p.slug || ' ' || endpoint || ' ' || outcome || ' ' || request_id, count(*)
		FROM api_requests r JOIN partners p ON p.id = r.partner_id WHERE fields = '{}' GROUP BY 1`) {
		recorded[line] = count
	}
	for line, count := range rejections {
		text := line[strings.LastIndexByte(line, ' ')+1:]
		request, err := id.Parse(id.Request, text)
		if err != nil {
			t.Fatal(err)
		}
		if stored := strings.TrimSuffix(line, text) + request.String(); recorded[stored] != count {
			t.Errorf("%s is recorded %d times, want %d: %v", stored, recorded[stored], count, recorded)
		}
	}
	if len(recorded) != len(rejections) {
		t.Errorf("got %d recorded rejections, want %d", len(recorded), len(rejections))
	}
}

// sendHalf sends a request with only half of its body.
func sendHalf(t *testing.T, n *node.Node, w node.RawRequest) node.Answer {
	t.Helper()
	l := n.Dial(t)
	defer l.Close()
	text := w.String()
	l.Send(text[:len(text)-len(w.Body)/2])
	if err := l.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	return n.ReadAnswer(t, l, w)
}

// countLines runs a query whose rows contain a line and a count, and returns the counts by line.
func countLines(t *testing.T, n *node.Node, sql string) map[string]int {
	t.Helper()
	rows, err := n.Root.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	var line string
	var count int
	if _, err := pgx.ForEachRow(rows, []any{&line, &count}, func() error {
		found[line] = count
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}
