// Package admin is the console: today one page that says what there is instead.
package admin

import (
	"bytes"
	"context"
	_ "embed"
	"net/http"

	"github.com/pingpost/pingpost/templates"
)

//go:embed placeholder.css
var placeholderCSS []byte

// New builds the handler of the admin listener. environment is shown on the
// page: "development" or "production".
func New(ctx context.Context, environment string) (http.Handler, error) {
	var page bytes.Buffer
	if err := templates.Placeholder(templates.PlaceholderView{Environment: environment}).Render(ctx, &page); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", serve("text/html; charset=utf-8", page.Bytes()))
	mux.HandleFunc("GET /placeholder.css", serve("text/css; charset=utf-8", placeholderCSS))
	return mux, nil
}

func serve(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		w.Write(body) // a client that hung up cannot be told
	}
}
