package api

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/api"
	"github.com/pingpost/pingpost/test/node"
)

// documents reads the documents that the API serves.
func documents(t *testing.T, n *node.Node) {
	for _, c := range []struct{ path, contentType, want string }{
		{"/api/industries", "application/json; charset=utf-8", `{"slug":"plumber","taxonomyTermId":`},
		{"/openapi.yaml", "application/yaml; charset=utf-8", "openapi: 3.1.0"},
		{"/", "text/html; charset=utf-8", `<a href="docs">`},
		{"/docs", "text/html; charset=utf-8", n.Config.HTTP.PublicURL + "/api/lead/ping"},
		{"/docs.css", "text/css; charset=utf-8", "{"},
		{"/docs.js", "text/javascript; charset=utf-8", "use strict"},
	} {
		t.Run(c.path, func(t *testing.T) { document(t, n, c.path, c.contentType, c.want) })
	}
	// The served document is the one that the tests use, with the values of the node's settings.
	served := n.Do(t, node.Request{Method: "GET", Path: "/openapi.yaml"}).Body
	for i, part := range regexp.MustCompile(`\{(?:origin|[a-z]+\.[a-z_]+)\}`).Split(string(api.Document()), -1) {
		at := strings.Index(served, part)
		if at < 0 || i == 0 && at > 0 {
			t.Fatalf("/openapi.yaml lacks %q", part)
		}
		served = served[at+len(part):]
	}
	if served != "" {
		t.Errorf("/openapi.yaml ends with %q", served)
	}
}

// document checks the headers of one document and the responses to conditional requests for it.
func document(t *testing.T, n *node.Node, path, contentType, want string) {
	get := node.Request{Method: "GET", Path: path}
	a := n.Do(t, get)
	tag := a.Header.Get("ETag")
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != contentType ||
		!strings.Contains(a.Body, want) || len(tag) < 4 {
		t.Fatalf("got %d %v; body contains %q: %t", a.Status, a.Header, want, strings.Contains(a.Body, want))
	}
	if a.Header.Get("Content-Security-Policy") == "" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got headers %v", a.Header)
	}
	head := n.Do(t, node.Request{Method: "HEAD", Path: path})
	if head.Status != http.StatusOK || head.Body != "" || head.Header.Get("ETag") != tag ||
		head.Header.Get("Content-Length") != a.Header.Get("Content-Length") {
		t.Errorf("HEAD: got %d %v", head.Status, head.Header)
	}
	for condition, status := range map[string]int{
		tag:                    http.StatusNotModified,
		"W/" + tag:             http.StatusNotModified,
		`"other", ` + tag:      http.StatusNotModified,
		"*":                    http.StatusNotModified,
		`"other"`:              http.StatusOK,
		"":                     http.StatusOK,
		strings.Trim(tag, `"`): http.StatusOK,
	} {
		get.Header = http.Header{"If-None-Match": {condition}}
		got := n.Do(t, get)
		if got.Status != status || got.Header.Get("ETag") != tag || (got.Body == "") != (status == http.StatusNotModified) {
			t.Errorf("If-None-Match %s: got %d with %d bytes, want %d", condition, got.Status, len(got.Body), status)
		}
	}
}
