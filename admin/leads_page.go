package admin

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) leadPage() error {
	lead, err := id.Parse(id.Lead, k.r.PathValue("id"))
	if err != nil {
		return errNoPage
	}
	l, err := k.Leads.Page(k.r.Context(), k.scope, lead)
	if err != nil {
		return orNoPage(err)
	}
	returns, err := k.Payouts.ReturnsOf(k.r.Context(), k.scope, lead)
	if err != nil {
		return err
	}
	v := k.leadView(l, returns)
	if v.Quote, err = k.leadQuote(l, v.Price); err != nil {
		return err
	}
	if k.mayAt(readPayouts, l.PartnerID) {
		if err = k.leadMoney(l, returns, &v); err != nil {
			return err
		}
	}
	return k.show(http.StatusOK, templates.Lead(v))
}

func (k *call) leadView(l leads.File, returns []models.Return) templates.LeadView {
	currency, _ := money.ParseCurrency(l.Currency) // the database knows the five only
	in := func(states ...models.ReturnState) bool {
		return slices.ContainsFunc(returns, func(r models.Return) bool { return slices.Contains(states, r.State) })
	}
	erased := l.State == models.LeadErased
	v := templates.LeadView{
		Shell: k.shell("Lead: "+l.Industry+", "+l.Country, allLeads), ID: id.Format(id.Lead, l.ID), TransactionID: l.TransactionID, States: stateWords(erased, l.Sandbox, in(models.ReturnAccepted)),
		Price: money.Amount{Minor: l.PriceMinor, Currency: currency}, Received: l.ReceivedAt, Partner: k.partnerLink(l.PartnerID, l.PartnerName), Account: l.Identifier,
		Timeline: k.leadTimeline(l), Consent: consentView(l.Consent),
		Contact: templates.LeadContact{Erased: erased, ByEmail: l.ByEmail, ByPhone: l.ByPhone, PhoneFlagged: l.PhoneFlagged, Country: l.Country, Postcode: l.Postcode},
		Envelope: templates.LeadEnvelope{
			Wrapper: l.KeyWrapper, Version: l.KeyVersion, Ciphertext: l.Envelope.Ciphertext, IV: l.Envelope.IV, AuthTag: l.Envelope.AuthTag,
			Salt: l.Envelope.Salt, WrappedKey: l.Envelope.WrappedKey,
		},
	}
	inTime := !k.now.After(l.ReceivedAt.Add(k.Payouts.Policy().ReturnWindow))
	if inTime && !l.Sandbox && !in(models.ReturnOpen, models.ReturnAccepted) && k.mayAt(writePayouts, l.PartnerID) {
		v.ReturnURL = "/payouts/returns/new?lead=" + v.ID
	}
	return v
}

// leadTimeline is what happened to a lead, in order.
func (k *call) leadTimeline(l leads.File) []templates.LeadStep {
	quoted, signed := "For no partner in particular", "Without a signature"
	if l.QuotedFor != "" {
		quoted = "For " + l.QuotedFor
	}
	if l.HMACVerified {
		signed = fmt.Sprintf("Signed with the secret “%s”, %s…%s", l.Secret.Label, l.Secret.Prefix, l.Secret.LastFour)
	}
	steps := []templates.LeadStep{
		{At: l.QuotedAt, What: "Pinged", Detail: quoted},
		{At: l.QuotedAt, What: "Priced", Detail: "With the rate card in force", More: k.cardLink(l.CardVersion)},
		{At: l.ReceivedAt, What: "Posted", Detail: signed},
	}
	for _, e := range l.Events {
		step, detail := templates.LeadStep{At: e.At, What: title(e.Kind)}, fields(&e.Detail)
		switch e.Kind {
		case "delivered":
			step.What, step.Detail = "Stored and answered", "Request "+valueWords(detail, "request_id")
		case "returned":
			step.Detail = title(payouts.ReasonWords(models.ReturnReason(valueWords(detail, "reason"))))
			if k.mayAt(readPayouts, l.PartnerID) {
				step.More = returnLink(valueWords(detail, "return"))
			}
		}
		steps = append(steps, step)
	}
	return steps
}

func returnLink(name string) templates.Link {
	return templates.Link{Label: name, URL: "/payouts/returns/" + name}
}

// cardLink leads to a version where this person may see prices.
func (k *call) cardLink(version int) templates.Link {
	link := templates.Link{Label: versionName(version)}
	if k.may(readPricing) {
		link.URL = versionURL(version)
	}
	return link
}

func consentView(c models.Consent) templates.LeadConsent {
	v := templates.LeadConsent{
		Acknowledged: c.Acknowledged, Received: c.ReceivedAt, Disclosure: sent(c.DisclosureText), Recipient: sent(c.RecipientHash),
		Certificate: sent(c.FormCertURL), ThirdParty: sent(c.ThirdPartyLeadID),
	}
	if c.AcknowledgedAt != nil {
		v.At = *c.AcknowledgedAt
	}
	return v
}

// sent is a text that need not be there.
func sent(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
