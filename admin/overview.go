package admin

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// span is a time to look back on, in steps.
type span struct {
	name, label, words string
	step               time.Duration
	steps              int
	layout, head       string
}

var ranges = []span{
	{"1h", "1 h", "in the last hour", time.Minute, 60, "15:04", "Minute (UTC)"},
	{"24h", "24 h", "in the last 24 hours", time.Hour, 24, "15:04", "Hour (UTC)"},
	{"7d", "7 d", "in the last 7 days", 6 * time.Hour, 28, "2 Jan 15:04", "6 hours from (UTC)"},
	{"30d", "30 d", "in the last 30 days", 24 * time.Hour, 30, "2 Jan", "Day (UTC)"},
}

// chosenRange is the range that the address names, as one of the links to all.
func (k *call) chosenRange(path string) (r span, links []templates.Tab) {
	chosen := 1
	for i, one := range ranges {
		if k.r.URL.Query().Get("range") == one.name {
			chosen = i
		}
	}
	for i, one := range ranges {
		links = append(links, templates.Tab{Label: one.label, URL: path + "range=" + one.name, Current: i == chosen})
	}
	return ranges[chosen], links
}

func (k *call) overview() error {
	r, links := k.chosenRange("/?")
	v := templates.OverviewView{Shell: k.shell("Overview"), RangeWords: r.words, StepHead: r.head, Ranges: links}
	f, err := k.Reporting.Read(k.r.Context(), k.scope, reporting.Last(k.now, r.step, r.steps))
	if err != nil {
		k.Log.Error("the figures of the overview could not be read", "request_id", k.by.RequestID, "error", postgres.Translate(err).Error())
		v.Failed, v.RetryURL = "The figures could not be read just now.", k.r.URL.RequestURI()
		return k.show(http.StatusServiceUnavailable, templates.Overview(v))
	}
	for _, s := range f.Steps {
		v.Traffic = append(v.Traffic, templates.TrafficStep{Label: s.At.Format(r.layout), Pings: s.Pings, Posts: s.Posts})
	}
	v.Tiles = tiles(f)
	for _, one := range f.Refusals {
		v.Refusals = append(v.Refusals, templates.Bar{Label: refusalWords(one), Count: one.Count})
	}
	for _, p := range f.Payouts {
		v.Payouts = append(v.Payouts, templates.PayoutRow{Payout: p.Amount, Leads: p.Leads})
	}
	if v.Needs, err = k.needs(); err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.Overview(v))
}

// needs is what waits for a person.
func (k *call) needs() ([]templates.Need, error) {
	partners, err := k.partnersNeed()
	if err != nil {
		return nil, err
	}
	pricing, err := k.pricingNeeds()
	if err != nil {
		return nil, err
	}
	payouts, err := k.payoutsNeed()
	return slices.Concat(partners, pricing, payouts), err
}

// failedFor is how long work that failed is told of.
const failedFor = 24 * time.Hour

// payoutsNeed is what waits for a decision of this person, and what failed.
func (k *call) payoutsNeed() (all []templates.Need, err error) {
	ctx := k.r.Context()
	if sc, ok := k.access.Scope(k.session.Staff.ID, approvePayouts); ok {
		open, err := k.Payouts.OpenReturns(ctx, sc)
		if err != nil {
			return nil, err
		}
		if open > 0 {
			all = append(all, templates.Need{Text: countWords(open, false, "return waits", "returns wait") + " for a decision", URL: "/payouts/returns?state=open", Detail: "Until then the ledger stays as it is."})
		}
		runs, err := k.Payouts.WaitingRuns(ctx, sc, k.by)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			all = append(all, templates.Need{Text: "A payout run in " + r.Currency + " waits for approval", URL: runURL(r.ID), Detail: r.Preparer + " prepared it."})
		}
	}
	if sc, ok := k.access.Scope(k.session.Staff.ID, readPayouts); ok {
		failed, err := k.Jobs.FailedSince(ctx, sc, k.session.Staff.ID, k.now.Add(-failedFor))
		if err != nil {
			return nil, err
		}
		if failed > 0 {
			all = append(all, templates.Need{Text: countWords(failed, false, "piece of long work", "pieces of long work") + " failed", URL: "/work", Detail: "In the last 24 hours."})
		}
	}
	return all, nil
}

