package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/models"
)

// Coverage says which leads of the period a list is compared with.
type Coverage string

const (
	FileCoverage Coverage = "file" // those in the currencies and of the accounts that the list names
	FullCoverage Coverage = "all"
)

// Coverages are all of them.
var Coverages = []Coverage{FileCoverage, FullCoverage}

// Covered says which leads of the period were compared. How many were left out, by
// currency, is in the tallies.
type Covered struct {
	Leads        int64    `json:"leads"`                   // compared; with those left out, all leads of the period
	Currencies   []string `json:"currencies,omitempty"`    // that were compared; empty for all
	Accounts     int      `json:"accounts,omitempty"`      // how many were left out in these currencies
	AccountNames []string `json:"account_names,omitempty"` // identifiers of the first maxNamed of them
}

// Summary state what was compared and what was left out, such as "28 leads in GBP" and
// "700 leads in EUR, 469 leads in USD"; leftOut is "" if all leads were compared.
func (r *Result) Summary(number func(int64) string) (compared, leftOut string) {
	if r.Covered == nil {
		return "", ""
	}
	leads := func(n int64) string {
		if n == 1 {
			return "1 lead"
		}
		return number(n) + " leads"
	}
	compared = leads(r.Covered.Leads) + " in all currencies"
	if len(r.Covered.Currencies) > 0 {
		compared = leads(r.Covered.Leads) + " in " + strings.Join(r.Covered.Currencies, ", ")
	}
	var parts []string
	for _, t := range r.Tallies {
		if t.Finding != models.LeftOut {
			continue
		}
		part := leads(t.Lines) + " in " + t.Currency
		if slices.Contains(r.Covered.Currencies, t.Currency) {
			part += " on " + r.Covered.accountText(number)
		}
		parts = append(parts, part)
	}
	return compared, strings.Join(parts, ", ")
}

func (c *Covered) accountText(number func(int64) string) string {
	words := "accounts without a lead in the file (" + strings.Join(c.AccountNames, ", ")
	if more := c.Accounts - len(c.AccountNames); more > 0 {
		words += fmt.Sprintf(" and %s more", number(int64(more)))
	}
	return words + ")"
}

// Settleable reports whether lines with a finding are settled: not those that agree, nor
// those that were not compared.
func Settleable(f models.Finding) bool { return f != models.Matched && f != models.LeftOut }
