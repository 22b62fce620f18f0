package leads

import (
	"cmp"
	"encoding/json"

	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/models"
)

// NewDelivery returns the data to store for a completed post: the lead with its lookup digests, its consent,
// and its contact record encrypted with key.
func NewDelivery(lead models.Lead, post payload.Post, keys *keyring.Keys, key envelope.DataKey) (*Delivery, error) {
	c := post.Contact
	contact := Contact{
		Email: c.Email, Name: c.Name, Phone: c.Phone, E164: c.PhoneE164,
		Address: post.Location.Address, Notes: post.Notes, Answers: post.Answers,
	}
	lead.EmailDigest, lead.PhoneDigest = contact.Digests(keys)
	lead.PhoneFlagged = c.PhoneFlagged()
	d := &Delivery{Lead: lead, Consent: consent(post.Consent)}
	return d, contact.Seal(d, key)
}

// Contact is the plaintext inside a lead's envelope. It contains all of the lead's personal data, and
// nothing else (decision 20).
type Contact struct {
	Email   string          `json:"email"`
	Name    string          `json:"name,omitempty"`
	Phone   string          `json:"phone,omitempty"`
	E164    string          `json:"phoneE164,omitempty"`
	Address string          `json:"address,omitempty"`
	Notes   string          `json:"notes,omitempty"`
	Answers json.RawMessage `json:"answers,omitempty"`
}

// Digests returns the lookup digests of email and phone, made with the current platform key. They make
// leads searchable without storing the plaintext. If the contact has no phone number, or one without
// digits, the result phone is nil.
func (c Contact) Digests(keys *keyring.Keys) (email, phone []byte) {
	email = keys.Digest(keyring.Lookup, []byte(payload.NormaliseEmail(c.Email)))
	if number := c.number(); number != "" {
		phone = keys.Digest(keyring.Lookup, []byte(number))
	}
	return email, phone
}

// number returns the phone number that leads are searched by. If the number is not valid, these are its digits as sent,
// because the code of an assumed country could turn them into a different number (decision 62).
func (c Contact) number() string { return cmp.Or(c.E164, payload.PhoneDigits(c.Phone)) }

// AllDigests returns the lookup digests of email and phone, made with each platform key. phone is empty if
// the contact has no phone number, or one without digits.
func (c Contact) AllDigests(keys *keyring.Keys) (email, phone [][]byte) {
	email = keys.Digests(keyring.Lookup, []byte(payload.NormaliseEmail(c.Email)))
	if number := c.number(); number != "" {
		phone = keys.Digests(keyring.Lookup, []byte(number))
	}
	return email, phone
}

// Seal encrypts the contact record with key and adds it to the delivery.
func (c Contact) Seal(d *Delivery, key envelope.DataKey) error {
	plain, err := json.Marshal(c)
	if err != nil {
		return err
	}
	defer clear(plain)
	e, err := envelope.Seal(key, d.Lead.ID, d.Lead.PartnerID, plain)
	if err != nil {
		return err
	}
	d.Lead.Ciphertext, d.Lead.IV, d.Lead.AuthTag = e.Ciphertext, e.IV, e.AuthTag
	d.Key.Salt, d.Key.WrappedKey = e.Salt, e.Wrapped
	d.WrappingKey = key.WrappingKey.Key
	d.Key.KeyWrapper, d.Key.KeyVersion, err = envelope.ParseWrapped(e.Wrapped)
	return err
}

func consent(c payload.Consent) models.Consent {
	return models.Consent{
		DisclosureText: nilIfEmpty(c.DisclosureText), RecipientHash: nilIfEmpty(c.RecipientHash),
		FormCertURL: nilIfEmpty(c.ThirdPartyFormCertURL), ThirdPartyLeadID: nilIfEmpty(c.ThirdPartyLeadID),
		AcknowledgedAt: c.AcknowledgedAt, AcknowledgedText: nilIfEmpty(c.AcknowledgedText),
	}
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
