package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// overview is for the person on call.
func overview() *dashboard.DashboardBuilder {
	return newDashboard("overview", "overview", "Can partners get prices and deliver leads?").
		WithRow(row("State")).
		WithPanel(number("Nodes ready for posts", units.Short, atLeast(1),
			"Nodes that pass all checks and can store leads. Good: all nodes that serve the partner API. "+
				"At 0, no partner can deliver a lead."+see("PingpostNoNodeReady"),
			query{"",
				`sum(min by (instance) (pingpost_ready{NODES}) and on (instance) pingpost_ready{NODES, check="storing"})`}).
			NoValue("No node is scraped")).
		WithPanel(number("Nodes down", units.Short, below(1),
			"Nodes that Prometheus cannot scrape. Good: 0."+see("PingpostNodeDown"),
			query{"", `sum(up{NODES} == bool 0)`}).
			NoValue("Prometheus has no targets")).
		WithPanel(number("Alerts that fire", units.Short, below(1),
			"Good: 0. The table below lists them.",
			query{"", `count(ALERTS{alertname=~"Pingpost.+", alertstate="firing"}) or vector(0)`})).
		WithPanel(number("Failed posts", units.PercentUnit, below(0.02),
			"Share of the posts that got a 5xx status in the last 5 minutes. Good: 0. Above 2%, an alert fires. "+
				"All nodes together."+see("PingpostPostsFailing"),
			// Without posts, the share is not a number.
			query{"", `pingpost:request_errors:ratio_rate5m{route="post"} >= 0`}).
			NoValue("No post has failed")).
		WithPanel(number("Leads in the last hour", units.Short, noLimits,
			"Leads that all nodes stored in the last hour, without sandbox leads. Good: close to the same hour a week "+
				"ago, which is in a graph below."+
				see("PingpostNoLeads"),
			query{"", `pingpost:leads:increase1h`})).
		WithPanel(number("Time since the last lead", units.Seconds, noLimits,
			"Good: as usual at this time. If it grows although pings arrive, look at failed posts and at posts that "+
				"wait."+
				see("PingpostNoLeads"),
			query{"", `time() - max(pingpost_lead_stored_timestamp_seconds{NODES} > 0)`}).
			NoValue("No lead since the nodes started")).
		WithPanel(list("Checks that fail", "All checks pass",
			"Checks of /readyz that fail, with their reasons. Good: none. The reason `unknown` means that a check has "+
				"no result, usually because the database does not respond."+
				see("PingpostNodeNotReady", "PingpostNoNodeReady"),
			`max by (instance, check, reason) (pingpost_check_failing{NODES}) == 1`)).
		WithPanel(list("Alerts", "No alert fires",
			"Alerts that fire or are about to. Good: none. Click a name to open its runbook. The severity `page` "+
				"needs someone now. The severity `ticket` can wait until morning.",
			`max by (alertname, alertstate, severity, instance) (ALERTS{alertname=~"Pingpost.+"})`).
			OverrideByName("alertname", []dashboard.DynamicConfigValue{{Id: "links", Value: []map[string]any{{
				"title": "Open the runbook", "url": runbooks + "${__value.text}.md", "targetBlank": true,
			}}}})).
		WithPanel(list("Versions", "No node is scraped",
			"Good: one version, except during an upgrade."+see("PingpostVersionsDiffer"),
			`max by (instance, version, revision, schema) (pingpost_build_info{NODES})`)).
		WithRow(row("Requests")).
		WithPanel(graph("Requests", units.RequestsPerSecond, noLimits,
			"Pings and posts per second by status. All nodes together. Good: the usual shape of the day, and hardly "+
				"any 5xx. The business dashboard shows the reasons of rejections.",
			query{"{{route}} {{status}}", `sum by (route, status) (pingpost:requests:rate5m{route=~"ping|post"})`}).
			NoValue("No partner has sent a request")).
		WithPanel(graph("Failed requests", units.PercentUnit, below(0.01),
			"Share of requests that got a 5xx status. Good: 0. Alerts fire at 1% of the pings, 2% of the posts and 5% "+
				"of the console's pages. All nodes together."+
				see("PingpostPostsFailing", "PingpostPingsFailing", "PingpostConsoleFailing"),
			query{"{{route}}", `pingpost:request_errors:ratio_rate5m{route=~"ping|post"}`},
			query{"console", `sum(rate(pingpost_console_requests_total{job="$job", status=~"5.."}[5m])) ` +
				`/ sum(rate(pingpost_console_requests_total{job="$job"}[5m]))`}).
			NoValue("No request has failed")).
		WithPanel(graph("Posts that wait for a slot", units.Short, below(1),
			"Good: 0, or a short peak. If posts wait for minutes, the database is too slow, or "+
				"`limits.post_concurrency` is too low."+
				see("PingpostPostsWaiting"),
			query{"{{instance}}, signed {{signed}}",
				`pingpost_posts_waiting{NODES}`})).
		WithPanel(latency("ping", 0.05,
			"Pings need no database. If they are slow, look at the processor.", "PingpostPingsSlow")).
		WithPanel(latency("post", 1,
			"If posts are slow, look at slots, database connections and data keys.", "PingpostPostsSlow")).
		WithRow(row("Leads")).
		WithPanel(graph("Leads in an hour", units.Short, noLimits,
			"Leads in the hour before each point. All nodes together. Good: close to the same hour a week ago."+
				see("PingpostNoLeads"),
			query{"this week", `pingpost:leads:increase1h`},
			query{"a week ago", `pingpost:leads:increase1h offset 1w`}).
			Span(half)).
		WithPanel(payouts().Span(half)).
		WithRow(row("Saturation")).
		WithPanel(graph("Post slots in use", units.PercentUnit, below(0.8),
			"Share of the slots for posts that are in use. Good: below 80%. At 100%, posts wait."+
				see("PingpostPostsWaiting"),
			query{"{{instance}}, signed {{signed}}", `pingpost_post_slots_used{NODES} / (pingpost_post_slots{NODES} > 0)`}).
			NoValue("Posts have no limit (limits.post_concurrency is 0)").
			Span(quarter)).
		WithPanel(graph("Database connections in use", units.PercentUnit, below(0.8),
			"Share of the connections in the pool that are in use. Good: below 80%. The database dashboard shows what "+
				"waits."+
				see("PingpostPostsSlow"),
			query{"{{instance}}",
				`pingpost_database_connections_busy{NODES} / pingpost_database_connections_max{NODES}`}).
			Span(quarter)).
		WithPanel(graph("Processor", units.PercentUnit, below(0.8),
			"Share of the processors that the node can use. Good: below 80%, so that the other nodes can take over."+
				see("PingpostPingsSlow"),
			query{"{{instance}}",
				`rate(process_cpu_seconds_total{NODES}[$__rate_interval]) / go_sched_gomaxprocs_threads{NODES}`}).
			Span(quarter)).
		WithPanel(graph("Memory", units.BytesIEC, noLimits,
			"Memory that the node uses. Good: steady after an hour. If it grows for days, take a [heap profile]("+
				"https://github.com/pingpost/pingpost/blob/main/docs/how-to/monitor.md#profiles).",
			query{"{{instance}}", `process_resident_memory_bytes{NODES}`}).
			Span(quarter))
}

// latency returns a graph of a route's latency. Its objective is also the limit of the alert.
func latency(route string, objective float64, cause, alert string) *timeseries.PanelBuilder {
	return graph("Latency of "+route+"s", units.Seconds, below(objective),
		fmt.Sprintf("The objective is a p99 below %v seconds. All nodes together. %s", objective, cause)+see(alert),
		query{"p50", quantile("0.5", route)},
		query{"p95", quantile("0.95", route)},
		query{"p99", `pingpost:request_duration_seconds:p99_rate5m{route="` + route + `"}`}).
		NoValue("No partner has sent a " + route).
		Span(half)
}

// quantile returns an expression for a quantile of a route's latency on all nodes.
func quantile(q, route string) string {
	return fmt.Sprintf(`histogram_quantile(%s, sum by (le) (`+
		`rate(pingpost_request_duration_seconds_bucket{job="$job", route="%s"}[5m])))`, q, route)
}
