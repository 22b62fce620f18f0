package payload

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pingpost/pingpost/internal/apperr"
)

// Post is a valid post request. Optional texts that were not given are "".
type Post struct {
	TransactionID string // its format is not checked here: quote.Open does that
	PartnerID     string // "" when not given
	Contact       Contact
	Location      Location
	Consent       Consent
	Notes         string
	Answers       []byte // the JSON object with the bytes that were sent; nil when not given
}

// Contact is the person asking for the quote.
type Contact struct {
	Email string // as sent; NormaliseEmail gives its look-up form
	Name  string
	Phone string // as sent

	// PhoneE164 is Phone in E.164 form, "" while there is none. An alias gets it
	// from Post.NormalisePhone.
	PhoneE164 string
	// PhoneFlagged marks a phone that was given and has no E.164 form (decision 17).
	PhoneFlagged bool
}

// Location is where the job is; what is "" takes the ping's value.
type Location struct {
	Postcode string // trimmed
	Address  string
	Country  string // two letters, upper case
}

// Consent is the record of an acknowledged consent: ParsePost returns no other.
type Consent struct {
	AcknowledgedAt        time.Time // UTC; means nothing unless HasAcknowledgedAt
	HasAcknowledgedAt     bool
	DisclosureText        string
	RecipientHash         string // 64 hex digits, lower case
	ThirdPartyFormCertURL string
	ThirdPartyLeadID      string
}

// ParsePost reads a post request by the specification's field table, decision 9 and
// decision 17. The error is ErrJSON, or ErrPost with an entry for every problem, in the
// order of the table. Nothing in the result aliases body. The phone is left to
// NormalisePhone, because the lead's country may stand in the quote alone.
//
// With an error the Post holds at most TransactionID and PartnerID: the texts
// under these names that were read before the failure, whatever their length.
// They serve only to choose the key that the signature is checked with (decision 12,
// decision 13); no value of a refused post goes any further.
func ParsePost(body []byte) (Post, error) {
	if !strict(body) {
		return salvage(body), ErrJSON
	}
	object, ok := objectIn(body)
	if !ok {
		return Post{}, ErrPost.WithFields(notAnObject())
	}
	f := pickPost(object)

	var p problems
	post := Post{TransactionID: p.transactionID(&f), PartnerID: p.partnerID(&f)}
	post.Contact = p.contact(&f)
	post.Location = p.location(&f)
	post.Consent = p.consent(&f)
	post.Notes = p.copied(field{raw: f.notes, name: "notes"}, maxNotes)
	post.Answers = p.answers(field{raw: f.answers, name: "answers"})
	if p != nil {
		return Post{TransactionID: anyText(f.transactionID), PartnerID: anyText(f.partnerID)}, ErrPost.WithFields(p...)
	}
	return post, nil
}

// postFields are a post's known fields at the top level, unread.
type postFields struct {
	transactionID, partnerID             raw
	contact, email, name, phone          raw
	location, postcode, postalCode       raw
	address, country                     raw
	consent, formCertURL, thirdPartyLead raw
	notes, answers                       raw
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
			f.name = value
		case "phone":
			f.phone = value
		case "location":
			f.location = value
		case "postcode":
			f.postcode = value
		case "postal_code":
			f.postalCode = value
		case "address":
			f.address = value
		case "country":
			f.country = value
		case "consent":
			f.consent = value
		case "thirdPartyFormCertUrl":
			f.formCertURL = value
		case "thirdPartyLeadId":
			f.thirdPartyLead = value
		case "notes":
			f.notes = value
		case "answers":
			f.answers = value
		}
	}
	return f
}

func (p *problems) transactionID(f *postFields) string {
	id := field{raw: f.transactionID, name: "transactionId"}
	if id.raw == nil {
		p.add(id, apperr.Required, "is required: send the transactionId of the ping's answer")
	}
	return p.copied(id, noLimit) // one that is too long has not the format of a ping's (decision 1)
}

// partnerID refuses "", which names no account but would look like a post that
// names none.
func (p *problems) partnerID(f *postFields) string {
	id := field{raw: f.partnerID, name: "partnerId"}
	text, ok := p.text(id, maxPartnerID)
	if ok && len(text) == 0 {
		p.add(id, apperr.InvalidValue, "must not be empty: send an account's identifier or leave the field out")
	}
	return string(text)
}

// anyText is a value's text when it is one.
func anyText(value raw) string {
	if value == nil || value[0] != '"' {
		return ""
	}
	text, _ := unquote(value)
	return string(text)
}

// salvage reads the two texts of a refused body up to where it breaks. It is
// the slow way, which a sound post never takes.
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
