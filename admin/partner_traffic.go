package admin

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) trafficTab(p models.Partner) error {
	head, err := k.head(p, "traffic")
	if err != nil {
		return err
	}
	r, links := k.chosenRange(head.URL + "?tab=traffic&")
	v := templates.PartnerTrafficView{Head: head, Ranges: links, Words: r.words, StepHead: r.head}
	f, err := k.Reporting.Partner(k.r.Context(), k.scope, p.ID, reporting.Last(k.now, r.step, r.steps))
	if err != nil {
		k.Log.Error("a partner's traffic could not be read", "request_id", k.by.RequestID, "error", postgres.Translate(err).Error())
		v.Failed, v.RetryURL = "The figures could not be read just now.", k.r.URL.RequestURI()
		return k.show(http.StatusServiceUnavailable, templates.PartnerTraffic(v))
	}
	for _, s := range f.Steps {
		v.Traffic = append(v.Traffic, templates.TrafficStep{Label: s.At.Format(r.layout), Pings: s.Pings, Posts: s.Posts})
	}
	v.Outcomes = outcomeRows(f.Outcomes, head.URL)
	for _, l := range f.Latency {
		v.Latency = append(v.Latency, templates.LatencyRow{Endpoint: title(l.Endpoint), Count: l.Count, P50: atMost(l.P50), P95: atMost(l.P95), P99: atMost(l.P99)})
	}
	v.Tiles = partnerTiles(f.Outcomes)
	return k.show(http.StatusOK, templates.PartnerTraffic(v))
}

// atMost is a percentile in words: it is known as the upper bound of a bucket.
func atMost(d time.Duration) string {
	if d == reporting.Beyond {
		return "> 1 s"
	}
	return "≤ " + templates.Took(d)
}

func outcomeRows(all []reporting.Outcome, partner string) (rows []templates.OutcomeRow) {
	total := map[string]int64{}
	for _, o := range all {
		total[o.Endpoint] += o.Count
	}
	for _, o := range all {
		words, kind, refused := outcomeWords(o.Outcome)
		row := templates.OutcomeRow{
			Endpoint: title(o.Endpoint), Outcome: title(words), Kind: kind, Count: o.Count, Share: share(o.Count, total[o.Endpoint]),
		}
		if refused {
			row.URL = partner + "?tab=refusals&outcome=" + url.QueryEscape(o.Outcome)
		}
		rows = append(rows, row)
	}
	return rows
}

func partnerTiles(all []reporting.Outcome) []templates.StatTile {
	var priced, leads, retries int64
	total, rejected := map[string]int64{}, map[string]int64{}
	for _, o := range all {
		total[o.Endpoint] += o.Count
		_, _, bad := outcomeWords(o.Outcome)
		switch {
		case bad:
			rejected[o.Endpoint] += o.Count
		case o.Outcome == "priced":
			priced += o.Count
		case strings.HasPrefix(o.Outcome, models.OutcomeDelivered):
			leads += o.Count
		case strings.HasPrefix(o.Outcome, models.OutcomeReplayed):
			retries += o.Count
		}
	}
	return []templates.StatTile{
		pingsTile(total["ping"], rejected["ping"]), acceptedTile(priced, total["ping"], "#outcomes"), postsTile(total["post"], retries, rejected["post"]),
		{Label: "Leads", Value: templates.Number(leads), Note: "sandbox included", URL: "#outcomes"},
		{Label: "Rejected", Value: templates.Number(rejected["ping"] + rejected["post"]), URL: "?tab=refusals"},
	}
}

func (k *call) refusalsTab(p models.Partner) error {
	head, err := k.head(p, "refusals")
	if err != nil {
		return err
	}
	q := k.r.URL.Query()
	v := templates.PartnerRefusalsView{
		Head: head, Request: short(q.Get("request")), Outcomes: chosen(refusalOptions(slices.Sorted(maps.Keys(reasons))), q.Get("outcome")),
		State: templates.ListState{Filtered: filtered(q, "request", "outcome"), ClearURL: head.URL + "?tab=refusals"},
		Kept:  "the newest " + templates.Number(int64(k.RefusalsKept)) + " are kept",
	}
	if head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	f := reporting.RefusalFilter{Partner: p.ID, Outcome: typed(q, "outcome")}
	if text := strings.TrimSpace(q.Get("request")); text != "" {
		if f.Request, err = id.Parse(id.Request, text); err != nil {
			f.Request = uuid.Max // what is no id is nobody's
		}
	}
	found, err := k.Reporting.Refusals(k.r.Context(), k.scope, f, pageByKey(q))
	if err != nil {
		return err
	}
	for _, r := range found.Refusals {
		v.Refusals = append(v.Refusals, templates.RefusalRow{
			At: r.At, Endpoint: title(r.Endpoint), Outcome: title(reasonWords(r.Outcome)), Mend: reasons[r.Outcome].mend, Fields: r.Fields, RequestID: id.Format(id.Request, r.RequestID),
		})
	}
	if n := len(found.Refusals); n > 0 {
		v.Pager = pagerByKey(head.URL, q, found.Newer, found.Older, found.Refusals[0].ID, found.Refusals[n-1].ID)
	}
	return k.show(http.StatusOK, templates.PartnerRefusals(v))
}
