// Package docs contains the html/template pages of the partner documentation, which are
// rendered from the OpenAPI document when the service starts.
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
	// Stylesheet is the stylesheet of both pages, served at /docs.css. The pages have no
	// inline styles, which a strict Content-Security-Policy would block.
	//
	//go:embed docs.css
	Stylesheet []byte
	// Script is the script of both pages, served at /docs.js. It adds copy buttons and marks
	// the current section. The pages are complete without it.
	//
	//go:embed docs.js
	Script []byte
)

// Pages parses the templates of the general page, named "docs", and of a partner's own page, named
// "partner".
func Pages() (*template.Template, error) {
	pages, err := template.New("docs").Parse(general)
	if err == nil {
		_, err = pages.New("partner").Parse(partner)
	}
	if err != nil {
		return nil, fmt.Errorf("parsing documentation templates: %w", err)
	}
	return pages, nil
}
