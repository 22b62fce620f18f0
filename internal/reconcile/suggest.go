package reconcile

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
)

// The constant remembered is the maximum number of earlier files in which SuggestWith looks for the
// same columns.
const remembered = 20

// Suggest proposes a mapping for a file.
func (s *Service) Suggest(ctx context.Context, r Reconciliation) (Suggestion, error) {
	return s.SuggestWith(ctx, r, Mapping{})
}

// SuggestWith is like Suggest, but keeps the fields that are set in the given mapping.
func (s *Service) SuggestWith(ctx context.Context, r Reconciliation, given Mapping) (Suggestion, error) {
	last, err := find(s.visible(ctx, scope.Partners(r.PartnerID)).
		Where("r.id <> ? AND r.state IN ('compared', 'saved')", r.ID).Order("r.id DESC").Limit(remembered))
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
	suggestion.applyMapping(given)
	suggestion.fitFormats(r.Profile, given)
	return suggestion, nil
}

// names returns the names of the columns. They are sorted, so that the order of the columns in the
// file does not matter.
func (p Profile) names() (all []string) {
	for _, c := range p.Columns {
		all = append(all, c.Name)
	}
	slices.Sort(all)
	return all
}

// applyMapping replaces the suggested fields with the fields that are set in m. If it replaces the
// amount or date column, it discards the suggested format of that column. If there is no suggested
// currency column, it also looks for a currency in the name of the new amount column.
func (s *Suggestion) applyMapping(m Mapping) {
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

// fitFormats replaces suggested formats that do not match the values in the file, and then sets the
// period. Formats that are set in the given mapping are always used.
func (s *Suggestion) fitFormats(p Profile, given Mapping) {
	if c, ok := p.Column(s.Amount); ok {
		s.Numbers = ChooseForm(c.Numbers, s.Numbers)
	}
	c, _ := p.Column(s.Date)
	s.Dates = ChooseForm(c.Dates, s.Dates)
	s.Numbers, s.Dates = cmp.Or(given.Numbers, s.Numbers), cmp.Or(given.Dates, s.Dates)
	s.From, s.To = p.Period(s.Date, s.Dates)
}

// These are common column names, with the most specific first. Case and punctuation are ignored.
var (
	leadNames   = []string{"leadid", "lead", "pingpostlead", "pingpostleadid", "id", "reference", "leadreference"}
	amountNames = []string{"amount", "payout", "price", "value", "earnings", "revenue", "commission", "betrag",
		"montant", "importe"}
	currencyNames = []string{"currency", "currencycode", "ccy", "curr", "währung", "devise", "moneda"}
	dateNames     = []string{"date", "receivedat", "received", "deliveredat", "delivered", "createdat", "created",
		"leaddate", "day", "time", "timestamp", "datum", "fecha"}
)

// guess proposes a mapping based on the values in the columns. If several columns fit, it chooses
// between them by name.
func guess(p Profile) (m Mapping) {
	m.LeadID = p.pickColumn(leadNames, func(c Column) bool { return c.LeadIDs*2 > c.Filled })
	m.Currency = p.pickColumn(currencyNames, func(c Column) bool { return len(c.Currencies) > 0 })
	m.Amount = p.money()
	m.Date = p.pickColumn(dateNames, func(c Column) bool { return len(c.Dates) > 0 })
	if m.Currency == "" {
		m.Fixed = named(m.Amount)
	}
	return m
}

// money returns the name of the only column that contains numbers and is named like an amount. It
// returns "" if there is no such column or more than one.
func (p Profile) money() (found string) {
	for _, c := range p.Columns {
		if len(c.Numbers) == 0 || len(c.Dates) > 0 || !isAmountName(c.Name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = c.Name
	}
	return found
}

func isAmountName(name string) bool {
	isOne := func(word string) bool { return slices.Contains(amountNames, word) }
	return named(name).Valid() || strings.ContainsAny(name, "£€$") || isOne(bare(name)) || slices.ContainsFunc(words(name),
		isOne)
}

// pickColumn returns the name of the only column for which fits returns true. If there are several such columns, it
// uses the first of the names that matches one of them, and returns the column that it matches. If this name matches
// several columns, it returns "".
func (p Profile) pickColumn(names []string, fits func(Column) bool) string {
	var all []string
	for _, c := range p.Columns {
		if c.Filled > 0 && fits(c) {
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

// The function bare converts a name to lower case and removes all ASCII characters except letters and
// digits.
func bare(name string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && !isDigit(byte(c)) && (c < 'a' || c > 'z') { //nolint:gosec // c is ASCII here
			return -1
		}
		return c
	}, strings.ToLower(name))
}

// The function named returns the currency that occurs in the name of a column, such as "amount_gbp" or
// "Payout (EUR)". It returns 0 if there is none.
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
