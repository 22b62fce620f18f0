package app_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/api"
)

// documents reads what the API publishes about itself.
func documents(t *testing.T, n *node) {
	for _, c := range []struct{ path, contentType, want string }{
		{"/api/industries", "application/json; charset=utf-8", `{"slug":"plumber","taxonomyTermId":`},
		{"/openapi.yaml", "application/yaml; charset=utf-8", "openapi: 3.1.0"},
		{"/docs", "text/html; charset=utf-8", n.cfg.HTTP.PublicURL + "/api/lead/ping"},
		{"/docs.css", "text/css; charset=utf-8", "{"},
	} {
		t.Run(c.path, func(t *testing.T) { document(t, n, c.path, c.contentType, c.want) })
	}
	if got := n.do(t, request{method: "GET", path: "/openapi.yaml"}); !bytes.Equal([]byte(got.body), api.Document()) {
		t.Error("/openapi.yaml is not the document that the tests hold answers against")
	}
}

func document(t *testing.T, n *node, path, contentType, want string) {
	get := request{method: "GET", path: path}
	a := n.do(t, get)
	tag := a.header.Get("ETag")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != contentType || !strings.Contains(a.body, want) || len(tag) < 4 {
		t.Fatalf("answered %d %v, with %q: %t", a.status, a.header, want, strings.Contains(a.body, want))
	}
	if a.header.Get("Content-Security-Policy") == "" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", a.header)
	}
	head := n.do(t, request{method: "HEAD", path: path})
	if head.status != http.StatusOK || head.body != "" || head.header.Get("ETag") != tag || head.header.Get("Content-Length") != a.header.Get("Content-Length") {
		t.Errorf("HEAD: answered %d %v", head.status, head.header)
	}
	for condition, status := range map[string]int{
		tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"other", ` + tag: http.StatusNotModified, "*": http.StatusNotModified,
		`"other"`: http.StatusOK, "": http.StatusOK, strings.Trim(tag, `"`): http.StatusOK,
	} {
		get.header = http.Header{"If-None-Match": {condition}}
		got := n.do(t, get)
		if got.status != status || got.header.Get("ETag") != tag || (got.body == "") != (status == http.StatusNotModified) {
			t.Errorf("If-None-Match %s: answered %d with %d bytes, want %d", condition, got.status, len(got.body), status)
		}
	}
}
