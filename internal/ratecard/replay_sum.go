package ratecard

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// maxPartnerLines is the maximum number of lines about partners in a result. The lines with the largest
// changes in payouts are kept.
const maxPartnerLines = 100

// ReplayResult compares recorded prices with the draft's prices. Each line is in one currency, and no
// total mixes currencies.
type ReplayResult struct {
	Total, Categories, Countries, Partners []ReplayLine
	MorePartners                           int // number of partners that are not listed
	Took                                   time.Duration
}

// ReplayLine is one line of a result. Key is a category's slug, a market's code, a partner's UUID, or
// "" for totals.
type ReplayLine struct {
	Key, Currency string
	Pings, Leads  ReplayTotals
}

// ReplayTotals contains the recorded totals and the totals with the draft. Amounts are in minor
// units. For pings, they are the prices offered. For leads, they are the payouts.
type ReplayTotals struct {
	Count           int64
	Then, ThenMinor int64 // number and total of the recorded prices
	Now, NowMinor   int64 // number and total of the prices with the draft
}

func (f *ReplayTotals) add(more ReplayTotals) {
	f.Count += more.Count
	f.Then += more.Then
	f.ThenMinor += more.ThenMinor
	f.Now += more.Now
	f.NowMinor += more.NowMinor
}

func (l *ReplayLine) add(f ReplayTotals, leads bool) {
	if leads {
		l.Leads.add(f)
		return
	}
	l.Pings.add(f)
}

type lineKey struct{ key, currency string }

type tally struct {
	table                                   *pricingrules.Table
	own                                     map[uuid.UUID]pricingrules.PartnerPricing
	args                                    pgx.NamedArgs
	total, byCategory, byCountry, byPartner map[lineKey]*ReplayLine
}

func (t *tally) line(of map[lineKey]*ReplayLine, key, currency string) *ReplayLine {
	at := lineKey{key, currency}
	if of[at] == nil {
		of[at] = &ReplayLine{Key: key, Currency: currency}
	}
	return of[at]
}

// recordedGroup is a group of pings or leads for which the draft gives the same price.
type recordedGroup struct {
	term             int
	country, urgency string
	own              *uuid.UUID // nil unless the partner has partner pricing
	outcome          string
	currency         string
	count, minor     int64
}

// A replay calculates the price again only for these outcomes. Other outcomes, such as capped, do
// not depend on the rate card.
const (
	wasPriced   = string(models.OutcomePriced)
	wasUnnamed  = "unnamed" // a lead whose quote was not made for a partner
	wasExcluded = string(models.OutcomeExcluded)
)

func isRepriced(outcome string) bool {
	return outcome == wasPriced || outcome == wasUnnamed || outcome == wasExcluded
}

func recorded(outcome string, count, minor int64) ReplayTotals {
	f := ReplayTotals{Count: count}
	if outcome == wasPriced || outcome == wasUnnamed {
		f.Then, f.ThenMinor = count, minor
	}
	return f
}

func (t *tally) addCell(g recordedGroup, leads bool) {
	f := recorded(g.outcome, g.count, g.minor)
	market := t.table.Markets().Index([2]byte([]byte(g.country)))
	industry, known := t.table.Taxonomy().ByTermID(g.term) // industries that were removed from the taxonomy are unknown and have no price
	if known {
		if minor := t.price(g, industry, market); minor > 0 {
			f.Now, f.NowMinor = g.count, g.count*minor
		}
		t.line(t.byCategory, t.table.Taxonomy().At(industry).Category, g.currency).add(f, leads)
	}
	t.line(t.total, "", g.currency).add(f, leads)
	t.line(t.byCountry, t.table.Markets().At(market).Code, g.currency).add(f, leads)
	if g.own != nil {
		t.line(t.byPartner, g.own.String(), g.currency).add(f, leads)
	}
}

// price returns the draft's price for one ping or lead in the group, or 0 if there is no price.
func (t *tally) price(g recordedGroup, industry, market int) int64 {
	if !isRepriced(g.outcome) {
		return 0
	}
	class := pricingrules.ClassOf(g.urgency)
	if g.own == nil || g.outcome == wasUnnamed {
		return t.table.Price(industry, market, class).Minor
	}
	own := t.own[*g.own]
	if own.Excludes(t.table.Taxonomy().At(industry), g.country) {
		return 0
	}
	return t.table.PriceFor(industry, market, class, own.Adjustment).Minor
}

func (t *tally) result() *ReplayResult {
	r := &ReplayResult{
		Total:      sorted(t.total),
		Categories: sorted(t.byCategory),
		Countries:  sorted(t.byCountry),
		Partners:   sorted(t.byPartner),
	}
	if len(r.Partners) > maxPartnerLines {
		r.MorePartners = more(r.Partners[:maxPartnerLines], r.Partners[maxPartnerLines:])
		r.Partners = r.Partners[:maxPartnerLines]
	}
	return r
}

// The function more returns the number of partners that occur in the list rest, but not in the list
// shown. It does not count lines, because a partner has one line for each currency.
func more(shown, rest []ReplayLine) int {
	keys := map[string]bool{}
	for _, line := range rest {
		keys[line.Key] = true
	}
	for _, line := range shown {
		delete(keys, line.Key)
	}
	return len(keys)
}

// Changed reports whether the draft changes the price of any ping or lead in the line's totals.
func (l ReplayLine) Changed() bool { return l.Pings.changed() || l.Leads.changed() }

func (f ReplayTotals) changed() bool { return f.Then != f.Now || f.ThenMinor != f.NowMinor }

// change returns the absolute difference between the recorded total and the total with the draft.
func (f ReplayTotals) change() int64 { return max(f.NowMinor-f.ThenMinor, f.ThenMinor-f.NowMinor) }

// sorted returns the lines, ordered by their change in payouts and then by their change in prices. The largest changes
// come first.
func sorted(of map[lineKey]*ReplayLine) []ReplayLine {
	list := make([]ReplayLine, 0, len(of))
	for _, line := range of {
		list = append(list, *line)
	}
	slices.SortFunc(list, func(a, b ReplayLine) int {
		return cmp.Or(
			cmp.Compare(b.Leads.change(), a.Leads.change()), cmp.Compare(b.Pings.change(), a.Pings.change()),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Currency, b.Currency),
		)
	})
	return list
}
