package ratecard_test

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

var (
	plumbers  = pricingrules.Target{Industry: "plumber", Country: "GB"}
	firstPage = postgres.Page[int64]{Size: 100}
)

func TestSetBase(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	number := w.snapshotNumber(t)
	own := func(minor int64) pricingrules.Rule {
		return pricingrules.Rule{Base: pricingrules.Amounts{money.GBP: minor}}.For(plumbers)
	}
	must(t, w.SetBase(t.Context(), card.ID, plumbers, 0, 4560))
	w.has(t, card.ID, numbered(everywhere(1000).Rules[0], own(4560)))
	must(t, w.bob.SetBase(t.Context(), card.ID, plumbers, 4560, 4800))
	w.has(t, card.ID, numbered(everywhere(1000).Rules[0], own(4800)))
	if now := w.now(t, card.ID); now.RowVersion != card.RowVersion+2 || now.UpdatedBy != bob.Name {
		t.Errorf("got row %+v after two edits", now)
	}

	// Ann has not seen the change, so her edit is rejected.
	err := w.SetBase(t.Context(), card.ID, plumbers, 4560, 5000)
	rejected(t, err, apperr.Conflict, "cell_changed", "48.00 GBP")
	w.has(t, card.ID, numbered(everywhere(1000).Rules[0], own(4800)))

	must(t, w.SetBase(t.Context(), card.ID, plumbers, 4800, 0)) // removes the rule, because it has no other effect
	w.has(t, card.ID, numbered(everywhere(1000).Rules[0]))
	err = w.bob.SetBase(t.Context(), card.ID, plumbers, 4800, 5000)
	rejected(t, err, apperr.Conflict, "cell_changed")
	w.has(t, card.ID, numbered(everywhere(1000).Rules[0]))
	before := w.now(t, card.ID)
	must(t, w.SetBase(t.Context(), card.ID, plumbers, 0, 0))
	if now := w.now(t, card.ID); now.RowVersion != before.RowVersion {
		t.Error("an edit without a change increased the row version")
	}

	edits, newer, older, err := w.Edits(t.Context(), card.ID, firstPage)
	if err != nil || len(edits) != 3 || newer || older || !strings.Contains(edits[2].Summary, "45.60 GBP") ||
		strings.Contains(edits[0].Summary, "GBP") || edits[1].Editor != bob.Name || edits[1].Rules != 1 {
		t.Errorf("got edits %+v (%v)", edits, err)
	}
	w.audited(t, card.ID, "ann@example.com pricing.create", "ann@example.com pricing.edit",
		"bob@example.com pricing.edit", "ann@example.com pricing.edit")
	if after := w.snapshotNumber(t); after != number {
		t.Errorf("editing a draft changed the snapshot number from %d to %d", number, after)
	}
}

