// Package docs makes the documentation for partners from the OpenAPI document: the page
// for all of them, and one for each partner with what is its own.
package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"net/url"
	"strings"
	"text/template"

	"github.com/pingpost/pingpost/internal/yamldoc"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/docs"
)

// Options are what the pages are made from. All but SupportContact are required.
type Options struct {
	Document       []byte // the OpenAPI document
	PublicURL      string // the origin that partners reach the service at, such as https://leads.example.com
	SupportContact string // an e-mail address or a URL; "" for none
	Taxonomy       *pricingrules.Taxonomy
	Markets        *pricingrules.Markets
	DefaultMode    models.SigningMode // of partners without their own
}

// Pages renders the pages. What is the same for all partners is read once.
type Pages struct {
	general     *generalPage
	templates   *htmltemplate.Template
	samples     *template.Template
	ping        pingExample
	headers     []fieldRow // of a post
	industries  []industryTerms
	markets     []pricingrules.Market
	defaultMode models.SigningMode
}

// New reads the OpenAPI document. The error is a document that the pages cannot be made
// from, or a PublicURL that is not absolute.
func New(o Options) (*Pages, error) {
	general, err := read(o.Document, o.PublicURL, o.SupportContact)
	if err != nil {
		return nil, err
	}
	p := &Pages{general: general, defaultMode: o.DefaultMode}
	if p.templates, err = view.Pages(); err != nil {
		return nil, err
	}
	if p.samples, err = readSamples(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(general.Signing.PingBody), &p.ping); err != nil {
		return nil, err
	}
	for _, e := range general.Endpoints {
		if e.ID == "post" {
			p.headers = e.Headers
		}
	}
	all := o.Taxonomy.Industries()
	for _, c := range o.Taxonomy.Categories() {
		group := industryTerms{Name: c.Name}
		for _, one := range all {
			if one.Category == c.Slug {
				group.Industries = append(group.Industries, one)
			}
		}
		p.industries = append(p.industries, group)
	}
	for i := range o.Markets.Len() {
		p.markets = append(p.markets, o.Markets.At(i))
	}
	return p, nil
}

func read(document []byte, publicURL, support string) (*generalPage, error) {
	origin, err := url.Parse(publicURL)
	if err != nil || origin.Host == "" || origin.Scheme != "https" && origin.Scheme != "http" {
		return nil, errors.New("the public URL must be absolute, like https://leads.example.com")
	}
	root, err := yamldoc.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document cannot be read as YAML: %w", err)
	}
	return newGeneralPage(node{at: root, root: root}, strings.TrimSuffix(publicURL, "/"), support)
}

// General renders the page for all partners.
func (p *Pages) General() ([]byte, error) { return p.execute("docs", p.general) }

func (p *Pages) execute(name string, page any) ([]byte, error) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, name, page); err != nil {
		return nil, fmt.Errorf("rendering the documentation: %w", err)
	}
	return out.Bytes(), nil
}
