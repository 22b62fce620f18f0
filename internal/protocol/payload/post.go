package payload

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pingpost/pingpost/internal/base/apperr"
)

// Post is a valid post request. Optional strings are "" if absent.
type Post struct {
	TransactionID string // quote.Open checks its format
	PartnerID     string // "" if absent
	Contact       Contact
	Location      Location
	Consent       Consent
	Notes         string
	Answers       []byte // the JSON object as sent; nil if absent
	Reference     string
	SubID         string
	Warnings      []Warning
}

// Contact is the consumer who asked for the service.
type Contact struct {
	Email string // trimmed; NormaliseEmail returns the form for lookups
	Name  string
	Phone string // trimmed

	PhonePath []string // of the field that contained Phone
	PhoneE164 string   // Phone in E.164 format, or "" if it is not valid; set by Post.Complete
}

// PhoneFlagged reports whether the phone number is not valid and is stored as sent (decision 62).
func (c Contact) PhoneFlagged() bool { return c.Phone != "" && c.PhoneE164 == "" }

// Location is the location of the job. Empty fields default to the ping's values.
type Location struct {
	Postcode string // trimmed
	Address  string
	Country  string // two letters, upper case
}

// Consent is the consent record. ParsePost rejects a post whose consent was not acknowledged.
type Consent struct {
	AcknowledgedAt        *time.Time // UTC; nil if absent or sent without an offset
	AcknowledgedText      string     // AcknowledgedAt as sent
	DisclosureText        string
	RecipientHash         string // 64 hex digits, lower case
	ThirdPartyFormCertURL string
	ThirdPartyLeadID      string
}

// ParsePost parses a post request as defined in the specification's field table and decisions 9, 17 and
// 62. The error is ErrJSON, or ErrInvalidPost with an entry for every problem, in the order of the table. The
// result does not share memory with body. Callers must then call Complete once they have read the quote.
//
// If there is an error, the Post contains only TransactionID and PartnerID. They can have any length,
// and are empty if they could not be read. They are used only to choose the secret for checking the
// signature (decisions 12, 13).
func ParsePost(body []byte) (Post, error) {
	if !strict(body) {
		return salvage(body), explain(body)
	}
	object, ok := objectIn(body)
	if !ok {
		return Post{}, ErrInvalidPost.WithFields(notAnObject())
	}
	f := pickPost(object)

	var p problems
	post := Post{TransactionID: p.transactionID(&f), PartnerID: p.partnerID(&f)}
	post.Contact = p.contact(&f)
	post.Location = p.location(&f)
	post.Consent = p.consent(&f)
	post.Notes = p.copied(field{raw: f.notes, name: "notes"}, maxNotes)
	post.Answers = p.answers(field{raw: f.answers, name: "answers"})
	if p.fields != nil {
		ids := Post{TransactionID: anyText(f.transactionID), PartnerID: anyText(f.partnerID)}
		return ids, ErrInvalidPost.WithFields(p.fields...)
	}
	post.Reference = p.tag(field{raw: f.reference, name: "reference"}, MaxReference)
	post.SubID = p.tag(field{raw: f.subID, name: "subId"}, MaxSubID)
	post.Warnings = p.warnings
	return post, nil
}

// Complete finishes reading a post with values that only its quote contains: country is the lead's country
// in two upper-case letters, and pinged is the time of the ping. It normalises the phone number, and adds
// warnings if the number is not valid or if the time of consent is doubtful. A retry gets the same warnings,
// because they depend only on the body and the quote.
func (post *Post) Complete(country string, pinged time.Time) {
	c := &post.Contact
	c.PhoneE164, _ = E164(c.Phone, country)
	if c.PhoneFlagged() {
		post.warn(PhoneNotNormalised, c.PhonePath, "is not a valid phone number in its country, so it was stored as sent. "+
			"Check it, and send it with a plus sign and the country code")
	}
	consent := post.Consent
	code, message := DoubtfulConsentTime(consent.AcknowledgedText != "", consent.AcknowledgedAt, pinged)
	if code != "" {
		post.warn(code, []string{"consent", "acknowledgedAt"}, message)
	}
}

type postFields struct {
	transactionID, partnerID             raw
	contact, email, name, phone          raw
	location, postcode, postalCode       raw
	address, country                     raw
	consent, formCertURL, thirdPartyLead raw
	notes, answers, reference, subID     raw
}

func pickPost(object members) postFields {
	var f postFields
	for object.next() {
		value := object.value.given()
		switch string(object.name) {
		case "transactionId":
			f.transactionID = value
		case "partnerId":
			f.partnerID = value
		case "contact":
			f.contact = value
		case "email":
			f.email = value
		case "name":
			f.name = value.filled()
		case "phone":
			f.phone = value.filled()
		case "location":
			f.location = value.filled()
		case "postcode":
			f.postcode = value.filled()
		case "postal_code":
			f.postalCode = value.filled()
		case "address":
			f.address = value.filled()
		case "country":
			f.country = value.filled()
		case "consent":
			f.consent = value
		case "thirdPartyFormCertUrl":
			f.formCertURL = value.filled()
		case "thirdPartyLeadId":
			f.thirdPartyLead = value.filled()
		case "notes":
			f.notes = value
		case "answers":
			f.answers = value
		case "reference":
			f.reference = value
		case "subId":
			f.subID = value
		}
	}
	return f
}

func (p *problems) transactionID(f *postFields) string {
	id := field{raw: f.transactionID, name: "transactionId"}
	if id.raw == nil {
		p.add(id, apperr.Required, "is required. Send the transactionId from the response to the ping")
	}
	return p.copied(id, noLimit) // quote.Open limits the length (decision 1)
}

// partnerID rejects "", which would otherwise be treated like a missing partnerId.
func (p *problems) partnerID(f *postFields) string {
	id := field{raw: f.partnerID, name: "partnerId"}
	text, ok := p.text(id, maxPartnerID)
	if ok && len(text) == 0 {
		p.add(id, apperr.InvalidValue, "must not be empty. Send the partnerId of an account, or leave the field out")
	}
	return string(text)
}

func anyText(value raw) string {
	if value == nil || value[0] != '"' {
		return ""
	}
	text, _ := unquote(value)
	return string(text)
}

// salvage reads transactionId and partnerId from a body that is not valid JSON, up to the first error.
// It is slow, but valid posts do not need it.
func salvage(body []byte) Post {
	var post Post
	in := jsontext.NewDecoder(bytes.NewBuffer(body))
	if brace, err := in.ReadToken(); err != nil || brace.Kind() != '{' {
		return post
	}
	for {
		name, err := in.ReadToken()
		if err != nil || name.Kind() != '"' {
			return post
		}
		key := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return post
		}
		switch key {
		case "transactionId":
			post.TransactionID = anyText(raw(value))
		case "partnerId":
			post.PartnerID = anyText(raw(value))
		}
	}
}
