package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/models"
)

// Coverage selects which of the period's leads a file is expected to contain.
type Coverage string

const (
	FileCoverage Coverage = "file" // leads in the currencies and accounts that occur in the file
	FullCoverage Coverage = "all"
)

// Coverages lists all values of Coverage.
var Coverages = []Coverage{FileCoverage, FullCoverage}

// Covered describes which of the period's leads were compared with the file. The number of leads that
// were left out is in the tallies of the Result.
type Covered struct {
	Leads        int64    `json:"leads"`                   // number of leads that were compared
	Currencies   []string `json:"currencies,omitempty"`    // currencies that were compared; empty for all
	Accounts     int      `json:"accounts,omitempty"`      // number of left-out accounts with leads in these currencies
	AccountNames []string `json:"account_names,omitempty"` // identifiers of these accounts, at most maxNamed
}

// Summary describes the leads that were compared, such as "28 leads in GBP", and those that were left
// out, such as "700 leads in EUR, 469 leads in USD". The result leftOut is "" if all leads were
// compared.
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
			part += " from " + r.Covered.accountText(number)
		}
		parts = append(parts, part)
	}
	return compared, strings.Join(parts, ", ")
}

func (c *Covered) accountText(number func(int64) string) string {
	words := "accounts without leads in the file ("
	if c.Accounts == 1 {
		words = "an account without leads in the file ("
	}
	words += strings.Join(c.AccountNames, ", ")
	if more := c.Accounts - len(c.AccountNames); more > 0 {
		words += fmt.Sprintf(" and %s more", number(int64(more)))
	}
	return words + ")"
}

// Resolvable reports whether lines with the given finding can be resolved. Lines that match or were not
// compared cannot.
func Resolvable(f models.Finding) bool { return f != models.Matched && Compared(f) }

// Compared reports whether the totals by currency include lines with the given finding.
func Compared(f models.Finding) bool { return f != models.LeftOut && f != models.NotCompared }
