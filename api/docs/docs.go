// Package docs renders the partner documentation from the OpenAPI document: one page for
// all partners, and one page for each partner with its own configuration.
package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"net/url"
	"text/template"

	"github.com/pingpost/pingpost/internal/base/yamldoc"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/docs"
)

// Options configures New. All fields are required.
type Options struct {
	Document    []byte // the OpenAPI document, with the names of settings in braces
	Settings    Settings
	Taxonomy    *pricingrules.Taxonomy
	DefaultMode models.SigningMode // for partners without their own signing mode
}

// Pages renders the documentation pages. New reads the parts that are the same for all partners.
type Pages struct {
	// Document is the OpenAPI document with the values of the node's settings.
	Document []byte

	reference   *reference
	template    *htmltemplate.Template
	samples     *template.Template
	ping        pingExample
	defaultMode models.SigningMode
}

// New reads the OpenAPI document. It returns an error if the document lacks a required part, or if
// the public URL in the settings is not absolute.
func New(o Options) (*Pages, error) {
	origin, err := url.Parse(o.Settings.HTTP.PublicURL)
	if err != nil || origin.Host == "" || origin.Scheme != "https" && origin.Scheme != "http" {
		return nil, errors.New("public URL must be absolute, such as https://leads.example.com")
	}
	p := &Pages{Document: o.Settings.fill(o.Document), defaultMode: o.DefaultMode}
	root, err := yamldoc.Parse(p.Document)
	if err != nil {
		return nil, fmt.Errorf("parsing OpenAPI document as YAML: %w", err)
	}
	if p.reference, err = newReference(node{at: root, root: root}, o); err != nil {
		return nil, err
	}
	if p.template, err = view.Page(); err != nil {
		return nil, err
	}
	if p.samples, err = readSamples(); err != nil {
		return nil, err
	}
	return p, json.Unmarshal([]byte(p.reference.Signing.PingBody), &p.ping)
}

// page is the data of the template.
type page struct {
	*reference
	Root          string // the path from the page to the root of the service, "" or "../"
	BaseURL       string
	Example       signedExample
	SampleAccount string // the partnerId in the samples, or ""
	Samples       []codeSample
	Setup         *setup // nil on the page for all partners
}

// General renders the page for all partners.
func (p *Pages) General() ([]byte, error) {
	return p.execute(page{BaseURL: p.reference.Origin, Example: newSignedExample(p.reference.Signing)})
}

// execute completes the page's data and renders the page.
func (p *Pages) execute(data page) ([]byte, error) {
	data.reference = p.reference
	var err error
	data.Samples, err = renderSamples(p.samples, sampleData{
		BaseURL: data.BaseURL, Ping: p.ping, Rest: newPostExample(data.SampleAccount),
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := p.template.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("rendering documentation: %w", err)
	}
	return out.Bytes(), nil
}
