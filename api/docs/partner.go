package docs

import (
	"encoding/hex"
	"slices"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// industryTerms is a category with the slug and the taxonomyTermId of each of its industries.
type industryTerms struct {
	ID, Name   string
	Industries []pricingrules.Industry
}

// partnerPage is the data of the partner template.
type partnerPage struct {
	*generalPage
	Name, BaseURL string
	Pending       bool
	Suspended     bool
	Accounts      []accountRow
	Sandbox       string // the partnerId of the sandbox account, or ""
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

// signingWords describes a signing mode to a partner.
type signingWords struct {
	Mode           models.SigningMode
	Title, Meaning string
}

// signedExample is the example of a signed post, with the key in hex and a command that computes the
// signature.
type signedExample struct {
	signingGuide
	KeyHex, Command string
}

// Partner renders the page for a partner from its current configuration.
func (p *Pages) Partner(partner models.Partner, accounts []models.Account) ([]byte, error) {
	page := partnerPage{
		generalPage: p.general,
		Name:        partner.Name,
		BaseURL:     p.general.Origin + "/p/" + partner.Slug,
		Pending:     partner.Status == models.PartnerPending,
		Suspended:   partner.Status == models.PartnerSuspended,
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
	return p.execute("partner", page)
}

// example signs a post for partnerID with the example secret in the OpenAPI document.
func (p *Pages) example(partnerID string) (signedExample, error) {
	e := signedExample{signingGuide: p.general.Signing}
	post := newPostExample(partnerID)
	post.TransactionID = p.general.Signing.Transaction
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
		return signingWords{mode, "Not required", "Unsigned posts are accepted. Sign posts if you can. If a post has a signature, the signature is always verified."}
	case models.SigningReportOnly:
		return signingWords{mode, "Not required yet", "Unsigned posts are still accepted, but will be rejected when signing becomes required. Sign every post."}
	default:
		return signingWords{mode, "Required", "Unsigned posts are rejected with 401."}
	}
}
