package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

func business() *dashboard.DashboardBuilder {
	return newDashboard("business", "business", "What do partners send, and what does the platform pay?").
		WithRow(row("Pings and posts")).
		WithPanel(graph("Pings by outcome", units.RequestsPerSecond, noLimits,
			"Pings per second. All nodes together. `priced` pings got a price. `excluded`, `capped` and `paused` "+
				"pings were declined. Good: the usual share of each outcome.",
			query{"{{outcome}}", `sum by (outcome) (pingpost:requests:rate5m{route="ping"})`}).
			NoValue("No partner has sent a ping").
			Span(half)).
		WithPanel(graph("Posts by outcome", units.RequestsPerSecond, noLimits,
			"Posts per second. All nodes together. `delivered` posts are new leads. `replayed` posts were delivered "+
				"before. Good: few other outcomes, because those are rejections.",
			query{"{{outcome}}", `sum by (outcome) (pingpost:requests:rate5m{route="post"})`}).
			NoValue("No partner has sent a post").
			Span(half)).
		WithPanel(graph("Share of pings with a price", units.PercentUnit, noLimits,
			"Good: steady. If it falls, look for exclusions, daily caps and paused partners.",
			query{"priced", `sum(pingpost:requests:rate5m{route="ping", outcome="priced"}) ` +
				`/ sum(pingpost:requests:rate5m{route="ping"})`}).
			NoValue("No ping has got a price")).
		WithPanel(graph("Leads per price", units.PercentUnit, noLimits,
			"Delivered leads divided by pings with a price. Sandbox leads are included. Good: steady. If it falls, "+
				"prices may be too low, or posts are rejected.",
			query{"delivered", `sum(pingpost:requests:rate5m{route="post", outcome=~"delivered.*"}) ` +
				`/ sum(pingpost:requests:rate5m{route="ping", outcome="priced"})`}).
			NoValue("No lead has been delivered")).
		WithPanel(graph("Rejections by reason", units.RequestsPerSecond, noLimits,
			"Pings and posts with a 4xx status per second. All nodes together. Good: a small, steady share. If one "+
				"grows, find the partner in the console.",
			query{"{{route}} {{outcome}}",
				`sum by (route, outcome) (pingpost:requests:rate5m{route=~"ping|post", status=~"4.."})`}).
			NoValue("No request has been rejected")).
		WithRow(row("Leads, payouts and prices")).
		WithPanel(graph("Leads by currency", units.Short, noLimits,
			"Leads in the hour before each point, without sandbox leads. Good: as usual at this time."+
				see("PingpostNoLeads"),
			query{"{{currency}}", `sum by (currency) (increase(pingpost_leads_stored_total{NODES}[1h]))`}).
			NoValue("No lead since the nodes started").
			Span(quarter)).
		WithPanel(payouts().Span(quarter)).
		WithPanel(graph("Average payout", units.Short, noLimits,
			"Average payout of the leads in the hour before each point, in each currency. Good: steady, except after "+
				"a change of prices.",
			query{"{{currency}}",
				`sum by (currency) (increase(pingpost_leads_payout_minor_units_total{NODES}[1h])) / 100 ` +
					`/ sum by (currency) (increase(pingpost_leads_stored_total{NODES}[1h]))`}).
			Decimals(2).
			NoValue("No lead since the nodes started").
			Span(quarter)).
		WithPanel(graph("Version of the rate card", units.NoUnit, noLimits,
			"Good: the same on all nodes a second after a rate card is published. At 0, a node has no prices."+
				see("PingpostNodeNotReady"),
			query{"{{instance}}", `pingpost_rate_card_version{NODES}`}).
			Span(quarter))
}

// payouts returns a graph of the payouts in an hour. All currencies have two decimals.
func payouts() *timeseries.PanelBuilder {
	return graph("Payouts by currency", units.Short, noLimits,
		"Payouts of the leads in the hour before each point, without sandbox leads. Good: as usual at this time."+
			see("PingpostNoLeads"),
		query{"{{currency}}",
			`sum by (currency) (increase(pingpost_leads_payout_minor_units_total{NODES}[1h])) / 100`}).
		Decimals(2).
		NoValue("No lead since the nodes started")
}
