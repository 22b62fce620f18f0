package partners

import (
	"reflect"
	"testing"
)

func TestReadPaste(t *testing.T) {
	const body = "{\n  \"a\": 1\n}"
	headers := map[string][]string{"x-timestamp": {"1767323045"}, "x-signature-sha256": {"ab"}, "host": {"api.example"}}
	const sent = "Host: api.example\r\nX-Timestamp: 1767323045\r\nX-Signature-SHA256:ab\r\n"
	for name, c := range map[string]struct {
		text, path, body string
		bodies           int
	}{
		"headers and body":      {sent + "\r\n" + body, "", body, 4},
		"no empty line":         {sent + body, "", body, 4},
		"raw HTTP":              {"\r\nPOST /p/harbour/api/lead/post HTTP/1.1\r\n" + sent + "\r\n" + body + "\r\n\r\n", "/p/harbour/api/lead/post", body, 6},
		"one line":              {sent + "\r\n{}", "", "{}", 3},
		"no body":               {sent, "", "", 0},
		"with a length":         {"Content-Length: 10\r\n" + sent + "\r\n{\"a\": [1]}\r\n", "", "{\"a\": [1]}", 1},
		"with a Windows length": {"Content-Length: 16\r\n" + sent + "\r\n" + body + "\r\n", "", "{\r\n  \"a\": 1\r\n}\r\n", 1},
		"curl -v": {
			"curl -v -d @lead.json https://api.example/p/harbour/api/lead/post\r\n* Connected to api.example\r\n" +
				"> POST /p/harbour/api/lead/post HTTP/1.1\r\n> Host: api.example\r\n> X-Timestamp: 1767323045\r\n> X-Signature-SHA256: ab\r\n" +
				">\r\n* upload completely sent off: 12 bytes\r\n" + body + "\r\n< HTTP/1.1 401 Unauthorized\r\n< Content-Type: application/json\r\n<\r\n{\"ok\":false}",
			"/p/harbour/api/lead/post", body, 4,
		},
	} {
		p := readPaste(c.text)
		delete(p.headers, "content-length")
		first := ""
		if len(p.bodies) > 0 {
			first = p.bodies[0]
		}
		if p.path != c.path || first != c.body || len(p.bodies) != c.bodies || !reflect.DeepEqual(p.headers, headers) {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

func TestSlugOfPaste(t *testing.T) {
	for path, want := range map[string]string{
		"": "own", "/p/harbour/api/lead/post": "harbour", "/api/lead/post": "", "https://api.example/p/harbour/api/lead/post?x=1": "harbour",
		"/prefix/p/harbour/api/lead/post": "harbour", "/api/lead/ping": "no post", "/api/lead/post/": "no post", "/p/harbour/api/LEAD/post": "no post",
	} {
		slug, ok := pastedPost{path: path}.slug("own")
		if !ok {
			slug = "no post"
		}
		if slug != want {
			t.Errorf("%q: got %q, want %q", path, slug, want)
		}
	}
}
