package reconcile

import (
	"cmp"
	"context"
	"slices"
	"strings"

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
	suggestion, names := Suggestion{Mapping: guess(r.Profile)}, r.Profile.names()
	for _, l := range last {
		if l.Mapping != nil && slices.Equal(l.Profile.names(), names) {
			suggestion = Suggestion{Mapping: *l.Mapping, Remembered: true}
			break
		}
	}
	suggestion.take(given)
	suggestion.fit(r.Profile, given)
	return suggestion, nil
}

// names are those of the columns, in an order of their own: lists are the same in any.
func (p Profile) names() (all []string) {
	for _, c := range p.Columns {
		all = append(all, c.Name)
	}
	slices.Sort(all)
	return all
}

// take puts what is known in place of what was guessed. What was known of another column
// says nothing of the one that is given instead: neither its form nor its currency.
func (s *Suggestion) take(m Mapping) {
	if m.Amount != "" && m.Amount != s.Amount {
		s.Numbers = ""
		if s.Currency == "" {
			s.Fixed = named(m.Amount)
		}
	}
	if m.Date != "" && m.Date != s.Date {
		s.Dates = ""
	}
	s.LeadID, s.Amount, s.Date = cmp.Or(m.LeadID, s.LeadID), cmp.Or(m.Amount, s.Amount), cmp.Or(m.Date, s.Date)
	s.Coverage = cmp.Or(m.Coverage, s.Coverage)
	if m.Currency != "" || m.Fixed != 0 {
		s.Currency, s.Fixed = m.Currency, m.Fixed
	}
}

// fit settles how texts are read by what this very list shows: a form that was chosen
// for another list stays where both are possible, and one that is given wherever.
func (s *Suggestion) fit(p Profile, given Mapping) {
	if c, ok := p.Column(s.Amount); ok {
		s.Numbers = ChooseForm(c.Numbers, s.Numbers)
	}
	c, _ := p.Column(s.Date)
	s.Dates = ChooseForm(c.Dates, s.Dates)
	s.Numbers, s.Dates = cmp.Or(given.Numbers, s.Numbers), cmp.Or(given.Dates, s.Dates)
	s.From, s.To = p.Period(s.Date, s.Dates)
}

// What columns are named, the surest names first; compared without case and marks.
var (
	leadNames   = []string{"leadid", "lead", "pingpostlead", "pingpostleadid", "id", "reference", "leadreference"}
	amountNames = []string{"amount", "payout", "price", "value", "earnings", "revenue", "commission", "betrag",
		"montant", "importe"} // two are a question
	currencyNames = []string{"currency", "currencycode", "ccy", "curr", "währung", "devise", "moneda"}
	dateNames     = []string{"date", "receivedat", "received", "deliveredat", "delivered", "createdat", "created",
		"leaddate", "day", "time", "timestamp", "datum", "fecha"}
)

// guess says what the columns look like: by what they hold, and of several that could
// be it by their names.
func guess(p Profile) (m Mapping) {
	m.LeadID = p.pick(leadNames, func(c Column) bool { return c.LeadIDs*2 > c.Filled })
	m.Currency = p.pick(currencyNames, func(c Column) bool { return len(c.Currencies) > 0 })
	m.Amount = p.money()
	m.Date = p.pick(dateNames, func(c Column) bool { return len(c.Dates) > 0 })
	if m.Currency == "" {
		m.Fixed = named(m.Amount)
	}
	return m
}

// money is the one column of numbers whose name says that they are amounts; "" where that
// is none or two: which of them is meant is not for us to say.
func (p Profile) money() (found string) {
	for _, c := range p.Columns {
		if len(c.Numbers) == 0 || len(c.Dates) > 0 || !saysMoney(c.Name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = c.Name
	}
	return found
}

func saysMoney(name string) bool {
	isOne := func(word string) bool { return slices.Contains(amountNames, word) }
	return named(name).Valid() || strings.ContainsAny(name, "£€$") || isOne(bare(name)) || slices.ContainsFunc(words(name), isOne)
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
		if c < 0x80 && !isDigit(byte(c)) && (c < 'a' || c > 'z') { //nolint:gosec // c is ASCII here
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
