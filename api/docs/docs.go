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
	"strings"
	"text/template"

	"github.com/pingpost/pingpost/internal/yamldoc"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/docs"
)

// Options configures New. All fields except SupportContact are required.
type Options struct {
	Document       []byte // the OpenAPI document
	PublicURL      string // the origin of the service, such as https://leads.example.com
	SupportContact string // an email address or a URL; "" for none
	Taxonomy       *pricingrules.Taxonomy
	Markets        *pricingrules.Markets
	DefaultMode    models.SigningMode // for partners without their own signing mode
}

// Pages renders the documentation pages. New reads the parts that are the same for all partners.
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

// New reads the OpenAPI document. It returns an error if the document lacks a required part, or if
// Options.PublicURL is not an absolute URL.
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
		group := industryTerms{ID: c.Slug, Name: c.Name}
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
		return nil, errors.New("public URL must be absolute, such as https://leads.example.com")
	}
	root, err := yamldoc.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("parsing OpenAPI document as YAML: %w", err)
	}
	return newGeneralPage(node{at: root, root: root}, strings.TrimSuffix(publicURL, "/"), support)
}

// General renders the page for all partners.
func (p *Pages) General() ([]byte, error) { return p.execute("docs", p.general) }

func (p *Pages) execute(name string, page any) ([]byte, error) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, name, page); err != nil {
		return nil, fmt.Errorf("rendering documentation: %w", err)
	}
	return out.Bytes(), nil
}
