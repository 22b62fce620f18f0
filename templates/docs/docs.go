// Package docs has the pages of the partners' documentation, as html/template: they are
// rendered from the OpenAPI document, whose shape is known when the service starts.
package docs

import (
	_ "embed"
	"fmt"
	"html/template"
)

var (
	//go:embed docs.html
	general string
	//go:embed partner.html
	partner string
	// Stylesheet is of both pages, to be served at /docs.css. They have no inline style,
	// which a strict Content-Security-Policy would refuse.
	//
	//go:embed docs.css
	Stylesheet []byte
)

// Pages parses the general page, "docs", and a partner's own, "partner", which is made of
// the same parts.
func Pages() (*template.Template, error) {
	pages, err := template.New("docs").Parse(general)
	if err == nil {
		_, err = pages.New("partner").Parse(partner)
	}
	if err != nil {
		return nil, fmt.Errorf("parsing the templates of the documentation: %w", err)
	}
	return pages, nil
}
