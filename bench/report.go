package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/bench/load"
)

// report contains the figures of a run, in the order in which they were measured.
type report struct {
	figures []figure
	rows    rowSizes // sizes of the rows that a post stores
	costs   []cost
}

// cost states how the product's processor time in one part of the run is divided among areas of work.
type cost struct {
	part   string
	shares []share
}

func (r *report) add(f ...figure) { r.figures = append(r.figures, f...) }

// join adds a figure to the report. If the report already has a figure with the same name, join adds the
// values to that figure instead.
func (r *report) join(f figure) {
	for i := range r.figures {
		if known := &r.figures[i]; known.part == f.part && known.what == f.what {
			known.values, known.floors = append(known.values, f.values...), append(known.floors, f.floors...)
			known.flaw = cmp.Or(known.flaw, f.flaw)
			return
		}
	}
	r.add(f)
}

func (r *report) pings(product, bare, gorm, tuned *subject) {
	const part = "ping"
	r.add(
		figure{
			part:   part,
			what:   "product / bare Gin handler",
			unit:   "×",
			values: ratios(product, bare),
			limit:  minPingToBare,
		},
		figure{
			part:   part,
			what:   "product / handler with a GORM insert",
			unit:   "×",
			values: ratios(product, gorm),
			limit:  minPingToGorm,
		},
		figure{
			part:   part,
			what:   "processor time per ping, product / bare Gin handler",
			unit:   "×",
			values: quotients(product, bare, round.own),
			limit:  maxPingCPUToBare,
			atMost: true,
		},
		figure{
			part:   part,
			what:   "product / handler with a GORM insert without its transaction",
			unit:   "×",
			values: ratios(product, tuned),
		},
	)
	r.contender(part, "product", "ping", product)
	r.contender(part, "bare Gin handler", "ping", bare)
	r.contender(part, "handler with a GORM insert", "ping", gorm)
	r.contender(part, "handler with a GORM insert without its transaction", "ping", tuned)
	r.add(figure{
		part:   part,
		what:   "load generator, with the product",
		unit:   "µs per ping",
		values: product.series(func(r round) float64 { return r.each(r.Load) }),
	})
	r.idle(part, "product", product)
	r.others(part, product, bare, gorm, tuned)
}

func (r *report) posts(all []*subject) {
	const part = "post"
	by := map[string]*subject{
		"product":     {},
		"pgbench":     {},
		pgbenchAtBest: {},
		productAtBest: {},
		"gorm":        {},
		gormAtBest:    {},
		"vault":       {},
	} // contenders that were not measured have no rounds
	for _, c := range all {
		by[c.name] = c
	}
	each := fmt.Sprintf("%d connections each", load.Connections)
	product, pgbench, gorm, vault := by["product"], by["pgbench"], by["gorm"], by["vault"]
	r.add(
		figure{
			part: part,
			what: fmt.Sprintf("product over HTTP, best number of connections / pgbench -c %d",
				load.Connections),
			unit:   "×",
			values: ratios(by[productAtBest], pgbench),
			limit:  minPostToPgbench,
		},
		figure{
			part:   part,
			what:   "product over HTTP / pgbench, best number of connections each",
			unit:   "×",
			values: ratios(by[productAtBest], by[pgbenchAtBest]),
			limit:  minPostToBest,
		},
		figure{
			part:   part,
			what:   "product over HTTP / GORM storing the same rows, best number of connections each",
			unit:   "×",
			values: ratios(by[productAtBest], by[gormAtBest]),
			limit:  minPostToGorm,
		},
		figure{part: part, what: "product over HTTP / pgbench, " + each, unit: "×", values: ratios(product, pgbench)},
		figure{
			part:   part,
			what:   "product over HTTP / GORM storing the same rows, " + each,
			unit:   "×",
			values: ratios(product, gorm),
		},
		figure{
			part:   part,
			what:   "product with Vault / product with the local key",
			unit:   "×",
			values: ratios(vault, product),
			limit:  minVaultToLocal,
		},
	)
	r.contender(part, "product over HTTP", "lead", product)
	r.contender(part, "product over HTTP with Vault", "lead", vault)
	r.contender(part, "pgbench", "lead", pgbench)
	r.contender(part, "product over HTTP, best number of connections", "lead", by[productAtBest])
	r.contender(part, "pgbench, best number of connections", "lead", by[pgbenchAtBest])
	r.contender(part, "GORM", "lead", gorm)
	r.contender(part, "GORM, best number of connections", "lead", by[gormAtBest])
	r.idle(part, "product over HTTP", product)
	r.idle(part, "pgbench", pgbench)
	r.others(part, all...)
}

func (r *report) rewraps(alone, moving *subject, moved []float64) {
	const part = "rewrap"
	r.add(
		figure{
			part:   part,
			what:   "posts with Vault, during a rewrap / alone",
			unit:   "×",
			values: ratios(moving, alone),
			limit:  minRewrappingToAlone,
		},
		figure{part: part, what: "rewrapped during the posts", unit: "leads per second", values: moved},
	)
	r.others(part, alone, moving)
}

