package reconcile

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/models"
)

// onlyNamed is the outcome of leads that occur only in unreadable rows. No lines are written for
// these leads, because their rows already have lines.
const onlyNamed = "named"

// resultRow is a row of the result of compareSQL. It counts the lines that have one outcome and one pair
// of currencies. The outcome is a finding, onlyNamed, or the reason why leads were left out.
type resultRow struct {
	outcome                         string
	account                         *uuid.UUID // set if the leads were left out because of their account
	fileCurrency, ledgerCurrency    string
	lines, fileAmount, ledgerAmount int64
}

type sums struct {
	tallies       map[Tally]*Tally // by finding and currency
	leads         int64            // number of the period's leads that were compared
	currencies    map[string]bool  // currencies that occur in readable rows
	otherAccounts map[uuid.UUID]bool
}

func newSums() *sums {
	return &sums{tallies: map[Tally]*Tally{}, currencies: map[string]bool{}, otherAccounts: map[uuid.UUID]bool{}}
}

func (s *sums) tally(finding models.Finding, currency string) *Tally {
	key := Tally{Finding: finding, Currency: currency}
	if s.tallies[key] == nil {
		s.tallies[key] = &Tally{Finding: finding, Currency: currency}
	}
	return s.tallies[key]
}

func (s *sums) add(p resultRow) {
	finding := models.Finding(p.outcome)
	switch p.outcome {
	case onlyNamed:
		s.leads += p.lines
		return
	case string(models.Matched), string(models.AmountDiffers), string(models.Missing):
		s.leads += p.lines
	case problemOtherCurrency, problemOtherAccount:
		finding = models.LeftOut
	}
	if p.account != nil {
		s.otherAccounts[*p.account] = true
	}
	in := p.fileCurrency
	if in == "" {
		in = p.ledgerCurrency
	} else if finding != models.NotCompared {
		s.currencies[in] = true
	}
	t := s.tally(finding, in)
	t.Lines, t.FileAmount = t.Lines+p.lines, t.FileAmount+p.fileAmount
	if p.ledgerCurrency != "" {
		s.tally(finding, p.ledgerCurrency).LedgerAmount += p.ledgerAmount // if the currencies differ, each amount is added in its own currency
	}
}

// sorted returns the tallies in the order of the variable Findings, and then in the order of
// money.Currencies.
func (s *sums) sorted() (all []Tally) {
	for _, finding := range Findings {
		if t := s.tallies[Tally{Finding: finding}]; t != nil {
			all = append(all, *t)
		}
		for _, currency := range money.Currencies {
			if t := s.tallies[Tally{Finding: finding, Currency: currency.String()}]; t != nil {
				all = append(all, *t)
			}
		}
	}
	return all
}

func (s *sums) covered(everything bool) *Covered {
	c := &Covered{Leads: s.leads, Accounts: len(s.otherAccounts)}
	for _, currency := range money.Currencies {
		if s.currencies[currency.String()] && !everything {
			c.Currencies = append(c.Currencies, currency.String())
		}
	}
	return c
}