// SetBase changes an existing rule and preserves its other effects.
func TestSetBaseChangesExistingRule(t *testing.T) {
	t.Parallel()
	const gbp, eur = money.GBP, money.EUR
	rule := func(base pricingrules.Amounts, multiplier int64) pricingrules.Rule {
		return pricingrules.Rule{Base: base, Multiplier: multiplier, Note: "a note"}.For(plumbers)
	}
	for name, c := range map[string]struct {
		had   []pricingrules.Rule
		minor int64
		want  []pricingrules.Rule
	}{
		"set with another currency":              {[]pricingrules.Rule{rule(pricingrules.Amounts{gbp: 5, eur: 6}, 0)}, 7, []pricingrules.Rule{rule(pricingrules.Amounts{gbp: 7, eur: 6}, 0)}},
		"removed with another currency":          {[]pricingrules.Rule{rule(pricingrules.Amounts{gbp: 5, eur: 6}, 0)}, 0, []pricingrules.Rule{rule(pricingrules.Amounts{eur: 6}, 0)}},
		"removed with a multiplier":              {[]pricingrules.Rule{rule(pricingrules.Amounts{gbp: 5}, 12_000)}, 0, []pricingrules.Rule{rule(pricingrules.Amounts{}, 12_000)}},
		"removed with no other effect":           {[]pricingrules.Rule{rule(pricingrules.Amounts{gbp: 5}, 0)}, 0, nil},
		"added to a multiplier":                  {[]pricingrules.Rule{rule(pricingrules.Amounts{}, 12_000)}, 7, []pricingrules.Rule{rule(pricingrules.Amounts{gbp: 7}, 12_000)}},
		"added to the rule with base prices":     {[]pricingrules.Rule{rule(pricingrules.Amounts{}, 12_000), rule(pricingrules.Amounts{eur: 6}, 0)}, 7, []pricingrules.Rule{rule(pricingrules.Amounts{}, 12_000), rule(pricingrules.Amounts{eur: 6, gbp: 7}, 0)}},
		"replaced in the rule with the currency": {[]pricingrules.Rule{rule(pricingrules.Amounts{eur: 6}, 0), rule(pricingrules.Amounts{gbp: 5}, 12_000)}, 7, []pricingrules.Rule{rule(pricingrules.Amounts{eur: 6}, 0), rule(pricingrules.Amounts{gbp: 7}, 12_000)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRateCards(t, everywhere(1000, c.had...))
			card := w.draft(t)
			var old int64
			for _, rule := range c.had {
				old += rule.Base[gbp]
			}
			must(t, w.SetBase(t.Context(), card.ID, plumbers, old, c.minor))
			w.has(t, card.ID, numbered(everywhere(1000, c.want...).Rules...))
		})
	}
}

func TestSetBaseRejects(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	for name, c := range map[string]struct {
		target       pricingrules.Target
		minor        int64
		reason, name string
	}{
		"unknown market":   {pricingrules.Target{Industry: "plumber", Country: "PL"}, 1, "country", `"PL"`},
		"no country":       {pricingrules.Target{Industry: "plumber"}, 1, "country", ""},
		"unknown industry": {pricingrules.Target{Industry: "plumbr", Country: "GB"}, 1, "industry", `"plumbr"`},
		"unknown category": {pricingrules.Target{Category: "plumber", Country: "GB"}, 1, "rules", `"plumber"`},
		"unknown urgency": {pricingrules.Target{
			Industry: "plumber",
			Country:  "GB",
			Urgency:  "soon",
		}, 1, "urgency", `"soon"`},
		"negative amount":  {plumbers, -1, "amount", ""},
		"amount too large": {plumbers, pricingrules.MaxAmount + 1, "amount", "1000000"},
	} {
		t.Run(name, func(t *testing.T) {
			rejected(t, w.SetBase(t.Context(), card.ID, c.target, 0, c.minor), apperr.Invalid, c.reason, c.name)
			_, err := w.SetBases(t.Context(), card.ID, card.RowVersion, "many", []ratecard.BaseChange{
				{Target: plumbers, Minor: 5},
				{Target: c.target, Minor: c.minor},
			})
			rejected(t, err, apperr.Invalid, c.reason, c.name)
		})
	}
	w.has(t, card.ID, numbered(everywhere(1000).Rules...))
	w.audited(t, card.ID, "ann@example.com pricing.create")
}