func (r *report) retention(alone, retaining *subject, erased []float64) {
	const part = "retention"
	at := "99th percentile of posts at " + grouped(steadyPosts) + " per second"
	r.add(
		figure{
			part:   part,
			what:   at + ", during a retention run / alone",
			unit:   "×",
			values: quotients(retaining, alone, round.p99),
			limit:  maxRetainingToAlone,
			atMost: true,
		},
		figure{part: part, what: at + ", during a retention run", unit: "µs", values: retaining.series(round.p99)},
		figure{part: part, what: at + ", alone", unit: "µs", values: alone.series(round.p99)},
		figure{part: part, what: "erased during the posts", unit: "leads per second", values: erased, limit: minRetained},
	)
	r.others(part, alone, retaining)
}

func (r *report) partitions(unchanged, changed *subject, changes []float64) {
	const part, p99 = "partitions", "99th percentile of posts"
	r.add(
		figure{
			part:   part,
			what:   p99 + ", during changes of partitions / without changes",
			unit:   "×",
			values: quotients(changed, unchanged, round.p99),
			limit:  maxChangedToUnchanged,
			atMost: true,
		},
		figure{part: part, what: p99 + ", during changes", unit: "µs", values: changed.series(round.p99)},
		figure{part: part, what: p99 + ", without changes", unit: "µs", values: unchanged.series(round.p99)},
		figure{
			part: part, what: "posts, during changes of partitions / without changes", unit: "×",
			values: ratios(changed, unchanged),
		},
		figure{part: part, what: "partitions created and dropped", unit: "per second", values: changes},
	)
	r.others(part, unchanged, changed)
}

func (r *report) steadyPings(product, bare *subject) {
	const part, at = "ping", "99th percentile of pings at 10,000 per second"
	r.add(
		figure{
			part:   part,
			what:   at + ", product / bare Gin handler",
			unit:   "×",
			values: quotients(product, bare, round.p99),
			limit:  maxPingP99ToBare,
			atMost: true,
		},
		figure{part: part, what: at + ", product", unit: "µs", values: product.series(round.p99)},
		figure{part: part, what: at + ", bare Gin handler", unit: "µs", values: bare.series(round.p99)},
	)
}

func (r *report) mixedPosts(plain, again, bad, steady, single *subject) {
	const part = "post"
	at := "99th percentile of posts at " + grouped(steadyPosts) + " per second"
	r.add(
		figure{
			part:   part,
			what:   "product, one post in 20 is a replay / no replays",
			unit:   "×",
			values: ratios(again, plain),
			limit:  minAgainToPlain,
		},
		figure{
			part:   part,
			what:   "product, the database rejects one post in 100 / no rejections",
			unit:   "×",
			values: ratios(bad, plain),
			limit:  minBadToPlain,
		},
		figure{
			part:   part,
			what:   at + ", shared transactions / separate transactions",
			unit:   "×",
			values: quotients(steady, single, round.p99),
			limit:  maxSharedToSingle,
			atMost: true,
		},
		figure{part: part, what: at + ", shared transactions", unit: "µs", values: steady.series(round.p99)},
		figure{part: part, what: at + ", separate transactions", unit: "µs", values: single.series(round.p99)},
	)
}

func (r *report) growth(pings, posts [2]*subject, lists, searches []float64) {
	const part = "growth"
	r.add(
		figure{
			part:   part,
			what:   "pings, full tables / empty tables",
			unit:   "×",
			values: ratios(pings[0], pings[1]),
			limit:  minFullToEmpty,
		},
		figure{
			part:   part,
			what:   "posts, full tables / empty tables",
			unit:   "×",
			values: ratios(posts[0], posts[1]),
			limit:  minFullToEmpty,
		},
		figure{
			part:   part,
			what:   "list of leads in the console, slowest filter",
			unit:   "ms",
			values: lists,
			limit:  maxListMillis,
			atMost: true,
		},
		figure{
			part:   part,
			what:   "search for a person or request without leads, slowest search",
			unit:   "ms",
			values: searches,
			limit:  maxListMillis,
			atMost: true,
		},
	)
	r.others(part, append(pings[:], posts[:]...)...)
}

func (r *report) caps(leads int, millis []float64) {
	r.add(figure{
		part:   "caps",
		what:   "counting for daily caps, per second and node, at " + grouped(int64(leads)) + " leads per day",
		unit:   "ms",
		values: millis,
		limit:  maxCapsMillis,
		atMost: true,
	})
}

func (r *report) overload(name string, greatest, pressed *subject, recoveries []float64) {
	const part = "overload"
	in := ", " + name
	r.add(
		figure{
			part:   part,
			what:   "posts stored at ten times the highest rate / at the highest rate" + in,
			unit:   "×",
			values: ratios(pressed, greatest),
			limit:  minGoodput,
		},
		figure{
			part:   part,
			what:   "time until latency is normal again" + in,
			unit:   "s",
			values: recoveries,
			limit:  maxRecoverySeconds,
			atMost: true,
		},
		figure{
			part: part, what: "stored at the highest rate" + in, unit: "posts per second", values: greatest.series(round.rate),
		},
		figure{part: part, what: "stored under overload" + in, unit: "posts per second", values: pressed.series(round.rate)},
		figure{
			part:   part,
			what:   "answered under overload" + in,
			unit:   "posts per second",
			values: pressed.series(round.answered),
		},
	)
	if rejections := rejectionMillis(pressed.rounds); len(rejections) > 0 {
		r.add(figure{part: part, what: "99th percentile of rejections" + in, unit: "ms", values: rejections})
	}
	r.others(part, greatest, pressed)
}

