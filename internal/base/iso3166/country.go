// Package iso3166 handles country codes.
package iso3166

// Country returns the ISO 3166-1 code of a country: GB for UK and GR for EL, which are common but not ISO
// codes. It returns every other text unchanged. The code must be in upper case.
func Country(code string) string {
	switch code {
	case "UK":
		return "GB"
	case "EL":
		return "GR"
	}
	return code
}
