package payload

// WarningCode classifies a warning. The constants below are the only codes (decision 61).
type WarningCode string

// CountryAlias means that a country was sent as UK or EL, which are not ISO codes, and was read as GB or
// GR.
const CountryAlias WarningCode = "country_alias"

// Warning is a remark in the response to an accepted request, about a value that was read in another way
// than it was sent. Path is the field's path in the request.
type Warning struct {
	Code    WarningCode
	Path    []string
	Message string
}

// resolveAlias returns the ISO code of a country, and a warning if another code was sent.
func resolveAlias(code [2]byte, f field) ([2]byte, []Warning) {
	var message string
	switch string(code[:]) {
	case "UK":
		code, message = [2]byte{'G', 'B'}, "UK was read as GB, the ISO 3166-1 code of the United Kingdom. Send GB"
	case "EL":
		code, message = [2]byte{'G', 'R'}, "EL was read as GR, the ISO 3166-1 code of Greece. Send GR"
	default:
		return code, nil
	}
	return code, []Warning{{Code: CountryAlias, Path: f.path(), Message: message}}
}