// SetBases saves all changes as one edit, or saves nothing.
func TestSetBases(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000, pricingrules.Rule{Base: pricingrules.Amounts{money.GBP: 5}}.For(plumbers)))
	card := w.draft(t)
	french := pricingrules.Target{Category: "home-services", Country: "FR", Urgency: "urgent"}
	changes := []ratecard.BaseChange{{Target: plumbers, Minor: 0}, {Target: french, Minor: 77}}
	_, err := w.SetBases(t.Context(), card.ID, card.RowVersion+1, "too late", changes)
	rejected(t, err, apperr.Conflict, "changed")
	_, err = w.SetBases(t.Context(), card.ID, card.RowVersion, "bad", append(changes, ratecard.BaseChange{
		Target: pricingrules.Target{Industry: "roofer", Country: "GB"},
		Minor:  pricingrules.MaxAmount + 1,
	}))
	rejected(t, err, apperr.Invalid, "amount", "industry: roofer")
	w.has(t, card.ID,
		numbered(everywhere(1000, pricingrules.Rule{Base: pricingrules.Amounts{money.GBP: 5}}.For(plumbers)).Rules...))

	rules, err := w.SetBases(t.Context(), card.ID, card.RowVersion, "Two bases", changes)
	if err != nil || rules != 2 {
		t.Fatalf("got %d changed rules (%v), want 2", rules, err)
	}
	w.has(t, card.ID, map[int]pricingrules.Rule{
		1: {Base: all(1000)},
		3: pricingrules.Rule{Base: pricingrules.Amounts{money.EUR: 77}}.For(french),
	})
	edits, _, _, err := w.Edits(t.Context(), card.ID, firstPage)
	if err != nil || len(edits) != 1 || edits[0].Summary != "Two bases" || edits[0].Rules != 2 {
		t.Errorf("%+v (%v)", edits, err)
	}
	if rules, err := w.SetBases(t.Context(), card.ID, w.now(t, card.ID).RowVersion, "nothing", changes); err != nil || rules != 0 {
		t.Errorf("repeated change: got %d changed rules (%v), want 0", rules, err)
	}
	must(t, w.Undo(t.Context(), card.ID, edits[0].ID))
	w.has(t, card.ID,
		numbered(everywhere(1000, pricingrules.Rule{Base: pricingrules.Amounts{money.GBP: 5}}.For(plumbers)).Rules...))
}

func TestPutAndDropRule(t *testing.T) {
	t.Parallel()
	first := everywhere(1000).Rules[0]
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	double := pricingrules.Rule{Industry: "plumber", Multiplier: 20_000, Note: "twice", Line: 41}
	must(t, w.PutRule(t.Context(), card.ID, card.RowVersion, 0, double))
	double.Line = 0
	w.has(t, card.ID, numbered(first, double))
	rejected(t, w.PutRule(t.Context(), card.ID, card.RowVersion, 0, double), apperr.Conflict, "changed")
	rejected(t, w.DropRule(t.Context(), card.ID, card.RowVersion, 2), apperr.Conflict, "changed")

	version := w.now(t, card.ID).RowVersion
	err := w.PutRule(t.Context(), card.ID, version, 0, pricingrules.Rule{Industry: "plumber", Multiplier: 30_000})
	rejected(t, err, apperr.Invalid, "rules", "industry: plumber", "rule 2")
	for _, wrong := range []pricingrules.Rule{
		{Industry: "plumber"},
		{Industry: "plumber", Category: "home-services", Multiplier: 1},
		{Multiplier: -1},
		{Base: all(-5)},
		{Multiplier: 1, Note: "a\nb"},
	} {
		rejected(t, w.PutRule(t.Context(), card.ID, version, 0, wrong), apperr.Invalid, "rules")
	}
	rejected(t, w.PutRule(t.Context(), card.ID, version, 9, double), apperr.NotFound, "rule")
	rejected(t, w.DropRule(t.Context(), card.ID, version, 9), apperr.NotFound, "rule")
	w.has(t, card.ID, numbered(first, double))

	roofers := pricingrules.Rule{Industry: "roofer", Country: "FR", Exclude: pricingrules.ExcludeTrue}
	must(t, w.PutRule(t.Context(), card.ID, version, 2, roofers))
	w.has(t, card.ID, numbered(first, roofers))
	must(t, w.DropRule(t.Context(), card.ID, version+1, 1))
	w.has(t, card.ID, map[int]pricingrules.Rule{2: roofers}) // a draft can contain cells without a price
	edits, _, _, err := w.Edits(t.Context(), card.ID, firstPage)
	if err != nil || len(edits) != 3 || !strings.Contains(edits[1].Summary, "industry: roofer, country: FR") ||
		!strings.Contains(edits[2].Summary, "industry: plumber") {
		t.Errorf("%+v (%v)", edits, err)
	}
	w.audited(t, card.ID, "ann@example.com pricing.create", "ann@example.com pricing.edit",
		"ann@example.com pricing.edit", "ann@example.com pricing.edit")
}

