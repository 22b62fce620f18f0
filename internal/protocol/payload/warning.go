package payload

import "github.com/pingpost/pingpost/internal/base/iso3166"

// WarningCode classifies a warning. The constants below are the only codes (decisions 61, 62, 63).
type WarningCode string

const (
	// CountryAlias means that a country was sent as UK or EL, which are not ISO codes, and was read as GB
	// or GR. Only this code occurs in responses to pings.
	CountryAlias WarningCode = "country_alias"

	// ControlCharacters means that control characters in a name were replaced by spaces.
	ControlCharacters WarningCode = "control_characters"

	// PhoneNotNormalised means that a phone number is not valid in its country. It is stored as sent.
	PhoneNotNormalised WarningCode = "phone_not_normalised"

	// ConsentTimeWithoutOffset means that a time of consent has no UTC offset. It is stored as sent, but
	// not as a point in time.
	ConsentTimeWithoutOffset WarningCode = "consent_time_without_offset"

	// ConsentTimeImplausible means that a time of consent is before the year 2000, or more than 24 hours
	// after the ping.
	ConsentTimeImplausible WarningCode = "consent_time_implausible"

	// ValueIgnored means that a reference or subId was not valid, or did not fit in the transactionId, and
	// was ignored.
	ValueIgnored WarningCode = "value_ignored"
)

// Warning is a remark in the response to an accepted request, about a value that was ignored, was read as
// something else, or may be wrong. Path is the field's path in the request. Message does not contain the
// value, and needs no escaping in JSON.
type Warning struct {
	Code    WarningCode
	Path    []string
	Message string
}

// resolveAlias returns the ISO code of a country, and adds a warning if another code was sent.
func (p *problems) resolveAlias(code [2]byte, f field) [2]byte {
	iso := iso3166.Country(string(code[:]))
	switch iso {
	case string(code[:]):
		return code
	case "GB":
		p.warn(f, CountryAlias, "UK was read as GB, the ISO 3166-1 code of the United Kingdom. Send GB")
	case "GR":
		p.warn(f, CountryAlias, "EL was read as GR, the ISO 3166-1 code of Greece. Send GR")
	}
	return [2]byte([]byte(iso))
}
