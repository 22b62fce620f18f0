package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

func work() *dashboard.DashboardBuilder {
	return newDashboard("work", "background work", "Do jobs, erasures, retention and the checks of the data run?").
		WithRow(row("Jobs")).
		WithPanel(graph("Jobs waiting or running", units.Short, noLimits,
			"Good: 0 most of the time. Jobs that wait for long are in the next graph."+see("PingpostJobStuck"),
			query{"{{kind}} {{state}}", `max by (kind, state) (pingpost_jobs{NODES, state!="failed"})`})).
		WithPanel(graph("Oldest job", units.Seconds, below(3600),
			"Time since the oldest waiting or running job was enqueued. Good: below an hour. The first retention run "+
				"can take longer."+
				see("PingpostJobStuck"),
			query{"{{kind}}", `max by (kind) (pingpost_jobs_oldest_seconds{NODES})`})).
		WithPanel(graph("Failed jobs", units.Short, noLimits,
			"Jobs that failed in the last 30 days. Good: it does not grow. An alert fires for each new one."+
				see("PingpostJobFailed"),
			query{"{{kind}}", `max by (kind) (pingpost_jobs{NODES, state="failed"})`})).
		WithRow(row("Personal data")).
		WithPanel(number("Erasures pending", units.Short, below(1),
			"Entries of the erasure journal that have not been carried out. Good: 0 within a few minutes."+
				see("PingpostErasuresPending"),
			query{"", `max(pingpost_erasures_pending{NODES})`})).
		WithPanel(number("Erasure journal", units.NoUnit, atLeast(1),
			"Whether each node can read and write the erasure journal. Good: usable. Otherwise, staff cannot erase "+
				"personal data, and may not be able to read it."+
				see("PingpostErasureJournalUnusable"),
			query{"{{instance}}", `pingpost_erasure_journal_ok{NODES}`}).
			Mappings(words("usable", "not usable"))).
		WithPanel(number("Time since the journal was checked", units.Seconds, below(300),
			"Time since each node compared the erasure journal with the database. Good: below 5 minutes."+
				see("PingpostErasureJournalUnusable"),
			query{"{{instance}}", `time() - (pingpost_erasure_journal_checked_timestamp_seconds{NODES} > 0)`}).
			NoValue("No node has checked the journal")).
		WithPanel(number("Leads to be erased", units.Short, noLimits,
			"Leads whose retention period has passed. Leads under a legal hold are among them. Good: it falls after "+
				"each retention run. At -1, the leads could not be counted in time."+
				see("PingpostRetentionLate"),
			query{"", `max(pingpost_retention_due_leads{NODES})`})).
		WithPanel(number("Time since the last retention run", units.Seconds, below(2*86400),
			"Good: below two days, if there are retention periods."+see("PingpostRetentionLate"),
			query{"", `time() - max(pingpost_retention_run_timestamp_seconds{NODES} > 0)`}).
			NoValue("No retention run has ended")).
		WithPanel(number("Unreadable secrets and prices", units.Short, below(1),
			"Signing secrets and partners' pricing that cannot be read. Good: 0. The log names them."+
				see("PingpostDirectoryUnreadable"),
			query{"", `max(pingpost_directory_unreadable{NODES})`})).
		WithRow(row("Checks of the data")).
		WithPanel(number("Audit log", units.NoUnit, atLeast(1),
			"Good: intact. Otherwise, the audit log was changed outside the service. Treat this as a security "+
				"incident."+
				see("PingpostAuditLogChanged"),
			query{"", `min(pingpost_audit_intact{NODES})`}).
			Mappings(words("intact", "changed")).
			Span(quarter)).
		WithPanel(number("Time since the audit log was verified", units.Seconds, below(3*3600),
			"Nodes with a console verify the audit log every hour. Good: below three hours."+
				see("PingpostAuditLogNotVerified"),
			query{"", `time() - max(pingpost_audit_verified_timestamp_seconds{NODES} > 0)`}).
			NoValue("Not verified since the nodes started").
			Span(quarter)).
		WithPanel(number("Ledger totals that differ", units.Short, below(1),
			"Totals that differed from the ledger at the last daily check. Good: 0. Otherwise, balances are wrong."+
				see("PingpostLedgerTotalsDiffer"),
			query{"", `max(pingpost_ledger_totals_differences{NODES})`}).
			Span(quarter)).
		WithPanel(number("Leads with missing rows", units.Short, below(1),
			"Leads that nodes found to have missing rows since they started. Good: 0. The log names them."+
				see("PingpostLeadsIncomplete"),
			query{"", `sum(pingpost_leads_incomplete_total{NODES})`}).
			Span(quarter)).
		WithRow(row("Nodes")).
		WithPanel(graph("Lost log lines and counts", units.Short, below(1),
			"Log lines, request counts and logged requests that were lost in 10 minutes. Good: 0."+
				see("PingpostLogLinesLost"),
			query{"{{instance}} log lines", `increase(pingpost_log_lines_dropped_total{NODES}[10m])`},
			query{"{{instance}} counts", `increase(pingpost_traffic_dropped_total{NODES}[10m])`}).
			Span(half)).
		WithPanel(graph("X-Forwarded-For ignored", units.CountsPerSecond, noLimits,
			"Requests per second whose X-Forwarded-For header was ignored. Good: 0. Otherwise, partners may share "+
				"limits."+
				see("PingpostForwardedForIgnored"),
			query{"{{instance}}", `rate(pingpost_forwarded_for_ignored_total{NODES}[$__rate_interval])`}).
			Span(half))
}
