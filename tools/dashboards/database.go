package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

func database() *dashboard.DashboardBuilder {
	return newDashboard("database", "database and Vault", "Can the nodes use the database and Vault?").
		WithRow(row("Database")).
		WithPanel(states("Checks of the database", "passes", "fails",
			"Good: all pass. During a failover, `database` and `commits` fail for some seconds."+
				see("PingpostNodeNotReady", "PingpostNoNodeReady"),
			query{"{{instance}} {{check}}",
				`min by (instance, check) (pingpost_ready{NODES, check=~"database|commits|storing|partitions|schema"})`}).
			NoValue("No node is scraped").
			Span(half)).
		WithPanel(graph("Connections", units.Short, noLimits,
			"Connections in each node's pool. Good: fewer in use than the maximum."+see("PingpostPostsSlow"),
			query{"{{instance}} in use", `pingpost_database_connections_busy{NODES}`},
			query{"{{instance}} open", `pingpost_database_connections{NODES}`},
			query{"{{instance}} maximum", `pingpost_database_connections_max{NODES}`}).
			Span(half)).
		WithPanel(graph("Waits for a connection", units.CountsPerSecond, noLimits,
			"Requests for a connection that had to wait, per second. Good: close to 0. If it grows, the database is "+
				"slow, or `database.max_connections` is too low."+
				see("PingpostPostsSlow"),
			query{"{{instance}}", `rate(pingpost_database_waits_total{NODES}[$__rate_interval])`})).
		WithPanel(graph("Time spent waiting for a connection", units.Seconds, below(1),
			"Time that all requests of a node waited for a connection, per second. Good: close to 0. At 1, one "+
				"request waits at any time."+
				see("PingpostPostsSlow"),
			query{"{{instance}}", `rate(pingpost_database_wait_seconds_total{NODES}[$__rate_interval])`})).
		WithPanel(graph("Clock skew", units.Seconds, within(1),
			"How much the clock of each node is ahead of the database's. Good: within 0.1 seconds. At 5 seconds, a "+
				"node is not ready."+
				see("PingpostClockSkew"),
			query{"{{instance}}", `pingpost_clock_skew_seconds{NODES}`})).
		WithPanel(number("Partitions left", units.Seconds, atLeast(3*86400),
			"Time until a table has no more partitions. Good: at least 7 days. Nodes create partitions every hour."+
				see("PingpostPartitionsEnd"),
			query{"{{table}}", `min by (table) (pingpost_partitions_end_timestamp_seconds{NODES}) - time()`}).
			Span(half)).
		WithPanel(number("Notifications", units.NoUnit, atLeast(1),
			"Whether the database can notify a node of changes (LISTEN). Good: connected. Otherwise, the node looks "+
				"for changes every 500 ms."+
				see("PingpostListenDisconnected"),
			query{"{{instance}}", `pingpost_listen_connected{NODES}`}).
			Mappings(words("connected", "not connected"))).
		WithPanel(number("Replaced primaries", units.Short, below(1),
			"Old primaries that still accept writes after a failover. Good: 0. Shut them down."+
				see("PingpostReplacedPrimary"),
			query{"", `max(pingpost_replaced_primaries{NODES})`})).
		WithPanel(number("Age of the snapshot", units.Seconds, below(900),
			"Age of the file from which a node answers pings if it starts without the database. Good: below 5 minutes."+
				see("PingpostSnapshotOld"),
			query{"{{instance}}", `time() - (pingpost_snapshot_timestamp_seconds{NODES} > 0)`}).
			NoValue("No snapshot has been written")).
		WithPanel(graph("Pings waiting to be recorded", units.Short, noLimits,
			"Good: close to 0. If it grows, the database cannot keep up with the ping log."+
				see("PingpostPingsNotRecorded"),
			query{"{{instance}}", `pingpost_pings_queued{NODES}`})).
		WithPanel(graph("Pings not recorded", units.Short, below(1),
			"Pings in 10 minutes that were answered, but not recorded. Good: 0."+see("PingpostPingsNotRecorded"),
			query{"{{instance}} {{reason}}",
				`sum by (instance, reason) (increase(pingpost_pings_dropped_total{NODES}[10m]))`})).
		WithPanel(graph("Age of the lead counts", units.Seconds, below(30),
			"Age of the counts that daily caps are compared with. Good: below 5 seconds. If it grows, partners can "+
				"deliver more leads than agreed."+
				see("PingpostCapsOld"),
			query{"{{instance}}", `pingpost_caps_age_seconds{NODES}`})).
		WithRow(row("Vault")).
		WithPanel(number("Vault token expires in", units.Seconds, atLeast(60),
			"Good: well above 0. Near 0, the node cannot log in to Vault."+see("PingpostVaultFailing"),
			query{"{{instance}}", `pingpost_vault_token_seconds{NODES}`}).
			NoValue("No node uses Vault").
			Span(third)).
		WithPanel(number("Key version", units.NoUnit, noLimits,
			"Version of the Vault key that wrapped the data keys. Good: the same on all nodes a minute after a "+
				"[rotation](https://github.com/pingpost/pingpost/blob/main/docs/how-to/rotate-keys.md).",
			query{"{{instance}}", `pingpost_data_key_version{NODES}`}).
			NoValue("No node uses data keys").
			Span(third)).
		WithPanel(number("Wrapping keys missing", units.Short, below(1),
			"Keys that stored leads need, but a node does not have. Good: 0. Otherwise, some contact data cannot be "+
				"read."+
				see("PingpostLeadKeysMissing"),
			query{"", `max(pingpost_lead_keys_missing{NODES})`}).
			Span(third)).
		WithPanel(graph("Vault calls", units.OpsPerSecond, noLimits,
			"Calls to Vault per second by operation and result. Good: all results are `ok`."+
				see("PingpostVaultFailing"),
			query{"{{operation}} {{result}}",
				`sum by (operation, result) (rate(pingpost_vault_calls_total{NODES}[$__rate_interval]))`}).
			NoValue("No node uses Vault")).
		WithPanel(graph("Failed Vault calls", units.Short, below(3),
			"Calls to Vault in 5 minutes that failed. Good: 0. Above 3, an alert fires."+see("PingpostVaultFailing"),
			query{"{{instance}} {{operation}} {{result}}",
				`sum by (instance, operation, result) (increase(pingpost_vault_calls_total{NODES, result!="ok"}[5m]))`}).
			NoValue("No Vault call has failed")).
		WithPanel(graph("Posts that waited for a data key", units.Short, below(10),
			"Posts in 5 minutes that waited because the pool of data keys was empty. Good: 0. Above 10, an alert "+
				"fires."+
				see("PingpostDataKeysShort"),
			query{"{{instance}}", `increase(pingpost_data_keys_waited_total{NODES}[5m])`}).
			NoValue("No node uses data keys")).
		WithPanel(graph("Data keys ready", units.Short, atLeast(1),
			"Data keys that posts can use without calling Vault. Good: steady. At 0, posts wait."+
				see("PingpostDataKeysShort"),
			query{"{{instance}}", `pingpost_data_keys_ready{NODES}`}).
			NoValue("No node uses data keys").
			Span(half)).
		WithPanel(graph("Data keys used", units.CountsPerSecond, noLimits,
			"Data keys used by posts, and keys that were dropped because they were too old, per second. Good: more "+
				"used than dropped when leads arrive.",
			query{"{{instance}} used", `rate(pingpost_data_keys_taken_total{NODES}[$__rate_interval])`},
			query{"{{instance}} expired", `rate(pingpost_data_keys_expired_total{NODES}[$__rate_interval])`}).
			NoValue("No node uses data keys").
			Span(half))
}
