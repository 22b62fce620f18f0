package intake

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// delivery builds all that the post stores.
func (in *Intake) delivery(p authenticated, key envelope.DataKey, industry string) (*leads.Delivery, error) {
	lead, err := in.lead(p, key, industry)
	if err != nil {
		return nil, err
	}
	d := &leads.Delivery{Lead: lead, Consent: consent(p.payload.Consent)}
	if !lead.Sandbox {
		accrual := ledger.Accrual(lead.PartnerID, lead.AccountID, lead.ID, p.quote.Price, p.start)
		d.Accrual = &accrual
	}
	detail, err := json.Marshal(map[string]any{"request_id": id.Format(id.Request, p.ID), "hmac_verified": lead.HMACVerified})
	d.Event = models.LeadEvent{Kind: "delivered", Detail: string(detail)}
	return d, err
}

func (in *Intake) lead(p authenticated, key envelope.DataKey, industry string) (models.Lead, error) {
	account, q := p.owner.account, p.quote
	lead := models.Lead{
		ID: id.New(p.start), Transaction: q.ID, TransactionID: p.payload.TransactionID,
		PartnerID: account.Partner.ID, AccountID: account.ID, Sandbox: account.Sandbox,
		PriceMinor: q.Price.Minor, Currency: q.Price.Currency.String(), Industry: industry, TermID: q.TermID,
		Urgency: pricingrules.Class(q.Urgency).String(), CardVersion: q.CardVersion,
		QuotedCountry: string(q.Country[:]), QuotedPostcode: q.Postcode, QuotedAt: q.IssuedAt(), ReceivedAt: p.start,
		Country: p.payload.Location.Country, Postcode: p.payload.Location.Postcode,
		BodyDigest: in.Keys.Digest(keyring.Body, p.Body),
	}
	if partner := q.Partner; partner != uuid.Nil {
		lead.QuotedPartner = &partner
	}
	if p.owner.secret != nil {
		lead.SecretID, lead.HMACVerified = &p.owner.secret.ID, true
	}
	if lead.Country == "" {
		lead.Country = lead.QuotedCountry
	}
	if lead.Postcode == "" {
		lead.Postcode = lead.QuotedPostcode
	}
	p.payload.NormalisePhone(lead.Country)
	c := p.payload.Contact
	contact := leads.Contact{
		Email: c.Email, Name: c.Name, Phone: c.Phone, E164: c.PhoneE164,
		Address: p.payload.Location.Address, Notes: p.payload.Notes, Answers: p.payload.Answers,
	}
	lead.EmailDigest, lead.PhoneDigest = contact.Digests(in.Keys)
	lead.PhoneFlagged = c.PhoneFlagged
	return lead, seal(&lead, contact, key)
}

func seal(lead *models.Lead, contact leads.Contact, key envelope.DataKey) error {
	plain, err := json.Marshal(contact)
	if err != nil {
		return err
	}
	defer clear(plain)
	e, err := envelope.Seal(key, lead.ID, lead.PartnerID, plain)
	if err != nil {
		return err
	}
	lead.Ciphertext, lead.IV, lead.AuthTag, lead.Salt, lead.WrappedKey = e.Ciphertext, e.IV, e.AuthTag, e.Salt, e.Wrapped
	lead.KeyWrapper, lead.KeyVersion, err = envelope.Origin(e.Wrapped)
	return err
}

func consent(c payload.Consent) models.Consent {
	row := models.Consent{
		DisclosureText: optional(c.DisclosureText), RecipientHash: optional(c.RecipientHash),
		FormCertURL: optional(c.ThirdPartyFormCertURL), ThirdPartyLeadID: optional(c.ThirdPartyLeadID),
	}
	if c.HasAcknowledgedAt {
		row.AcknowledgedAt = &c.AcknowledgedAt
	}
	return row
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
