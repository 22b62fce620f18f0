package templates_test

import (
	"time"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	partnersview "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func partnerPrices() map[string]templ.Component {
	view := partnersview.PartnerPricesView{
		Head:       head("Prices"),
		Adjustment: "+5.25",
		Cap:        "400",
		Exclusions: "industry: roofer, country: DE\ncategory: legal-services",
		LeadsToday: 1204,
		Capped:     true,
		Changed:    ago(9 * 24 * time.Hour),
		Version:    3,
		StepUp:     asked,
		Submit:     "Save pricing",
		Example: &partnersview.PartnerPriceExample{
			Card: ui.Link{Label: "version 7", URL: "/pricing/versions/7"},
			Explanation: ratecard.Explanation{Explanation: pricingrules.Explanation{
				Industry: pricingrules.Industry{Slug: "plumber"},
				Market:   pricingrules.Market{Code: "GB"},
				Cell:     pricingrules.Cell{Minor: 4799, Currency: money.GBP},
				Steps: []pricingrules.Step{
					{Name: "base", Effect: "45.6", Value: "45.6", Selector: "industry: plumber, country: GB", Note: "Higher demand in the UK"},
					{Name: "partner's adjustment", Effect: "+5.25%", Value: "47.994", Rule: -1},
					{Name: "rounding", Effect: "half to even", Value: "47.99", Rule: -1},
				},
			}},
		},
	}
	none, conflict, watcher, unread := view, view, view, view
	none.Adjustment, none.Cap, none.Exclusions, none.LeadsToday, none.Capped, none.Changed, none.StepUp = "", "", "", 0, false, time.Time{}, ui.StepUp{}
	conflict.Conflict = &ui.Conflict{
		Actor: "Mary Somerville",
		At:    ago(20 * time.Second),
		Changes: []ui.Change{
			{Name: "adjustment", Before: "+5.25%", After: "-2.5%"},
			{Name: "daily lead cap", After: "400"},
		},
	}
	conflict.Errors = ui.Errors{
		{Field: "adjustment", Message: `The adjustment "+901" is not between -90% and +900%.`},
		{Field: "cap", Message: "Enter the daily cap as a whole number from 1 to 10 million, or leave it empty for no cap."},
		{Field: "exclusions", Message: `Line 2 of the exclusions: industry "roofers" is not in the taxonomy.`},
		{Field: "exclusions", Message: `Line 7 of the exclusions: country "France" is not two letters, such as FR.`},
	}
	watcher.Head, watcher.Locked, watcher.Example = readOnly("Prices"), "You have read-only access to this partner's pricing.", nil
	unread.Unread, unread.Exclusions = true, ""
	hidden := partnersview.PartnerPricesView{
		Head:   readOnly("Prices"),
		Hidden: "Your roles do not include access to prices. Ask an administrator for access.",
	}
	proposed, own := view, view
	proposed.Locked = "A proposed change is waiting for approval. It must be approved or withdrawn before the pricing can be changed again."
	proposed.Proposal = &partnersview.PriceProposal{
		ID:          "019b7ca9-8f2e-716e-a61b-6fb0ac79f23e",
		Proposer:    "mary@example.com",
		At:          ago(2 * time.Hour),
		MayApprove:  true,
		MayWithdraw: true,
		Changes: []ui.Change{
			{Name: "Adjustment", Before: "+5.25%", After: "-2.5%"},
			{Name: "Daily lead cap", Before: "400"},
		},
	}
	stale := *proposed.Proposal
	stale.Own, stale.Stale, stale.MayApprove = true, true, false
	own.Locked, own.Proposal = proposed.Locked, &stale
	return map[string]templ.Component{
		"partner-prices-proposed": partnersview.PartnerPrices(proposed),
		"partner-prices-stale":    partnersview.PartnerPrices(own),
		"partner-prices":          partnersview.PartnerPrices(view),
		"partner-prices-none":     partnersview.PartnerPrices(none),
		"partner-prices-conflict": partnersview.PartnerPrices(conflict),
		"partner-prices-locked":   partnersview.PartnerPrices(watcher),
		"partner-prices-unread":   partnersview.PartnerPrices(unread),
		"partner-prices-hidden":   partnersview.PartnerPrices(hidden),
	}
}
