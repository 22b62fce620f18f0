package admin

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/figures"
	"github.com/pingpost/pingpost/internal/store"
	"github.com/pingpost/pingpost/templates"
)

// ranges are what the overview may look back on.
var ranges = []struct {
	name, label, words string
	step               time.Duration
	steps              int
	layout, head       string
}{
	{"1h", "1 h", "in the last hour", time.Minute, 60, "15:04", "Minute (UTC)"},
	{"24h", "24 h", "in the last 24 hours", time.Hour, 24, "15:04", "Hour (UTC)"},
	{"7d", "7 d", "in the last 7 days", 6 * time.Hour, 28, "2 Jan 15:04", "6 hours from (UTC)"},
	{"30d", "30 d", "in the last 30 days", 24 * time.Hour, 30, "2 Jan", "Day (UTC)"},
}

func (k *call) overview() error {
	chosen := 1
	for i, r := range ranges {
		if k.r.URL.Query().Get("range") == r.name {
			chosen = i
		}
	}
	r := ranges[chosen]
	v := templates.OverviewView{Shell: k.shell("Overview"), RangeWords: r.words, StepHead: r.head}
	for i, one := range ranges {
		v.Ranges = append(v.Ranges, templates.Tab{Label: one.label, URL: "/?range=" + one.name, Current: i == chosen})
	}
	f, err := k.Figures(k.r.Context(), k.scope, figures.Last(k.now, r.step, r.steps))
	if err != nil {
		k.Log.Error("the figures of the overview could not be read", "request_id", k.by.RequestID, "error", store.Translate(err).Error())
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
	return k.show(http.StatusOK, templates.Overview(v))
}

func tiles(f figures.Figures) []templates.StatTile {
	share := "–"
	if f.Pings > 0 {
		share = fmt.Sprintf("%.1f %%", 100*float64(f.Priced)/float64(f.Pings))
	}
	return []templates.StatTile{
		{Label: "Pings", Value: templates.Number(f.Pings), URL: "#traffic"},
		{Label: "Accepted", Value: share, Note: "of the pings got a price", URL: "#traffic"},
		{Label: "Posts", Value: templates.Number(f.Posts), URL: "#traffic"},
		{Label: "Leads", Value: templates.Number(f.Delivered), URL: "#payouts"},
	}
}

// reasons say in words why a request was refused, by the counters' names for it.
var reasons = map[string]string{
	"json": "no valid JSON", "payload": "a field is missing or wrong", "quote_owner": "the quote is another partner's", "transaction_format": "no transactionId of ours",
	"expired": "the quote had expired", "delivered": "the transaction was delivered", "inactive": "the partner is not active", "signature": "wrong signature",
	"signature_missing": "no signature", "timestamp_format": "the timestamp is no number", "timestamp_missing": "no timestamp", "timestamp_window": "the timestamp is too far off",
	"too_many": "too many requests", "unknown_partner": "unknown base URL", "busy": "too many posts at once", "storing": "the database did not take it", "no_key_wrapper": "no lead key is configured",
}

// refusalWords says where and why.
func refusalWords(r figures.Refusal) string {
	words, known := reasons[r.Reason]
	if !known {
		words = strings.ReplaceAll(r.Reason, "_", " ")
	}
	return title(r.Endpoint) + ": " + words
}