func rejectionMillis(rounds []round) (millis []float64) {
	for _, r := range rounds {
		if r.Rejected > 0 {
			millis = append(millis, float64(r.Rejection.Microseconds())/1e3)
		}
	}
	return millis
}

// contender adds figures for a contender's rate, its processor time per request, and Postgres's
// processor time per request.
func (r *report) contender(part, name, request string, c *subject) {
	each := "µs per " + request
	r.add(
		figure{part: part, what: name, unit: request + "s per second", values: c.series(round.rate)},
		figure{part: part, what: name + ": processor time of the process", unit: each, values: c.series(round.own)},
		figure{
			part:   part,
			what:   name + ": processor time of Postgres",
			unit:   each,
			values: c.series(func(r round) float64 { return r.each(r.postgres) }),
		},
	)
}

// costsOf returns the areas that account for at least one percent of a part's processor time.
func (r *report) costsOf(part string) (shares []share) {
	for _, c := range r.costs {
		for _, s := range c.shares {
			if c.part == part && s.Of >= 0.01 {
				shares = append(shares, s)
			}
		}
	}
	return shares
}

// others adds a figure for the share of processor time that other programs used.
func (r *report) others(part string, all ...*subject) {
	f := figure{part: part, what: "processor time used by others", unit: "%"}
	for _, c := range all {
		f.values = append(f.values, c.series(func(r round) float64 { return 100 * r.others })...)
	}
	r.add(f)
}

// idle adds a figure for the share of processor time that was idle because the contender waited for the
// disk or for a lock.
func (r *report) idle(part, name string, c *subject) {
	r.add(figure{
		part:   part,
		what:   name + ": idle processor time",
		unit:   "%",
		values: c.series(func(rounds round) float64 { return 100 * rounds.idle }),
	})
}

func (r *report) memory(used child.Usage, pings int64) {
	const part = "memory"
	r.add(figure{
		part: part, what: "resident memory after " + grouped(pings) + " pings", unit: "MB",
		values: []float64{float64(used.Resident) / megabyte}, limit: maxResident, atMost: true,
	})
	if used.Peak > 0 {
		r.add(figure{
			part:   part,
			what:   "peak resident memory",
			unit:   "MB",
			values: []float64{float64(used.Peak) / megabyte},
		})
	}
}

func (r *report) pricing(pings int64, replays, compiles []float64) {
	const part = "pricing"
	r.add(
		figure{
			part:   part,
			what:   "replay of " + grouped(pings) + " pings from " + strconv.Itoa(replayDays) + " days",
			unit:   "s",
			values: replays,
			limit:  maxReplaySeconds,
			atMost: true,
		},
		figure{
			part:   part,
			what:   "compile a rate card with " + grouped(compiledRules) + " rules",
			unit:   "ms",
			values: compiles,
			limit:  maxCompileMillis,
			atMost: true,
		},
	)
}

func (r *report) reconcile(rows int64, took compared) {
	const part = "reconcile"
	ratios := make([]float64, len(took.product))
	for i := range ratios {
		ratios[i] = took.product[i] / took.psql[i]
	}
	r.add(
		figure{
			part:   part,
			what:   "compare a file with " + grouped(rows) + " rows, product / psql",
			unit:   "×",
			values: ratios,
			limit:  maxReconcileToPsql,
			atMost: true,
		},
		figure{part: part, what: "comparison by the product", unit: "s", values: took.product},
		figure{part: part, what: "comparison by psql: copy, join, write", unit: "s", values: took.psql},
		figure{part: part, what: "upload the file: read, profile, encrypt", unit: "s", values: took.upload},
	)
}

func (r *report) export(rows int64, grown, rates []float64) {
	const part = "export"
	r.add(
		figure{
			part:   part,
			what:   "memory for an export of " + grouped(rows) + " ledger entries",
			unit:   "MB",
			values: grown,
			limit:  maxExportResident,
			atMost: true,
		},
		figure{part: part, what: "export", unit: "rows per second", values: rates},
	)
}

// missed describes the figures that missed their targets although the machine could have reached them.
func (r *report) missed() (list []string) {
	for _, f := range r.figures {
		if f.missed() {
			list = append(list, fmt.Sprintf("%s: %s: %s, target %s", f.part, f.what, f.spread(), f.target()))
		}
	}
	return list
}

func (r *report) print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "part\tfigure\tvalue (spread)\ttarget\tverdict\tfloor")
	for _, f := range r.figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", f.part, f.what, f.spread(), f.target(), f.verdict(), f.beneath())
	}
	return table.Flush()
}
