package docs

import (
	"bytes"
	"encoding/hex"
	"html"
	"slices"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// setup is a partner's configuration, as its own page shows it.
type setup struct {
	Name, Manager string
	Pending       bool
	Suspended     bool
	Accounts      []accountRow
	DefaultPaused bool   // only the default account is suspended
	Sandbox       string // the partnerId of the sandbox account, or ""
	SandboxIsDef  bool
	Agreement     agreement
	Expiring      []models.SigningSecret
}

// agreement contains what a partner and the platform have agreed on.
type agreement struct {
	partners.Pricing
	LeadsToday   int64
	PaymentTerms string
}

// Adjusted returns the adjustment of the platform's prices, such as "+5%", or "" if there is none.
func (a agreement) Adjusted() string {
	if a.Adjustment == 0 {
		return ""
	}
	return pricingrules.FormatAdjustment(a.Adjustment)
}

// Left returns how many leads the partner can still deliver today before new pings are declined.
func (a agreement) Left() int64 { return max(int64(a.DailyLeadCap)-a.LeadsToday, 0) }

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
func (p *Pages) Partner(l partners.Linked) ([]byte, error) {
	own := &setup{
		Name:      l.Partner.Name,
		Manager:   l.Partner.AccountManager,
		Pending:   l.Partner.Status == models.PartnerPending,
		Suspended: l.Partner.Status == models.PartnerSuspended,
		Agreement: agreement{l.Pricing, l.LeadsToday, l.Partner.PaymentTerms},
		Expiring:  l.Expiring,
	}
	for _, a := range l.Accounts {
		own.Accounts = append(own.Accounts, accountRow{
			PartnerID: a.Identifier,
			Default:   a.IsDefault,
			Sandbox:   a.Sandbox,
			Suspended: a.Status != models.AccountActive,
			Mode:      wordsOf(partners.EffectiveMode(a.SigningMode, l.Partner.SigningMode, p.defaultMode)),
		})
	}
	own.DefaultPaused = l.Partner.Status == models.PartnerApproved &&
		slices.ContainsFunc(own.Accounts, func(a accountRow) bool { return a.Default && a.Suspended })
	data := page{Root: "../", BaseURL: p.reference.Origin + "/p/" + l.Partner.Slug, Setup: own}
	if i := slices.IndexFunc(own.Accounts, func(a accountRow) bool { return a.Sandbox && !a.Suspended }); i >= 0 {
		own.Sandbox, own.SandboxIsDef = own.Accounts[i].PartnerID, own.Accounts[i].Default
		data.SampleAccount = own.Sandbox
	} else if i := slices.IndexFunc(own.Accounts, func(a accountRow) bool { return !a.Suspended }); i >= 0 {
		data.SampleAccount = own.Accounts[i].PartnerID
	}
	var err error
	if data.Example, err = p.example(data.SampleAccount); err != nil {
		return nil, err
	}
	rendered, err := p.execute(data)
	// The reference is the same for all partners, so its base URL contains a placeholder for the partner's slug.
	return bytes.ReplaceAll(rendered, []byte("{partnerSlug}"), []byte(html.EscapeString(l.Partner.Slug))), err
}

// example signs a post for partnerID with the example secret in the OpenAPI document.
func (p *Pages) example(partnerID string) (signedExample, error) {
	signed := p.reference.Signing
	post := newPostExample(partnerID)
	post.TransactionID = signed.Transaction
	var err error
	if signed.Body, err = compactJSON(post); err != nil {
		return signedExample{}, err
	}
	signed.Signature = signing.Sign([]byte(signed.Secret), signed.Timestamp, []byte(signed.Body))
	return newSignedExample(signed), nil
}

func newSignedExample(signed signingGuide) signedExample {
	return signedExample{
		signingGuide: signed,
		KeyHex:       hex.EncodeToString([]byte(signed.Secret)),
		Command: "printf '%s' " + shellLiteral(signed.Timestamp+"."+signed.Body) + " |\n  openssl dgst -sha256 -hmac " +
			shellLiteral(signed.Secret),
	}
}

func wordsOf(mode models.SigningMode) signingWords {
	switch mode {
	case models.SigningOff:
		return signingWords{mode, "Not required", "Unsigned posts are accepted. Sign posts if you can, because after a quote has expired, only a signed " +
			"retry shows whether the lead was delivered. If a post has a signature, the signature is always verified."}
	case models.SigningReportOnly:
		return signingWords{
			mode, "Not required yet",
			"Unsigned posts are still accepted, but will be rejected when signing becomes required. Sign every post.",
		}
	default:
		return signingWords{mode, "Required", "Unsigned posts are rejected with 401."}
	}
}
