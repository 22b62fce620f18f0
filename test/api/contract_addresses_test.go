package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// endpoints returns the paths of both endpoints, on the shared base URL and on a partner's own base URL.
func endpoints(n *node.Node) []string {
	return []string{
		"/api/lead/ping", "/api/lead/post",
		n.Required.Base() + "/api/lead/ping", n.Required.Base() + "/api/lead/post",
	}
}

// addresses checks that paths similar to those of the endpoints return 404, never a redirect.
func addresses(t *testing.T, n *node.Node) {
	notFound := func(method, path string) scenario {
		return scenario{
			name:   method + " " + path,
			method: method,
			path:   path,
			body:   node.MinimalPing,
			status: http.StatusNotFound,
			want:   rejection(spec.NotFound),
			header: map[string]string{"Content-Type": "application/json; charset=utf-8", "Location": ""},
		}
	}
	var rows []scenario
	for _, path := range endpoints(n) {
		for _, near := range []string{
			path + "/", strings.Replace(path, "/lead/", "/Lead/", 1), strings.ToUpper(path), "/" + path,
			strings.Replace(path, "/lead", "//lead", 1),
			strings.Replace(path, "/lead", "%2Flead", 1), strings.Replace(path, "/lead/", "/lead%2f", 1),
			strings.Replace(path, "/", "/%2F", 1),
			path + "/x", path + ".json", path + "%20", path + ";a=1", strings.Replace(path, "/lead/", "/lead/./", 1),
			"/x/.." + path,
		} {
			rows = append(rows, notFound("POST", near))
		}
	}
	for _, path := range []string{
		"/api", "/api/", "/api/lead", "/api/lead/", "/p", "/p/", "/p//api/lead/ping", "/p/" + n.Required.Slug, "/" + node.Marker,
		"/docs/", "/openapi.json",
		"/metrics", "/healthz", "/readyz", "/debug/pprof/", "/debug/vars",
	} {
		rows = append(rows, notFound("POST", path))
	}
	for _, slug := range []string{node.Marker, "Harbour-Leads", "harbour-leads%2F", "harbour%2Dleads", "harbour%2dleads",
		"%68arbour-leads", n.Required.ID.String(), n.Required.Accounts[0]} {
		for _, endpoint := range []string{"ping", "post"} {
			row := notFound("POST", "/p/"+slug+"/api/lead/"+endpoint)
			row.want = rejection(spec.UnknownBaseURL)
			rows = append(rows, row)
		}
	}
	for _, path := range []string{"/Docs", "/docs//", "//", "/%2F", "/docs%2F", "/api/industries/", "/openapi.yml", "/robots.txt",
		"/metrics", "/debug/pprof/", "/readyz"} {
		row := notFound("GET", path)
		row.body = ""
		rows = append(rows, row)
	}
	play(t, n, rows)

	t.Run("a query is ignored", func(t *testing.T) {
		if a := n.Do(t, node.Request{Path: "/api/lead/ping?email=" + node.PersonEmail, Body: node.MinimalPing}); a.Status != http.StatusOK {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("a signed post to an unknown base URL", func(t *testing.T) {
		r := n.Signed(n.Required, node.MinimalPost)
		r.Path = "/p/" + node.Marker + "/api/lead/post"
		if a := n.Do(t, r); a.Status != http.StatusNotFound {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}

// pointers checks that some paths similar to those of the documents redirect to the documents.
func pointers(t *testing.T, n *node.Node) {
	for path, document := range map[string]string{"/docs/": "/docs", "/openapi.json": "/openapi.yaml"} {
		for _, method := range []string{"GET", "HEAD"} {
			request, a := n.Send(t, node.Request{Method: method, Path: path})
			to, err := request.URL.Parse(a.Header.Get("Location"))
			if err != nil || a.Status != http.StatusFound || to.Path != document || a.Body != "" {
				t.Errorf("%s %s: got %d to %s (%v)", method, path, a.Status, a.Header.Get("Location"), err)
			}
		}
	}
}

// methods checks that both endpoints accept only POST.
func methods(t *testing.T, n *node.Node) {
	var rows []scenario
	for _, path := range endpoints(n) {
		for _, method := range []string{
			"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PROPFIND", strings.ToUpper(node.Marker),
			"post", "POSTS",
		} {
			s := scenario{
				name:   method + " " + path,
				method: method,
				path:   path,
				status: http.StatusMethodNotAllowed,
				want:   rejection(spec.MethodNotAllowed),
				header: map[string]string{"Allow": "POST", "Content-Type": "application/json; charset=utf-8"},
			}
			if method == "HEAD" {
				s.want = nil
			}
			rows = append(rows, s)
		}
	}
	for _, path := range []string{"/", "/api/industries", "/openapi.yaml", "/docs", "/docs.css", "/docs.js"} {
		rows = append(rows, scenario{
			name: "POST " + path, path: path, status: http.StatusMethodNotAllowed,
			want: rejection(spec.MethodNotAllowed), header: map[string]string{"Allow": "GET, HEAD"},
		})
	}
	play(t, n, rows)
}

// sizes sends bodies of exactly 64 KiB, which is the limit, and larger bodies.
func sizes(t *testing.T, n *node.Node) {
	filled := func(body string, size int) string {
		return strings.Replace(body, "{", `{"filler":"`+strings.Repeat("x", size-len(body)-len(`"filler":"",`))+`",`, 1)
	}
	const limit = 64 << 10
	post := func() string {
		return node.WithTransaction(node.MinimalPost, n.Ping(t, n.Required.Base(), node.MinimalPing).TransactionID)
	}
	play(t, n, []scenario{
		{
			name:   "ping, 64 KiB",
			path:   "/api/lead/ping",
			body:   filled(node.MinimalPing, limit),
			status: http.StatusOK,
			want:   []string{`"accepted":true`},
		},
		{
			name:   "post, 64 KiB",
			by:     required,
			body:   filled(post(), limit),
			status: http.StatusOK,
			want:   []string{`"status":"success"`},
			stored: node.OneLead,
		},
		{
			name:   "ping, 64 KiB and 1 byte",
			path:   "/api/lead/ping",
			body:   filled(node.MinimalPing, limit+1),
			status: http.StatusRequestEntityTooLarge,
			want:   rejection(spec.PayloadTooLarge),
		},
		{
			name:   "post, 64 KiB and 1 byte",
			by:     required,
			body:   filled(post(), limit+1),
			status: http.StatusRequestEntityTooLarge,
			want:   rejection(spec.PayloadTooLarge),
		},
		{
			name:   "post, 1 MiB",
			by:     required,
			body:   filled(post(), 1<<20),
			status: http.StatusRequestEntityTooLarge,
			want:   rejection(spec.PayloadTooLarge),
		},
		{
			name:   "the size is checked before the signature",
			path:   n.Required.Base() + "/api/lead/post",
			body:   filled(node.MinimalPing, limit+1),
			change: []func(*node.Request){with(signatureHeader, node.Marker)},
			status: http.StatusRequestEntityTooLarge,
			want:   rejection(spec.PayloadTooLarge),
		},
	})
}
