package reconcile

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/scope"
)

// remembered is how many of a partner's last lists are looked at for one of the same columns.
const remembered = 20

// Suggest is a mapping to begin with.
func (s *Service) Suggest(ctx context.Context, r Reconciliation) (Suggestion, error) {
	return s.SuggestWith(ctx, r, Mapping{})
}

// SuggestWith is a mapping to begin with where some of it is known: what is not empty in
// given stays.
func (s *Service) SuggestWith(ctx context.Context, r Reconciliation, given Mapping) (Suggestion, error) {
	last, err := find(s.visible(ctx, scope.Partners(r.PartnerID)).
		Where("r.id <> ? AND r.state IN ('compared', 'kept')", r.ID).Order("r.id DESC").Limit(remembered))
	if err != nil {
		return Suggestion{}, err
	}
	suggestion := Suggestion{Mapping: guess(r.Profile)}
	for _, l := range last {
		if l.Mapping != nil && slices.EqualFunc(l.Profile.Columns, r.Profile.Columns, func(a, b Column) bool { return a.Name == b.Name }) {
			suggestion = Suggestion{Mapping: *l.Mapping, Remembered: true}
			break
		}
	}
	suggestion.take(given)
	suggestion.fit(r.Profile)
	suggestion.Numbers, suggestion.Dates = cmp.Or(given.Numbers, suggestion.Numbers), cmp.Or(given.Dates, suggestion.Dates)
	return suggestion, nil
}

// take puts what is known in place of what was guessed.
func (s *Suggestion) take(m Mapping) {
	s.LeadID, s.Amount, s.Date = cmp.Or(m.LeadID, s.LeadID), cmp.Or(m.Amount, s.Amount), cmp.Or(m.Date, s.Date)
	if m.Currency != "" || m.Fixed != 0 {
		s.Currency, s.Fixed = m.Currency, m.Fixed
	}
}

// Has reports whether the list has a column of this name.
func (p Profile) Has(name string) bool {
	_, ok := p.column(name)
	return ok
}

// fit settles how texts are read by what this very list shows: a form that was chosen
// for another list stays where both are possible.
func (s *Suggestion) fit(p Profile) {
	if c, ok := p.column(s.Amount); ok {
		s.Numbers = theOne(c.Numbers, s.Numbers)
	}
	c, ok := p.column(s.Date)
	if !ok {
		s.Dates = ""
		return
	}
	if s.Dates = theOne(c.Dates, s.Dates); s.Dates != "" && c.FirstDay != "" {
		s.From, _ = time.Parse(time.DateOnly, c.FirstDay)
		s.To, _ = time.Parse(time.DateOnly, c.LastDay)
	}
}

func theOne[F comparable](possible []F, before F) (none F) {
	switch {
	case len(possible) == 1:
		return possible[0]
	case slices.Contains(possible, before):
		return before
	}
	return none
}

func (p Profile) column(name string) (Column, bool) {
	i := slices.IndexFunc(p.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 || name == "" {
		return Column{}, false
	}
	return p.Columns[i], true
}

// What columns are named, the surest names first; compared without case and marks.
var (
	leadNames     = []string{"leadid", "lead", "pingpostlead", "pingpostleadid", "id", "reference", "leadreference"}
	amountNames   = []string{"amount", "payout", "price", "value", "earnings", "revenue", "commission", "betrag", "montant", "importe"}
	currencyNames = []string{"currency", "currencycode", "ccy", "curr", "währung", "devise", "moneda"}
	dateNames     = []string{"date", "receivedat", "received", "deliveredat", "delivered", "createdat", "created", "leaddate", "day", "time", "timestamp", "datum", "fecha"}
)

// guess says what the columns look like: by what they hold, and of several that could
// be it by their names.
func guess(p Profile) (m Mapping) {
	m.LeadID = p.pick(leadNames, func(c Column) bool { return c.LeadIDs*2 > c.Filled })
	m.Currency = p.pick(currencyNames, func(c Column) bool { return len(c.Currencies) > 0 })
	m.Amount = p.pick(amountNames, func(c Column) bool { return len(c.Numbers) > 0 && len(c.Dates) == 0 })
	m.Date = p.pick(dateNames, func(c Column) bool { return len(c.Dates) > 0 })
	if m.Currency == "" {
		m.Fixed = named(m.Amount)
	}
	return m
}

// pick is the one column that holds what is looked for; of several the one with the
// surest name; "" where that is none or two.
func (p Profile) pick(names []string, holds func(Column) bool) string {
	var all []string
	for _, c := range p.Columns {
		if c.Filled > 0 && holds(c) {
			all = append(all, c.Name)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	for _, name := range names {
		var found []string
		for _, column := range all {
			if bare := bare(column); bare == name || bare == name+currencyCode(column) {
				found = append(found, column)
			}
		}
		if len(found) > 0 {
			if len(found) > 1 {
				return ""
			}
			return found[0]
		}
	}
	return ""
}

// bare is a name in lower case without anything but letters and digits.
func bare(name string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && !isDigit(byte(c)) && (c < 'a' || c > 'z') {
			return -1
		}
		return c
	}, strings.ToLower(name))
}

// named is the currency in a column's name, as in "amount_gbp" or "Payout (EUR)".
func named(column string) money.Currency {
	for _, c := range money.Currencies {
		if slices.Contains(words(column), strings.ToLower(c.String())) {
			return c
		}
	}
	return 0
}

func currencyCode(column string) string {
	if c := named(column); c.Valid() {
		return strings.ToLower(c.String())
	}
	return ""
}

func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return c < 'a' || c > 'z' })
}
