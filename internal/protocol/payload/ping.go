package payload

import (
	"bytes"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// defaultCountry is used for a ping that does not contain a country (decision 7).
const defaultCountry = "GB"

// Ping is a valid ping request. Optional strings are "" if absent.
type Ping struct {
	Industry int     // index in the taxonomy
	Postcode string  // trimmed
	Country  [2]byte // upper case; GB if absent
	Urgency  string  // trimmed, with its case unchanged
	JobType  string
	Budget   string
	Warnings []Warning

	Reference, SubID quote.Tag
}

type pingFields struct {
	industry, vertical, taxonomyTermID raw
	postcode, postalCode               raw
	country, urgency                   raw
	jobType, jobTypeAlias, budget      raw
	reference, subID                   raw
}

// ParsePing parses a ping request as defined in the specification's field table and decisions 6 to 9.
// The error is ErrJSON, or ErrInvalidPing with an entry for every problem, in the order industry, postcode,
// country, urgency, job_type, budget. The result does not share memory with body.
func ParsePing(body []byte, tax *pricingrules.Taxonomy) (Ping, error) {
	if !strict(body) {
		return Ping{}, explain(body)
	}
	object, ok := objectIn(body)
	if !ok {
		return Ping{}, ErrInvalidPing.WithFields(notAnObject())
	}
	f := pickPing(object)

	var ping Ping
	var p problems
	ping.Industry = p.industry(tax, &f)
	postcode := p.pingPostcode(&f)
	ping.Country = [2]byte([]byte(defaultCountry))
	country := field{raw: f.country, name: "country"}
	if code, ok := p.country(country); ok {
		ping.Country = p.resolveAlias(code, country)
	}
	urgency, _ := p.text(field{raw: f.urgency, name: "urgency"}, maxUrgency)
	urgency = trim(urgency)
	jobType, _ := p.text(first(field{raw: f.jobType, name: "job_type"}, field{raw: f.jobTypeAlias, name: "jobType"}),
		maxJobType)
	budget, _ := p.text(field{raw: f.budget, name: "budget"}, maxBudget)
	if p.fields != nil {
		return Ping{}, ErrInvalidPing.WithFields(p.fields...)
	}
	ping.Warnings = p.warnings
	reference, ok := f.reference.tag(MaxReference)
	ping.Reference.Dropped = !ok
	subID, ok := f.subID.tag(MaxSubID)
	ping.SubID.Dropped = !ok
	ping.copyStrings(postcode, urgency, jobType, budget, reference, subID)
	return ping, nil
}

// copyStrings copies the strings from the body to the Ping. They share one memory allocation, because
// pings are the most frequent requests.
func (ping *Ping) copyStrings(postcode, urgency, jobType, budget, reference, subID []byte) {
	var room [128]byte
	joined := append(room[:0], postcode...)
	joined = append(joined, urgency...)
	joined = append(joined, jobType...)
	joined = append(joined, budget...)
	joined = append(joined, reference...)
	joined = append(joined, subID...)
	rest := string(joined)
	ping.Postcode, rest = rest[:len(postcode)], rest[len(postcode):]
	ping.Urgency, rest = rest[:len(urgency)], rest[len(urgency):]
	ping.JobType, rest = rest[:len(jobType)], rest[len(jobType):]
	ping.Budget, rest = rest[:len(budget)], rest[len(budget):]
	ping.Reference.Value, ping.SubID.Value = rest[:len(reference)], rest[len(reference):]
}

func pickPing(object members) pingFields {
	var f pingFields
	for object.next() {
		value := object.value.given()
		switch string(object.name) {
		case "industry":
			f.industry = value.filled()
		case "vertical":
			f.vertical = value.filled()
		case "taxonomyTermId":
			f.taxonomyTermID = value.filled()
		case "postcode":
			f.postcode = value.filled()
		case "postal_code":
			f.postalCode = value.filled()
		case "country":
			f.country = value.filled()
		case "urgency":
			f.urgency = value
		case "job_type":
			f.jobType = value
		case "jobType":
			f.jobTypeAlias = value
		case "budget":
			f.budget = value
		case "reference":
			f.reference = value
		case "subId":
			f.subID = value
		}
	}
	return f
}

// industry reads the industry from one of three fields (decision 6). If several were sent,
// only the first is checked, and the second is reported as a conflict.
func (p *problems) industry(tax *pricingrules.Taxonomy, f *pingFields) int {
	index, count := 0, 0
	for i, sent := range [...]field{
		{raw: f.industry, name: "industry"},
		{raw: f.vertical, name: "vertical"},
		{raw: f.taxonomyTermID, name: "taxonomyTermId"},
	} {
		if sent.raw == nil {
			continue
		}
		switch count++; {
		case count == 2:
			p.add(sent, apperr.FieldClash, "send exactly one of industry, vertical, taxonomyTermId")
		case count == 1 && i < 2:
			index = p.slug(tax, sent)
		case count == 1:
			index = p.termID(tax, sent)
		}
	}
	if count == 0 {
		p.add(field{name: "industry"}, apperr.Required, "one of industry, vertical, taxonomyTermId is required")
	}
	return index
}

func (p *problems) slug(tax *pricingrules.Taxonomy, f field) int {
	slug, ok := p.text(f, noLimit)
	if !ok {
		return 0
	}
	index, ok := tax.BySlug(string(slug))
	if !ok {
		p.add(f, apperr.InvalidValue, "is not a known industry. Send one of the listed slugs exactly, in lower case")
	}
	return index
}

// maxTermDigits is the maximum number of digits in a taxonomyTermId, so that it fits in an int on every
// platform. The numbers in the taxonomy are much shorter.
const maxTermDigits = 9

// termID reads the number of an industry in the taxonomy. It can be a JSON number or a string of digits.
// A sign, fraction, exponent or leading zero is not allowed (decision 6).
func (p *problems) termID(tax *pricingrules.Taxonomy, f field) int {
	digits := []byte(f.raw)
	switch {
	case digits[0] == '"':
		digits, _ = unquote(digits)
	case digits[0] != '-' && (digits[0] < '0' || digits[0] > '9'):
		p.add(f, apperr.InvalidType, "must be a number or a string of digits")
		return 0
	}
	term, ok := decimal(digits)
	if !ok {
		p.add(f, apperr.InvalidValue, "must contain only digits, without a sign, fraction, exponent or leading zero")
		return 0
	}
	index, ok := tax.ByTermID(term)
	if !ok {
		p.add(f, apperr.InvalidValue, "is not a known taxonomyTermId. Send a number listed by GET /api/industries")
	}
	return index
}

// decimal parses a number that consists only of digits and has no leading zero. If there are more than
// maxTermDigits digits, it returns -1, which is not a taxonomyTermId.
func decimal(digits []byte) (int, bool) {
	if len(digits) == 0 || (digits[0] == '0' && len(digits) > 1) {
		return 0, false
	}
	n := 0
	for i, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		if i < maxTermDigits {
			n = n*10 + int(d-'0')
		}
	}
	if len(digits) > maxTermDigits {
		return -1, true
	}
	return n, true
}

// pingPostcode reads postcode or postal_code. Both may be sent only if they are equal after
// trimming (decision 6).
func (p *problems) pingPostcode(f *pingFields) []byte {
	input := field{raw: f.postcode, name: "postcode"}
	other := field{raw: f.postalCode, name: "postal_code"}
	if input.raw == nil && other.raw == nil {
		p.add(input, apperr.Required, "one of postcode, postal_code is required")
		return nil
	}
	if input.raw == nil {
		postcode := p.postcode(other)
		return postcode
	}
	postcode := p.postcode(input)
	if other.raw == nil {
		return postcode
	}
	if input.raw[0] != '"' || other.raw[0] != '"' {
		p.postcode(other) // the two cannot be compared, but this one's type may be wrong too
		return postcode
	}
	first, _ := unquote(input.raw)
	second, _ := unquote(other.raw)
	if !bytes.Equal(trim(first), trim(second)) {
		p.add(other, apperr.FieldClash, "differs from postcode. Send only one of them, or the same value in both")
	}
	return postcode
}
