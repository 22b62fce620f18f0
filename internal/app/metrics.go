package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pingpost/pingpost/internal/intake"
)

func (a *App) registerMetrics() {
	a.registerKeyMetrics()
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	count := func(name, help string, labels prometheus.Labels, read func() float64) {
		a.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        name,
			Help:        help,
			ConstLabels: labels,
		}, read))
	}
	gauge := func(name, help string, read func() float64) {
		a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	stats := func(pick func(intake.RecorderStats) int64) func() float64 {
		return func() float64 { return float64(pick(a.recorder.Stats())) }
	}
	count("pingpost_pings_recorded_total", "Pings written to the ping log.", nil,
		stats(func(s intake.RecorderStats) int64 { return s.Written }))
	const dropped, droppedHelp = "pingpost_pings_dropped_total", "Pings answered but not recorded, by reason."
	count(dropped, droppedHelp, prometheus.Labels{"reason": "queue_full"},
		stats(func(s intake.RecorderStats) int64 { return s.DroppedFull }))
	count(dropped, droppedHelp, prometheus.Labels{"reason": "daily_limit"},
		stats(func(s intake.RecorderStats) int64 { return s.DroppedDaily }))
	count(dropped, droppedHelp, prometheus.Labels{"reason": "rejected"},
		stats(func(s intake.RecorderStats) int64 { return s.DroppedRejected }))
	count(dropped, droppedHelp, prometheus.Labels{"reason": "shutdown"},
		stats(func(s intake.RecorderStats) int64 { return s.DroppedClosed }))
	count("pingpost_leads_incomplete_total", "Leads that this node found to have missing rows.", nil,
		func() float64 { return float64(a.incomplete.Load()) })
	gauge("pingpost_pings_queued", "Pings waiting to be recorded.",
		func() float64 { return float64(a.recorder.Stats().Queued) })
	count("pingpost_traffic_dropped_total",
		"Request counts and log entries that were dropped because too many were waiting in memory.", nil,
		func() float64 { return float64(a.traffic.Dropped()) })
	count("pingpost_log_lines_dropped_total", "Log lines lost because the log was not read or could not be written.", nil,
		func() float64 { return float64(a.lines.dropped.Load()) })
	gauge("pingpost_rate_card_version", "Version of the rate card that prices pings; 0 if none is loaded.", func() float64 {
		if card := a.card.Get(); card != nil {
			return float64(card.Version)
		}
		return 0
	})
	gauge("pingpost_caps_age_seconds", "Age of the lead counts that daily caps are compared with.",
		func() float64 { return a.caps.Age().Seconds() })
	gauge("pingpost_ledger_totals_differences", "Ledger totals that differed from the ledger at the last daily check.",
		func() float64 { return float64(a.rollup.TotalsDifferences()) })
	gauge("pingpost_directory_unreadable", "Signing secrets that cannot be decrypted, plus partners whose pricing cannot be read.", func() float64 {
		if d := a.directory.Get(); d != nil {
			return float64(len(d.UnreadableSecrets()) + len(d.DamagedSecrets()) + len(d.UnreadablePrices()))
		}
		return 0
	})
	count("pingpost_snapshot_write_failures_total", "Failed attempts to write the snapshot file.", nil,
		func() float64 { return float64(a.snapshots.failures.Load()) })
	gauge("pingpost_snapshot_timestamp_seconds", "Unix time at which the snapshot file was last current; 0 until this node has written one.",
		func() float64 { return float64(a.snapshots.written.Load()) })
	gauge("pingpost_database_connections", "Open database connections in the pool.",
		func() float64 { return float64(a.db.Pool.Stat().TotalConns()) })
	gauge("pingpost_database_connections_busy", "Database connections in use.",
		func() float64 { return float64(a.db.Pool.Stat().AcquiredConns()) })
	gauge("pingpost_replaced_primaries",
		"Hosts in database.url that still accept writes although a standby was promoted in their place.",
		func() float64 { return float64(a.db.ReplacedPrimaries()) })
}
