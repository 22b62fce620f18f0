// Package assets embeds and serves the console's style sheet, scripts and icon. `make generate` builds those in dist.
// Each URL contains a hash of the file's content, so that browsers can cache the file permanently.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

//go:embed console.js icon.svg dist
var files embed.FS

// served maps the served files to their paths and content types. Other files are not served.
var served = map[string]struct{ path, kind string }{
	"console.css": {"dist/console.css", "text/css; charset=utf-8"},
	"console.js":  {"console.js", "text/javascript; charset=utf-8"},
	"htmx.min.js": {"dist/htmx.min.js", "text/javascript; charset=utf-8"},
	"icon.svg":    {"icon.svg", "image/svg+xml"},
}

type file struct {
	kind          string
	plain, packed []byte
	version       string
}

// load reads and compresses the files when it is first called.
var load = sync.OnceValue(func() map[string]file {
	all := make(map[string]file, len(served))
	for name, f := range served {
		plain, err := files.ReadFile(f.path)
		if err != nil {
			panic(err) // the file is embedded
		}
		sum := sha256.Sum256(plain)
		all[name] = file{kind: f.kind, plain: plain, packed: pack(plain), version: hex.EncodeToString(sum[:6])}
	}
	return all
})

func pack(plain []byte) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	w.Write(plain)                                             //nolint:errcheck // writing to a buffer does not fail
	w.Close()                                                  //nolint:errcheck // writing to a buffer does not fail
	return packed.Bytes()
}

// URL returns the URL of a file, including the hash of its content.
func URL(name string) string {
	return "/assets/" + name + "?v=" + load()[name].version
}

// Handler serves the files under /assets/.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, known := load()[strings.TrimPrefix(r.URL.Path, "/assets/")]
		if !known {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are allowed", http.StatusMethodNotAllowed)
			return
		}
		serve(w, r, f)
	})
}

func serve(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	// During a rolling restart, a page from another release may request a file with a different
	// hash. The response is this release's file, which must not be cached under that URL.
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == f.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := f.plain
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		w.Write(body) //nolint:errcheck // the client has disconnected
	}
}

func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if coding == "gzip" {
			return strings.Trim(strings.TrimPrefix(quality, "q="), "0.") != "" || quality == ""
		}
	}
	return false
}
