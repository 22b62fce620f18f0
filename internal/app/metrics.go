package app

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/migrations"
)

func (a *App) registerMetrics(o Options) error {
	a.registerKeyMetrics()
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	count := func(name, help string, labels prometheus.Labels, read func() float64) {
		a.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        name,
			Help:        help,
			ConstLabels: labels,
		}, read))
	}
	labelled := func(name, help string, labels prometheus.Labels, read func() float64) {
		o := prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}
		a.registry.MustRegister(prometheus.NewGaugeFunc(o, read))
	}
	gauge := func(name, help string, read func() float64) { labelled(name, help, nil, read) }
	schema, err := migrations.Latest()
	if err != nil {
		return err
	}
	labelled("pingpost_build_info", "1, with the program's version, its revision, and the schema that it needs.",
		prometheus.Labels{"version": o.Version, "revision": o.Revision, "schema": strconv.FormatInt(schema, 10)},
		func() float64 { return 1 })
	a.registerPostMetrics(labelled)
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
	gauge("pingpost_database_connections_max", "Largest number of connections in the pool (database.max_connections).",
		func() float64 { return float64(a.db.Pool.Stat().MaxConns()) })
	count("pingpost_database_waits_total", "Requests for a connection that waited because all were in use.", nil,
		func() float64 { return float64(a.db.Pool.Stat().EmptyAcquireCount()) })
	count("pingpost_database_wait_seconds_total", "Time for which requests waited for a connection.", nil,
		func() float64 { return a.db.Pool.Stat().EmptyAcquireWaitTime().Seconds() })
	gauge("pingpost_listen_connected", "1 if the database can notify this node of changes, otherwise 0. Without "+
		"notifications, the node reads the versions every 500 ms.",
		func() float64 {
			if a.watcher.Listening() {
				return 1
			}
			return 0
		})
	gauge("pingpost_replaced_primaries",
		"Hosts in database.url that still accept writes although a standby was promoted in their place.",
		func() float64 { return float64(a.db.ReplacedPrimaries()) })
	return nil
}

func (a *App) registerPostMetrics(gauge func(name, help string, labels prometheus.Labels, read func() float64)) {
	for _, signed := range []bool{true, false} {
		labels := prometheus.Labels{"signed": strconv.FormatBool(signed)}
		gauge("pingpost_post_slots", "Posts that can be stored at the same time; 0 if there is no limit.", labels,
			func() float64 { return float64(a.intake.PostSlots(signed).Limit) })
		gauge("pingpost_post_slots_used", "Posts that are being stored.", labels,
			func() float64 { return float64(a.intake.PostSlots(signed).Used) })
		gauge("pingpost_posts_waiting", "Posts that wait for a slot.", labels,
			func() float64 { return float64(a.intake.PostSlots(signed).Waiting) })
	}
	gauge("pingpost_lead_stored_timestamp_seconds",
		"Unix time at which this node last stored a lead; 0 if it has stored none.", nil,
		func() float64 {
			if last := a.leads.Stored().Last; !last.IsZero() {
				return float64(last.Unix())
			}
			return 0
		})
	a.registry.MustRegister(storedLeads{a.leads})
}

// storedLeads collects the numbers and payouts of the leads that this node has stored.
type storedLeads struct{ store *leads.Store }

var (
	leadsDesc = prometheus.NewDesc("pingpost_leads_stored_total",
		"Leads stored by this node, without sandbox leads, by currency.", []string{"currency"}, nil)
	payoutDesc = prometheus.NewDesc("pingpost_leads_payout_minor_units_total",
		"Payouts of the leads stored by this node, without sandbox leads, in minor units of the currency.",
		[]string{"currency"}, nil)
)

// Describe implements prometheus.Collector.
func (storedLeads) Describe(out chan<- *prometheus.Desc) { out <- leadsDesc; out <- payoutDesc }

// Collect implements prometheus.Collector.
func (s storedLeads) Collect(out chan<- prometheus.Metric) {
	for currency, total := range s.store.Stored().Leads {
		out <- prometheus.MustNewConstMetric(leadsDesc, prometheus.CounterValue, float64(total.Count), currency)
		out <- prometheus.MustNewConstMetric(payoutDesc, prometheus.CounterValue, float64(total.PayoutMinor), currency)
	}
}
