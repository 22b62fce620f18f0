package intake

import (
	"cmp"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func (in *Intake) newDelivery(p authenticated, key envelope.DataKey, industry string) (*leads.Delivery, error) {
	lead := in.newLead(p, industry)
	d, err := leads.NewDelivery(lead, p.payload, in.Keys, key)
	if err != nil {
		return nil, err
	}
	d.Key.BodyDigest = in.Keys.Digest(keyring.Body, p.Body)
	detail, err := json.Marshal(map[string]any{
		"request_id":    id.Format(id.Request, p.ID),
		"hmac_verified": lead.HMACVerified,
	})
	d.Event = models.LeadEvent{Kind: models.EventDelivered, Detail: string(detail)}
	return d, err
}

// newLead returns the lead without its personal data, which leads.NewDelivery adds.
func (in *Intake) newLead(p authenticated, industry string) models.Lead {
	account, q := p.owner.account, p.quote
	lead := models.Lead{
		ID: q.ID, AttemptID: uuid.New(), TransactionID: p.payload.TransactionID,
		PartnerID: account.Partner.ID, AccountID: account.ID, Sandbox: account.Sandbox,
		PriceMinor: q.Price.Minor, Currency: q.Price.Currency.String(), Industry: industry, TermID: q.TermID,
		Urgency: pricingrules.Class(q.Urgency).String(), CardVersion: q.CardVersion,
		QuotedPartner: nullable(q.Partner), QuotedCountry: string(q.Country[:]), QuotedPostcode: q.Postcode,
		QuotedAt: q.IssuedAt(), ReceivedAt: p.start,
		Country: p.leadCountry(), Postcode: cmp.Or(p.payload.Location.Postcode, q.Postcode),
		PartnerReference: p.payload.Reference, SubID: p.payload.SubID,
	}
	if p.owner.secret != nil {
		lead.SecretID, lead.HMACVerified = &p.owner.secret.ID, true
	}
	return lead
}

// leadCountry returns the country of the lead, which is that of the quote unless the post contains another.
func (p authenticated) leadCountry() string {
	return cmp.Or(p.payload.Location.Country, string(p.quote.Country[:]))
}