// proposalsListed is how many partners' proposed prices the overview lists.
const proposalsListed = 20

// pricingNeeds are the drafts and the proposed partner prices that this user may approve.
func (k *call) pricingNeeds() (all []templates.Need, err error) {
	if !k.may(publishPricing) {
		return nil, nil
	}
	drafts, err := k.Prices.Drafts(k.r.Context())
	if err != nil {
		return nil, err
	}
	for _, d := range drafts {
		if d.State == models.RateCardSubmitted && d.Submitter != k.by.Name {
			all = append(all, templates.Need{Text: draftName(d.RateCard) + " waits for approval", URL: draftURL(d.ID) + "?tab=publish", Detail: d.Submitter + " submitted these prices."})
		}
	}
	sc, _ := k.access.Scope(k.session.Staff.ID, publishPricing)
	proposed, err := k.Partners.PriceProposals(k.r.Context(), sc, k.session.Staff.ID, proposalsListed)
	for _, p := range proposed {
		all = append(all, templates.Need{Text: "Price change for " + p.Name + " needs approval", URL: partnerURL(p.ID) + "?tab=prices", Detail: "The current prices apply until it is approved."})
	}
	return all, err
}

// partnersNeed is what waits for a person at the partners that this one looks after.
func (k *call) partnersNeed() (all []templates.Need, err error) {
	sc, ok := k.access.Scope(k.session.Staff.ID, readPartners)
	if !ok {
		return nil, nil
	}
	ctx := k.r.Context()
	pending, err := k.Partners.Pending(ctx, sc)
	if err != nil {
		return nil, err
	}
	if pending > 0 {
		all = append(all, templates.Need{Text: countWords(pending, false, "partner waits", "partners wait") + " for approval", URL: "/partners?status=pending", Detail: "Until then they get no price."})
	}
	ending, err := k.Partners.EndingBefore(ctx, sc, k.now.Add(7*24*time.Hour))
	if err != nil {
		return nil, err
	}
	for _, e := range ending {
		all = append(all, templates.Need{Text: e.Name + ": every secret ends", URL: partnerURL(e.Partner) + "?tab=secrets", Detail: "The last one at " + minute(e.Ends) + "; then its signed posts are refused."})
	}
	unsigned, err := k.Reporting.MostUnsigned(ctx, sc, k.DefaultSigning, k.now.Add(-24*time.Hour), 5)
	if err != nil {
		return nil, err
	}
	for _, u := range unsigned {
		all = append(all, templates.Need{Text: u.Name + ": " + countWords(u.Leads, false, "unsigned lead", "unsigned leads"), URL: partnerURL(u.Partner) + "?tab=signing", Detail: "In the last 24 hours."})
	}
	return all, nil
}

func tiles(f reporting.Figures) []templates.StatTile {
	rejected := map[string]int64{}
	for _, r := range f.Refusals {
		rejected[r.Endpoint] += r.Count
	}
	return []templates.StatTile{
		pingsTile(f.Pings, rejected["ping"]), acceptedTile(f.Priced, f.Pings, "#traffic"), postsTile(f.Posts, f.Replayed, rejected["post"]),
		{Label: "Leads", Value: templates.Number(f.Delivered), URL: "#payouts"},
	}
}

func pingsTile(all, rejected int64) templates.StatTile {
	return templates.StatTile{Label: "Pings", Value: templates.Number(all), Note: "including " + templates.Number(rejected) + " rejected", URL: "#traffic"}
}

func acceptedTile(priced, pings int64, url string) templates.StatTile {
	return templates.StatTile{Label: "Accepted", Value: share(priced, pings), Note: "of " + countWords(pings, false, "ping", "pings") + ", including rejected", URL: url}
}

func postsTile(all, retries, rejected int64) templates.StatTile {
	note := "including " + countWords(retries, false, "retry", "retries") + " and " + templates.Number(rejected) + " rejected"
	return templates.StatTile{Label: "Posts", Value: templates.Number(all), Note: note, URL: "#traffic"}
}

func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
