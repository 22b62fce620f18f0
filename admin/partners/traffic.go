package partners

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/admin/web/outcomes"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) trafficTab(k *web.Request, p models.Partner) error {
	r, within, period := k.SelectedRange(web.PartnerURL(p.ID) + "?tab=traffic&")
	head, err := h.head(k, p, "traffic")
	if err != nil {
		return err
	}
	v := view.PartnerTrafficView{Head: head, Period: period}
	f, err := h.Reporting.Partner(k.R.Context(), k.Scope, p.ID, within)
	if err == nil {
		v.SubIDs, err = h.subIDs(k, p, within)
	}
	if errors.Is(err, context.Canceled) { // the user left the page
		return err
	}
	if err != nil {
		h.Log.Error("cannot read a partner's traffic", "request_id", k.By.RequestID, "error",
			postgres.Translate(err).Error())
		v.Failed, v.RetryURL = "The partner's traffic could not be loaded.", k.R.URL.RequestURI()
		return k.Show(http.StatusServiceUnavailable, view.PartnerTraffic(v))
	}
	for _, s := range f.Steps {
		v.Traffic = append(v.Traffic, ui.TrafficStep{Label: r.StepLabel(s.At), Pings: s.Pings, Posts: s.Posts})
	}
	v.Outcomes = outcomeRows(f.Outcomes, head.URL)
	if len(f.Days) > 1 {
		v.Days = h.dayRows(k, p, f.Days)
	}
	for _, l := range f.Latency {
		v.Latency = append(v.Latency, view.LatencyRow{
			Endpoint: ui.Sentence(l.Endpoint),
			Count:    l.Count,
			P50:      atMost(l.P50),
			P95:      atMost(l.P95),
			P99:      atMost(l.P99),
		})
	}
	v.Tiles = partnerTiles(f.Outcomes)
	return k.Show(http.StatusOK, view.PartnerTraffic(v))
}

// subIDs returns the partner's leads by subId. It returns nil if the user may not see leads or payouts, or
// if there are no leads with a subId.
func (h *Handlers) subIDs(k *web.Request, p models.Partner, within reporting.Range) (*view.SubIDs, error) {
	if !k.MayAt(web.ReadLeads, p.ID) || !k.MayAt(web.ReadPayouts, p.ID) {
		return nil, nil
	}
	report, err := h.Reporting.SubIDs(k.R.Context(), k.Scope, p.ID, within)
	if err != nil || len(report.Rows) == 0 && !report.TooMany {
		return nil, err
	}
	v := &view.SubIDs{More: report.More, TooMany: report.TooMany}
	for _, f := range report.Rows {
		leads := url.Values{"partner": {p.Slug}}
		if k.CheckErasable() == nil {
			leads.Set("sub_id", f.SubID)
		}
		v.Rows = append(v.Rows, view.SubIDRow{
			SubID:      k.Erasable(f.SubID),
			URL:        "/leads?" + leads.Encode(),
			Leads:      f.Leads,
			Returns:    f.Returns,
			ReturnRate: ui.Share(f.Returns, f.Leads),
			Payout:     f.Payout,
		})
	}
	return v, nil
}

// dayRows returns the traffic by day, with links to the traffic and the leads of each day.
func (h *Handlers) dayRows(k *web.Request, p models.Partner, days []reporting.Day) (rows []view.DayRow) {
	for _, d := range days {
		date := d.Day.Format(time.DateOnly)
		on := url.Values{"from": {date}, "to": {date}}.Encode()
		row := view.DayRow{Date: date, URL: web.PartnerURL(p.ID) + "?tab=traffic&" + on, Day: d}
		if d.Delivered > 0 && k.MayAt(web.ReadLeads, p.ID) {
			row.LeadsURL = "/leads?partner=" + p.Slug + "&" + on
		}
		rows = append(rows, row)
	}
	return rows
}

// atMost formats a percentile as an upper bound, such as "≤ 10 ms". The exact value is not known,
// because durations are counted in buckets.
func atMost(d time.Duration) string {
	if d == reporting.Beyond {
		return "> 1 s"
	}
	return "≤ " + strings.Replace(ui.DurationText(d), ".0 ", " ", 1)
}

func outcomeRows(all []reporting.Outcome, partner string) (rows []view.OutcomeRow) {
	total := map[string]int64{}
	for _, o := range all {
		total[o.Endpoint] += o.Count
	}
	for _, o := range all {
		words, kind, rejected := outcomes.Label(o.Outcome)
		row := view.OutcomeRow{
			Endpoint: ui.Sentence(o.Endpoint),
			Outcome:  ui.Sentence(words),
			Kind:     kind,
			Count:    o.Count,
			Share:    ui.Share(o.Count, total[o.Endpoint]),
		}
		if rejected {
			row.URL = partner + "?tab=requests&outcome=" + url.QueryEscape(o.Outcome)
		}
		rows = append(rows, row)
	}
	return rows
}

func partnerTiles(all []reporting.Outcome) []ui.StatTile {
	var priced, leads, retries int64
	total, rejected := map[string]int64{}, map[string]int64{}
	for _, o := range all {
		total[o.Endpoint] += o.Count
		_, _, bad := outcomes.Label(o.Outcome)
		switch {
		case bad:
			rejected[o.Endpoint] += o.Count
		case o.Outcome == "priced":
			priced += o.Count
		case strings.HasPrefix(o.Outcome, string(models.OutcomeDelivered)):
			leads += o.Count
		case strings.HasPrefix(o.Outcome, string(models.OutcomeReplayed)):
			retries += o.Count
		}
	}
	return []ui.StatTile{
		ui.PingsTile(total["ping"], rejected["ping"]),
		ui.AcceptedTile(priced, total["ping"]),
		ui.PostsTile(total["post"], retries, rejected["post"]),
		{Name: "leads", Label: "Leads", Value: ui.Number(leads), Note: "including sandbox leads"},
		{Label: "Rejected", Value: ui.Number(rejected["ping"] + rejected["post"]), URL: "?tab=requests"},
	}
}
