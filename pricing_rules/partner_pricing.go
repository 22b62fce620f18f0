package pricingrules

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/internal/base/iso3166"
)

// PartnerPricing contains a partner's adjustment and exclusions, which are applied to the result of the
// rate card (decisions 4 and 5). The zero value has no effect.
type PartnerPricing struct {
	Adjustment int // in ten-thousandths: 500 adds 5 % to the rate card's price
	Exclusions []PartnerExclusion
}

// MaxExclusions is the maximum number of exclusions for one partner.
const MaxExclusions = 200

// PartnerExclusion selects leads that are not bought from a partner. A field that is "" matches
// everything.
type PartnerExclusion struct {
	Industry string `json:"industry,omitempty"`
	Category string `json:"category,omitempty"`
	Country  string `json:"country,omitempty"` // any ISO 3166-1 alpha-2 code
}

// Covers reports whether the exclusion applies to leads of the given industry, category and country.
func (e PartnerExclusion) Covers(industry, category, country string) bool {
	return (e.Industry == "" || e.Industry == industry) &&
		(e.Category == "" || e.Category == category) &&
		(e.Country == "" || e.Country == country)
}

// String formats the exclusion in a form that ParseExclusion accepts, such as "industry: plumber,
// country: FR".
func (e PartnerExclusion) String() string {
	return Target{Industry: e.Industry, Category: e.Category, Country: e.Country}.String()
}

// ParseExclusion parses an exclusion, such as "industry: plumber, country: FR". The colons can be left
// out. ParseExclusion returns an error if the industry or category does not exist.
func ParseExclusion(text string, tax *Taxonomy) (e PartnerExclusion, err error) {
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(strings.Replace(part, ":", " ", 1))
		if len(words) != 2 {
			part = strings.TrimSpace(part)
			return e, fmt.Errorf("%s is not an exclusion; %s", quoted(part), tax.suggestExclusion(part))
		}
		if err := e.set(words[0], words[1], tax); err != nil {
			return e, err
		}
	}
	if at, named := tax.BySlug(e.Industry); named && e.Category != "" && tax.At(at).Category != e.Category {
		return e, fmt.Errorf("%s is in %s, not in %s; enter only one of the two", e.Industry, tax.At(at).Category, e.Category)
	}
	return e, nil
}

func (e *PartnerExclusion) set(what, name string, tax *Taxonomy) error {
	into := map[string]*string{"industry": &e.Industry, "category": &e.Category, "country": &e.Country}[what]
	if into == nil {
		return fmt.Errorf("instead of %s, write industry, category or country, as in “industry: plumber, country: FR”",
			quoted(what))
	}
	if *into != "" {
		return fmt.Errorf("%s occurs twice; write two exclusions instead", what)
	}
	_, industry := tax.BySlug(name)
	_, category := tax.byCategory[name]
	switch {
	case what == "industry" && !industry:
		return fmt.Errorf("industry %s", tax.unknownIndustry(name))
	case what == "category" && !category:
		return fmt.Errorf("category %s", tax.unknownCategory(name))
	case what == "country":
		if name = strings.ToUpper(name); !isCountry(name) {
			return fmt.Errorf("country %s is not a two-letter code, such as FR", quoted(name))
		}
		name = iso3166.Country(name)
	}
	*into = name
	return nil
}

// suggestExclusion says how to write an exclusion for a name that has no kind, such as "Legal".
func (t *Taxonomy) suggestExclusion(name string) string {
	if _, known := t.byCategory[spelledAsSlug(name)]; known {
		return "write “category: " + spelledAsSlug(name) + "”"
	}
	if slug := t.Suggest(name); slug != "" {
		return "write “industry: " + slug + "”"
	}
	if slug := t.SuggestCategory(name); slug != "" {
		return "write “category: " + slug + "”"
	}
	return "write exclusions as in “industry: plumber, country: FR”"
}

// Excludes reports whether any of the exclusions applies to an industry in a country.
func (o PartnerPricing) Excludes(industry Industry, country string) bool {
	for _, e := range o.Exclusions {
		if e.Covers(industry.Slug, industry.Category, country) {
			return true
		}
	}
	return false
}

// ParseExclusions decodes exclusions from the JSON in which they are stored.
func ParseExclusions(text []byte) (list []PartnerExclusion, err error) {
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decoding exclusions: %w", err)
	}
	return list, nil
}
