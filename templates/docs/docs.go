// Package docs contains the html/template page of the partner documentation, which is rendered from
// the OpenAPI document.
package docs

import (
	_ "embed"
	"fmt"
	"html/template"
)

var (
	//go:embed docs.html
	page string
	// Stylesheet is the stylesheet of the pages, served at /docs.css. The pages have no
	// inline styles, which a strict Content-Security-Policy would block.
	//
	//go:embed docs.css
	Stylesheet []byte
	// Root is the page at the address of the API, which links to the documentation.
	//
	//go:embed root.html
	Root []byte
	// Script is the script of the pages, served at /docs.js. It adds copy buttons and marks
	// the current section. The pages are complete without it.
	//
	//go:embed docs.js
	Script []byte
)

// Page parses the template of the general page and of a partner's own page. Both have the same sections,
// and a partner's page also has its setup.
func Page() (*template.Template, error) {
	parsed, err := template.New("docs").Parse(page)
	if err != nil {
		return nil, fmt.Errorf("parsing documentation template: %w", err)
	}
	return parsed, nil
}
