package intake

import (
	"crypto/rand"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/sealed"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// contactRecord is the plaintext of the envelope: everything personal that a
// post may hold, and nothing else (D20).
type contactRecord struct {
	Email   string          `json:"email"`
	Name    string          `json:"name,omitempty"`
	Phone   string          `json:"phone,omitempty"`
	E164    string          `json:"phoneE164,omitempty"`
	Address string          `json:"address,omitempty"`
	Notes   string          `json:"notes,omitempty"`
	Answers json.RawMessage `json:"answers,omitempty"`
}

// delivery builds all that the post stores.
func (in *Intake) delivery(p *post, key envelope.DataKey, industry string) (*leads.Delivery, error) {
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

func (in *Intake) lead(p *post, key envelope.DataKey, industry string) (models.Lead, error) {
	var random [10]byte
	rand.Read(random[:])
	account, q := p.owner.account, &p.quote
	lead := models.Lead{
		ID: id.NewV7(p.start, random), Transaction: q.ID, TransactionID: p.payload.TransactionID,
		PartnerID: account.Partner.ID, AccountID: account.ID, Sandbox: account.Sandbox,
		PriceMinor: q.Price.Minor, Currency: q.Price.Currency.String(), Industry: industry, TermID: q.TermID,
		Urgency: pricingrules.Class(q.Urgency).String(), CardVersion: q.CardVersion,
		QuotedCountry: string(q.Country[:]), QuotedPostcode: q.Postcode, QuotedAt: q.IssuedAt(), ReceivedAt: p.start,
		Country: p.payload.Location.Country, Postcode: p.payload.Location.Postcode,
		BodyDigest: in.Keys.Digest(sealed.Body, p.Body),
	}
	if q.Partner != uuid.Nil {
		lead.QuotedPartner = &q.Partner
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
	in.digestContact(&lead, p.payload.Contact)
	return lead, in.sealContact(&lead, &p.payload, key)
}

// digestContact makes the look-up digests, so that a person can be found again
// without anything readable in the clear.
func (in *Intake) digestContact(lead *models.Lead, c payload.Contact) {
	lead.EmailDigest = in.Keys.Digest(sealed.LookUp, []byte(payload.NormaliseEmail(c.Email)))
	if phone := c.PhoneE164; phone != "" {
		lead.PhoneDigest = in.Keys.Digest(sealed.LookUp, []byte(phone))
	} else if c.Phone != "" {
		lead.PhoneDigest = in.Keys.Digest(sealed.LookUp, []byte(c.Phone))
	}
	lead.PhoneFlagged = c.PhoneFlagged
}

func (in *Intake) sealContact(lead *models.Lead, p *payload.Post, key envelope.DataKey) error {
	plain, err := json.Marshal(contactRecord{
		Email: p.Contact.Email, Name: p.Contact.Name, Phone: p.Contact.Phone, E164: p.Contact.PhoneE164,
		Address: p.Location.Address, Notes: p.Notes, Answers: p.Answers,
	})
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

func leadID(u uuid.UUID) string { return id.Format(id.Lead, u) }
