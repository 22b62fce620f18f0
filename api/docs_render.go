package api

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/internal/yamldoc"
	view "github.com/pingpost/pingpost/templates/docs"
)

// renderDocs makes the documentation page for partners out of the OpenAPI
// document. publicURL is the origin that partners reach the service at, such as
// https://leads.example.com; it stands in the code samples. support is the support
// contact, "" for none. Call it once, at start-up. The error is a document that the
// page cannot be made from, or a publicURL that is not absolute.
func renderDocs(document []byte, publicURL, support string) ([]byte, error) {
	page, err := readDocs(document, publicURL, support)
	if err != nil {
		return nil, err
	}
	tmpl, err := view.Pages()
	if err != nil {
		return nil, err
	}
	return execute(tmpl, "docs", page)
}

func execute(tmpl *template.Template, name string, page any) ([]byte, error) {
	var out bytes.Buffer
	if err := tmpl.ExecuteTemplate(&out, name, page); err != nil {
		return nil, fmt.Errorf("rendering the documentation: %w", err)
	}
	return out.Bytes(), nil
}

func readDocs(document []byte, publicURL, support string) (*docsPage, error) {
	origin, err := url.Parse(publicURL)
	if err != nil || origin.Host == "" || origin.Scheme != "https" && origin.Scheme != "http" {
		return nil, errors.New("the public URL must be absolute, like https://leads.example.com")
	}
	root, err := yamldoc.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document cannot be read as YAML: %w", err)
	}
	return newDocsPage(node{at: root, root: root}, strings.TrimSuffix(publicURL, "/"), support)
}
