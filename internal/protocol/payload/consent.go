package payload

import (
	"bytes"
	"net/url"
	"unicode"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// affirmative is the message for a post whose consent does not contain "acknowledged": true. The
// specification requires this message.
const affirmative = "affirmative consent acknowledged: true is required"

type consentFields struct {
	acknowledged, acknowledgedAt, disclosureText raw
	recipientHash, formCertURL, thirdPartyLead   raw
}

// consent reads the consent record. If consent is not an object, the problem is reported for the
// required field acknowledged inside it (decision 17).
func (p *problems) consent(f *postFields) Consent {
	in, isObject := consentFields{}, true
	if f.consent != nil {
		var object members
		if object, isObject = objectIn(f.consent); isObject {
			in = pickConsent(object)
		}
	}
	p.acknowledged(field{raw: in.acknowledged, parent: "consent", name: "acknowledged"}, isObject)
	var c Consent
	c.AcknowledgedText, c.AcknowledgedAt = p.acknowledgedAt(field{
		raw:    in.acknowledgedAt,
		parent: "consent",
		name:   "acknowledgedAt",
	})
	c.DisclosureText = p.copied(field{
		raw:    in.disclosureText,
		parent: "consent",
		name:   "disclosureText",
	}, MaxDisclosureText)
	c.RecipientHash = p.hash(field{raw: in.recipientHash, parent: "consent", name: "recipientHash"})
	c.ThirdPartyFormCertURL = p.certURL(first(
		field{raw: in.formCertURL, parent: "consent", name: "thirdPartyFormCertUrl"},
		field{raw: f.formCertURL, name: "thirdPartyFormCertUrl"},
	))
	c.ThirdPartyLeadID = p.copied(first(
		field{raw: in.thirdPartyLead, parent: "consent", name: "thirdPartyLeadId"},
		field{raw: f.thirdPartyLead, name: "thirdPartyLeadId"},
	), maxLeadToken)
	return c
}

func pickConsent(object members) consentFields {
	var f consentFields
	for object.next() {
		value := object.value.given()
		switch string(object.name) {
		case "acknowledged":
			f.acknowledged = value
		case "acknowledgedAt":
			f.acknowledgedAt = value.filled()
		case "disclosureText":
			f.disclosureText = value
		case "recipientHash":
			f.recipientHash = value.filled()
		case "thirdPartyFormCertUrl":
			f.formCertURL = value.filled()
		case "thirdPartyLeadId":
			f.thirdPartyLead = value.filled()
		}
	}
	return f
}

// acknowledged reports a problem unless consent is an object whose field acknowledged is the JSON
// literal true. No lead without consent is ever accepted.
func (p *problems) acknowledged(f field, inObject bool) {
	code := apperr.InvalidType
	switch {
	case !inObject:
	case f.raw == nil:
		code = apperr.Required
	case string(f.raw) == "false":
		code = apperr.InvalidValue
	case string(f.raw) == "true":
		return
	}
	p.add(f, code, affirmative)
}

// hash reads a SHA-256 hash in hex, in upper or lower case, and returns it in lower case.
func (p *problems) hash(f field) string {
	text, ok := p.trimmed(f, noLimit)
	if !ok {
		return ""
	}
	if !isSHA256(text) {
		p.add(f, apperr.InvalidValue, "must be a SHA-256 hash in 64 hexadecimal digits")
		return ""
	}
	return string(bytes.ToLower(text))
}

func isSHA256(text []byte) bool {
	if len(text) != 64 {
		return false
	}
	for _, c := range text {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// certURL reads the URL of a certificate. It does not fetch the URL.
func (p *problems) certURL(f field) string {
	text, ok := p.trimmed(f, maxCertURL)
	if ok && !isPlainHTTPS(string(text)) {
		p.add(f, apperr.InvalidValue, "must be an https URL with a host and without a user name, password or spaces")
	}
	return string(text)
}

// isPlainHTTPS reports whether text is an https URL with a host. It rejects user names,
// because staff could mistake the text before an @ for the host.
func isPlainHTTPS(text string) bool {
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return false
		}
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil
}
