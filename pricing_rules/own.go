package pricingrules

import (
	"encoding/json"
	"fmt"
)

// Own is what a partner has of its own, which comes last (D4, D5). The zero Own is
// nothing.
type Own struct {
	Adjustment int // ten-thousandths added to the rate card's price
	Exclusions []OwnExclusion
}

// MaxExclusions bounds a partner's.
const MaxExclusions = 200

// OwnExclusion is a part of the trade that the partner does not sell; "" is any.
type OwnExclusion struct {
	Industry string `json:"industry,omitempty"`
	Category string `json:"category,omitempty"`
	Country  string `json:"country,omitempty"` // ISO 3166-1, also one without a market of its own
}

// Covers reports whether the exclusion applies to a cell.
func (e OwnExclusion) Covers(industry, category, country string) bool {
	return (e.Industry == "" || e.Industry == industry) &&
		(e.Category == "" || e.Category == category) &&
		(e.Country == "" || e.Country == country)
}

// Excludes reports whether the partner does not sell an industry in a country.
func (o Own) Excludes(industry Industry, country string) bool {
	for _, e := range o.Exclusions {
		if e.Covers(industry.Slug, industry.Category, country) {
			return true
		}
	}
	return false
}

// ParseExclusions reads the list as it is stored.
func ParseExclusions(text []byte) (list []OwnExclusion, err error) {
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("exclusions are no list of industry, category and country: %w", err)
	}
	return list, nil
}
