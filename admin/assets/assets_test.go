package assets

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func get(t *testing.T, method, url, encoding string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestEveryFileIsServed(t *testing.T) {
	for name, f := range served {
		plain := get(t, "GET", URL(name), "")
		want, _ := io.ReadAll(plain.Body)
		if plain.StatusCode != 200 || len(want) == 0 || plain.Header.Get("Content-Type") != f.kind {
			t.Errorf("%s: %d, %d bytes, %q", name, plain.StatusCode, len(want), plain.Header.Get("Content-Type"))
		}
		if cache := plain.Header.Get("Cache-Control"); cache != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control is %q", name, cache)
		}
		packed := get(t, "GET", URL(name), "br, gzip;q=0.8")
		unpacked, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _ := io.ReadAll(unpacked); string(got) != string(want) {
			t.Errorf("%s: the content of the compressed response differs", name)
		}
	}
}

func TestOtherPathsAreNotServed(t *testing.T) {
	for _, path := range []string{"/assets/", "/assets", "/assets/package.json",
		"/assets/dist/console.css", "/assets/../assets.go", "/assets/console.css/"} {
		if got := get(t, "GET", path, ""); got.StatusCode != 404 {
			t.Errorf("%s: got %d, want 404", path, got.StatusCode)
		}
	}
	if got := get(t, "POST", URL("console.css"), ""); got.StatusCode != 405 {
		t.Errorf("POST: got %d, want 405", got.StatusCode)
	}
	if got := get(t, "GET", "/assets/console.css?v=another", ""); got.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("URL with another hash: Cache-Control is %q, want no-cache", got.Header.Get("Cache-Control"))
	}
	if got := get(t, "GET", URL("console.css"), "gzip;q=0"); got.Header.Get("Content-Encoding") != "" {
		t.Error("the response is compressed for a client that does not accept gzip")
	}
}

// The Content-Security-Policy blocks resources from other sites, so the style sheet must not use any.
func TestStyleSheetUsesNoExternalResources(t *testing.T) {
	css, _ := io.ReadAll(get(t, "GET", URL("console.css"), "").Body)
	for _, banned := range []string{"url(http", "url(//", "@import"} {
		if strings.Contains(string(css), banned) {
			t.Errorf("console.css contains %q", banned)
		}
	}
}
