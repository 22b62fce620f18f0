package reconcile

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/models"
)

// onlyNamed is the outcome of leads that only unreadable rows name; they have no line of their own.
const onlyNamed = "named"

// resultRow is a row of compareSQL's result: lines with one outcome in one pair of currencies.
// An outcome is a finding, onlyNamed, or the reason why leads were left out.
type resultRow struct {
	outcome             string
	account             *uuid.UUID // of leads that were left out because of their account
	theirIn, ourIn      string
	lines, theirs, ours int64
}

// sums adds up the parts of a comparison.
type sums struct {
	tallies       map[Tally]*Tally // by finding and currency
	leads         int64            // of the period that were compared
	currencies    map[string]bool  // that readable rows have
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
	in := p.theirIn
	if in == "" {
		in = p.ourIn
	} else {
		s.currencies[in] = true
	}
	t := s.tally(finding, in)
	t.Lines, t.Theirs = t.Lines+p.lines, t.Theirs+p.theirs
	if p.ourIn != "" {
		s.tally(finding, p.ourIn).Ours += p.ours // in two currencies: each sum in its own
	}
}

// sorted are the tallies in the order of Findings and of the currencies.
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