// Rules that are in both cards keep their positions, which the console uses in URLs.
func TestReplace(t *testing.T) {
	t.Parallel()
	a, b, c := pricingrules.Rule{Industry: "plumber", Multiplier: 11_000}, pricingrules.Rule{Industry: "roofer", Multiplier: 12_000}, pricingrules.Rule{Industry: "locksmith", Multiplier: 13_000}
	w := newRateCards(t, everywhere(1000, a, b))
	card := w.draft(t)
	lined := b
	lined.Line = 7
	rules, err := w.Replace(t.Context(), card.ID, card.RowVersion, "From a file",
		pricingrules.Card{Rules: []pricingrules.Rule{c, lined, everywhere(1000).Rules[0]}})
	if err != nil || rules != 2 {
		t.Fatalf("got %d changed rules (%v), want 2", rules, err)
	}
	w.has(t, card.ID, map[int]pricingrules.Rule{1: {Base: all(1000)}, 3: b, 4: c})
	now := w.now(t, card.ID)
	if rules, err := w.Replace(t.Context(), card.ID, now.RowVersion, "Again", pricingrules.Card{Rules: []pricingrules.Rule{b, c, {Base: all(1000)}}}); err != nil || rules != 0 || w.now(t, card.ID).RowVersion != now.RowVersion {
		t.Errorf("same rules in another order: got %d changed rules (%v), want 0", rules, err)
	}
	_, err = w.Replace(t.Context(), card.ID, card.RowVersion, "Too late", everywhere(5))
	rejected(t, err, apperr.Conflict, "changed")
	_, err = w.Replace(t.Context(), card.ID, now.RowVersion, "Clash", everywhere(5, a, a))
	rejected(t, err, apperr.Invalid, "rules", "industry: plumber")
	edits, _, _, err := w.Edits(t.Context(), card.ID, firstPage)
	must(t, err)
	must(t, w.Undo(t.Context(), card.ID, edits[0].ID))
	w.has(t, card.ID, numbered(everywhere(1000, a, b).Rules...))
}

// Only drafts can be edited. In other states, edits are rejected as a conflict.
func TestOnlyDraftsCanBeEdited(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	for _, state := range []models.RateCardState{
		models.RateCardSubmitted, models.RateCardScheduled, models.RateCardPublished, models.RateCardSuperseded, models.RateCardDiscarded,
	} {
		card := w.draft(t)
		version := "NULL"
		if state == models.RateCardPublished || state == models.RateCardSuperseded {
			version = "2"
		}
		w.Exec(t, `UPDATE rate_cards SET state = $2, effective_at = now(), version = `+version+` WHERE id = $1`, card.ID, state)
		rejected(t, w.SetBase(t.Context(), card.ID, plumbers, 0, 5), apperr.Conflict, "state")
		rejected(t, w.DropRule(t.Context(), card.ID, card.RowVersion, 1), apperr.Conflict, "state")
		rejected(t, w.Undo(t.Context(), card.ID, 1), apperr.Conflict, "state")
		_, err := w.Update(t.Context(), card.ID, card.RowVersion)
		rejected(t, err, apperr.Conflict, "state")
		w.has(t, card.ID, numbered(everywhere(1000).Rules...))
		w.Exec(t,
			`ALTER TABLE rate_cards DISABLE TRIGGER USER; UPDATE rate_cards SET state = 'discarded', version = NULL WHERE version = 2 OR state = 'scheduled'; ALTER TABLE rate_cards ENABLE TRIGGER USER`)
	}
}
