package pack

import (
	"bytes"
	_ "embed"
	"html/template"
	"time"
)

//go:embed page.html.tmpl
var pageText string

// renderPage returns the facts of a document as a page for reading and printing. It contains no scripts
// and no links, and loads nothing.
func renderPage(d Document) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"stamp":   func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) },
		"utc":     func(at time.Time) string { return at.UTC().Format("2 Jan 2006, 15:04:05 UTC") },
		"keyPath": func() string { return KeyPath },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, d)
	return out.Bytes(), err
}
