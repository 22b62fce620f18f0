package api

import (
	"encoding/hex"
	"encoding/json"
	htmltemplate "html/template"
	"slices"
	"text/template"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/httpserver"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/docs"
)

// partnerPages makes the documentation page of each partner. What is the same for
// all of them is read once.
type partnerPages struct {
	docs        *docsPage
	page        *htmltemplate.Template
	samples     *template.Template
	ping        pingExample
	headers     []fieldRow // of a post
	industries  []industryTerms
	markets     []pricingrules.Market
	defaultMode models.SigningMode
}

// industryTerms is a category with what a ping takes for its industries.
type industryTerms struct {
	Name       string
	Industries []pricingrules.Industry
}

// partnerPage is what the template shows.
type partnerPage struct {
	*docsPage
	Name, BaseURL string
	Pending       bool
	Accounts      []accountRow
	Sandbox       string // the partnerId to try things with; "" without a sandbox account
	SandboxIsDef  bool
	SampleAccount string // the partnerId in the samples
	Example       signedExample
	Samples       []codeSample
	PostHeaders   []fieldRow
	Markets       []pricingrules.Market
	Industries    []industryTerms
}

type accountRow struct {
	PartnerID                   string
	Default, Sandbox, Suspended bool
	Mode                        signingWords
}

// signingWords say what a signing mode means for whoever posts.
type signingWords struct {
	Mode           models.SigningMode
	Title, Meaning string
}

// signedExample is the worked example with what checks it by command.
type signedExample struct {
	signingGuide
	KeyHex, Command string
}

func newPartnerPages(o Options) (*partnerPages, error) {
	docs, err := readDocs(Document(), o.PublicURL, o.SupportContact)
	if err != nil {
		return nil, err
	}
	p := &partnerPages{docs: docs, defaultMode: o.DefaultMode}
	if p.page, err = view.Pages(); err != nil {
		return nil, err
	}
	if p.samples, err = readSamples(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(docs.Signing.PingBody), &p.ping); err != nil {
		return nil, err
	}
	for _, e := range docs.Endpoints {
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

// render makes the page of a partner as it is now.
func (p *partnerPages) render(partner models.Partner, accounts []models.Account) ([]byte, error) {
	page := partnerPage{
		docsPage:    p.docs,
		Name:        partner.Name,
		BaseURL:     p.docs.Origin + "/p/" + partner.Slug,
		Pending:     partner.Status == models.PartnerPending,
		PostHeaders: p.headers,
		Markets:     p.markets,
		Industries:  p.industries,
	}
	for _, a := range accounts {
		page.Accounts = append(page.Accounts, accountRow{
			PartnerID: a.Identifier,
			Default:   a.IsDefault,
			Sandbox:   a.Sandbox,
			Suspended: a.Status != models.AccountActive,
			Mode:      wordsOf(partners.EffectiveMode(a.SigningMode, partner.SigningMode, p.defaultMode)),
		})
	}
	if i := slices.IndexFunc(page.Accounts, func(a accountRow) bool { return a.Sandbox && !a.Suspended }); i >= 0 {
		page.Sandbox, page.SandboxIsDef = page.Accounts[i].PartnerID, page.Accounts[i].Default
		page.SampleAccount = page.Sandbox
	} else if i := slices.IndexFunc(page.Accounts, func(a accountRow) bool { return !a.Suspended }); i >= 0 {
		page.SampleAccount = page.Accounts[i].PartnerID
	}
	var err error
	if page.Example, err = p.example(page.SampleAccount); err != nil {
		return nil, err
	}
	page.Samples, err = renderSamples(p.samples, sampleData{
		BaseURL: page.BaseURL, Ping: p.ping, Rest: newPostExample(page.SampleAccount),
	})
	if err != nil {
		return nil, err
	}
	return execute(p.page, "partner", page)
}

// example signs a post of the partner's with the example's secret.
func (p *partnerPages) example(partnerID string) (signedExample, error) {
	e := signedExample{signingGuide: p.docs.Signing}
	post := newPostExample(partnerID)
	post.TransactionID = p.docs.Signing.Transaction
	var err error
	if e.Body, err = compactJSON(post); err != nil {
		return e, err
	}
	e.Signature = signing.Sign([]byte(e.Secret), e.Timestamp, []byte(e.Body))
	e.KeyHex = hex.EncodeToString([]byte(e.Secret))
	e.Command = "printf '%s' " + shellLiteral(e.Timestamp+"."+e.Body) + " |\n  openssl dgst -sha256 -hmac " +
		shellLiteral(e.Secret)
	return e, nil
}

func wordsOf(mode models.SigningMode) signingWords {
	switch mode {
	case models.SigningOff:
		return signingWords{mode, "Not required", "An unsigned post is accepted. Sign all the same: a signature that is sent is always verified."}
	case models.SigningReportOnly:
		return signingWords{mode, "Not required yet", "An unsigned post is still accepted, and counted as one that will be refused once signing is required. Sign every post."}
	default:
		return signingWords{mode, "Required", "An unsigned post is refused with 401."}
	}
}

// partnerPage is GET {origin}/partner/{token}. The token is a secret: it stands in
// no log and no metric, and what the answer says to browsers keeps it from search
// engines, caches and the addresses that a page tells others.
func (s *server) partnerPage(c *gin.Context, x *httpserver.Request) error {
	h := c.Writer.Header()
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Referrer-Policy", "no-referrer")
	partner, accounts, err := s.Partners.ByLink(c.Request.Context(), c.Param("token"))
	if err != nil {
		return err
	}
	x.Partner = partner.ID
	page, err := s.pages.render(partner, accounts)
	if err != nil {
		return err
	}
	x.Outcome = "served"
	h["Cache-Control"] = noStore
	h.Set("Content-Security-Policy", pagePolicy)
	writeDocument(c, contentHTML, page)
	return nil
}
