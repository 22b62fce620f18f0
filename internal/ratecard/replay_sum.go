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

// maxPartnerLines is how many of the lines by partner a replay keeps: those whose
// payout changes most.
const maxPartnerLines = 100

// ReplayResult is what a card would have done. Lines are one for each currency; currencies
// are never added up.
type ReplayResult struct {
	Total, Categories, Countries, Partners []ReplayLine
	MorePartners                           int // that are not told of one by one
	Took                                   time.Duration
}

// ReplayLine is a part of the trade: a category's slug, a market's code or a partner's UUID.
type ReplayLine struct {
	Key, Currency string
	Pings, Leads  ReplayTotals
}

// ReplayTotals are what was recorded and what the draft makes of it. Minor units: of pings
// what was offered for them, of leads what is paid for them.
type ReplayTotals struct {
	Count           int64
	Then, ThenMinor int64 // had a price, as recorded
	Now, NowMinor   int64 // have one, with the draft
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

// recordedGroup is what was recorded alike.
type recordedGroup struct {
	term             int
	country, urgency string
	own              *uuid.UUID // a partner with prices of its own
	outcome          string
	currency         string
	count, minor     int64
}

// Outcomes of what was recorded that this card decides anew. What was paused or capped
// stays so: no card decides that.
const (
	wasPriced   = string(models.OutcomePriced)
	wasUnnamed  = "unnamed" // a lead on a quote that named no partner
	wasExcluded = string(models.OutcomeExcluded)
)

func decides(outcome string) bool {
	return outcome == wasPriced || outcome == wasUnnamed || outcome == wasExcluded
}

// recorded is what was recorded of an outcome.
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
	industry, known := t.table.Taxonomy().ByTermID(g.term) // else one that the program had once: it has no price
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

// price is what the draft gives one of the group; 0 for none.
func (t *tally) price(g recordedGroup, industry, market int) int64 {
	if !decides(g.outcome) {
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
	r := &ReplayResult{Total: sorted(t.total), Categories: sorted(t.byCategory), Countries: sorted(t.byCountry)}
	r.Partners = sorted(t.byPartner)
	slices.SortStableFunc(r.Partners, func(a, b ReplayLine) int { return cmp.Compare(b.moved(), a.moved()) })
	if len(r.Partners) > maxPartnerLines {
		r.MorePartners = more(r.Partners[:maxPartnerLines], r.Partners[maxPartnerLines:])
		r.Partners = r.Partners[:maxPartnerLines]
	}
	return r
}

// more is how many keys only the rest has: a partner has a line for each currency.
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

// moved is by how much a line's payout changes, up or down, and its offers where no
// lead was delivered.
func (l ReplayLine) moved() int64 {
	abs := func(n int64) int64 { return max(n, -n) }
	return cmp.Or(abs(l.Leads.NowMinor-l.Leads.ThenMinor), abs(l.Pings.NowMinor-l.Pings.ThenMinor))
}

func sorted(of map[lineKey]*ReplayLine) []ReplayLine {
	list := make([]ReplayLine, 0, len(of))
	for _, line := range of {
		list = append(list, *line)
	}
	slices.SortFunc(list, func(a, b ReplayLine) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Currency, b.Currency))
	})
	return list
}
