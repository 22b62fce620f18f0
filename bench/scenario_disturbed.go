package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/retention"
)

// The scenarios in this file measure how much background work slows down posts, and how fast the background work is.

func rewrapScenario() *scenario {
	return &scenario{
		name: "rewrap", title: "Rewrapping leads", rounds: 7, length: 4 * time.Second, prepare: prepareRewrap,
		text: `The product with Vault contains 100,000 leads. The load generator sends posts without a rewrap and during
			¬keys rewrap¬. The key is rotated before each rewrap, so that all leads must be rewrapped.`,
		figures: []*figure{
			ratio("posts with Vault, during a rewrap / alone", "rewrap", "alone", turn.rate).atLeast(0.8),
			absolute("posts, alone", "alone", turn.rate, "leads per second"),
			absolute("rewrapped during the posts", "rewrap", turn.extraValue, "leads per second"),
		},
	}
}

func prepareRewrap(ctx context.Context, l *lab) ([]contender, error) {
	p, as, err := l.newVaultProduct(ctx, "product_rewrap")
	if err != nil {
		return nil, err
	}
	rewrap, rewrapErr := as(devvault.Rewrap)
	rotate, rotateErr := as(devvault.Rotate)
	if err := errors.Join(rewrapErr, rotateErr); err != nil {
		return nil, err
	}
	p.wrappers = envelope.NewWrappers(rewrap)
	plan := fillPlan{partners: 100, leads: l.sized(100_000), months: 1, until: now().AddDate(0, -1, 0)}
	if err := p.fill(ctx, l, plan); err != nil {
		return nil, err
	}
	alone := p.sendsPosts("alone", loadJob{})
	return []contender{alone, l.during(alone, "rewrap", func(ctx context.Context) (int64, error) {
		if err := rotate.Rotate(ctx); err != nil {
			return 0, err
		}
		rotation := leads.KeyRotation{
			Leads: leads.NewStore(p.db.Pool), Wrappers: p.wrappers, Clock: clock.System{},
			OnProgress: func(leads.RotationProgress) {},
		}
		done, err := rotation.Rewrap(ctx)
		if done.Failed > 0 {
			return 0, fmt.Errorf("%d leads were not rewrapped: %w", done.Failed, done.Cause)
		}
		return done.Leads, err
	})}, nil
}

func partitionScenario() *scenario {
	return &scenario{
		name: "partitions", title: "Partitions", rounds: 7, length: 3 * time.Second, prepare: preparePartitions,
		text: `The load generator sends posts with and without changes of partitions. Once per second, a partition of each
			of the six tables of leads and payouts is created, detached and dropped. In production, this happens once a month
			or week.`,
		figures: []*figure{
			ratio("99th percentile of posts, during changes of partitions / without changes", "changes", "alone",
				turn.p99Micros).atMost(1.25),
			absolute("99th percentile, during changes", "changes", turn.p99Micros, "µs"),
			absolute("99th percentile, without changes", "alone", turn.p99Micros, "µs"),
			absolute("partitions created and dropped", "changes", turn.extraValue, "per second"),
		},
	}
}

func preparePartitions(ctx context.Context, l *lab) ([]contender, error) {
	p, err := l.newProduct(ctx, "product_partitions", productJob{})
	if err != nil {
		return nil, err
	}
	alone := p.sendsPosts("alone", loadJob{})
	return []contender{alone, l.during(alone, "changes", func(ctx context.Context) (changed int64, err error) {
		for {
			// The change is completed even if the turn ends in the meantime.
			if err := p.changePartitions(context.WithoutCancel(ctx)); err != nil {
				return changed, err
			}
			changed += int64(len(partitionedTables))
			if err := clock.Sleep(ctx, time.Second); err != nil {
				return changed, err
			}
		}
	})}, nil
}

// partitionedTables are the tables to which each lead or payout adds rows.
var partitionedTables = []string{
	"leads", "lead_keys", "consents", "lead_events", "ledger_entries", "payout_run_entries",
}

func (p *product) changePartitions(ctx context.Context) error {
	_, err := p.root.Exec(ctx, `SELECT create_partitions($1, 'month', '2100-01-01', '2100-01-01')`, partitionedTables)
	if err != nil {
		return err
	}
	for _, table := range partitionedTables {
		partition := table + "_21000101"
		err := p.exec(ctx, "ALTER TABLE "+table+" DETACH PARTITION "+partition+" CONCURRENTLY", "DROP TABLE "+partition)
		if err != nil {
			return err
		}
	}
	return nil
}

func retentionScenario() *scenario {
	const p99 = "99th percentile of posts at 1,000 per second"
	return &scenario{
		name: "retention", title: "Retention", rounds: 7, length: 4 * time.Second, prepare: prepareRetention,
		text: `The database contains 100,000 leads whose retention period has passed. The load generator sends posts at a
			fixed rate without a retention run and during one. The target of the erasures is a million leads in ten minutes.
			At this rate, the run works for about a third of the time, so it always affects the 99th percentile when it
			shares two cores with the posts. Smaller batches do not change this, and erase fewer leads. The target of the
			percentile is therefore what two cores can do. The run fails unless all leads are erased in the end, and the
			erasure journal matches the database.`,
		figures: []*figure{
			ratio(p99+", during a retention run / alone", "retention", "alone", turn.p99Micros).atMost(1.5),
			absolute("erased during the posts", "retention", turn.extraValue, "leads per second").atLeast(1667),
			absolute(p99+", during a retention run", "retention", turn.p99Micros, "µs"),
			absolute(p99+", alone", "alone", turn.p99Micros, "µs"),
		},
	}
}

func prepareRetention(ctx context.Context, l *lab) ([]contender, error) {
	const days = 30
	p, err := l.newProduct(ctx, "product_retention", productJob{})
	if err != nil {
		return nil, err
	}
	plan := fillPlan{partners: 100, leads: l.sized(100_000), months: 1, until: now().AddDate(0, 0, -2*days)}
	if err := p.fill(ctx, l, plan); err != nil {
		return nil, err
	}
	folder := filepath.Join(l.folder, "erasures")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	erasures := erasure.NewService(p.db, nil, p.keys, journal.Folder(folder), clock.System{}, erasure.Settings{})
	periods := retention.Periods{Contact: retention.Days{Default: days}}
	s := retention.NewService(p.db, erasures, p.queue(), clock.System{}, periods)
	change, err := s.Plan(ctx, 0)
	if err != nil {
		return nil, err
	}
	if err := s.Apply(ctx, change.Version); err != nil {
		return nil, err
	}
	l.checks = nil // erased leads are not complete
	l.check(func(ctx context.Context) error {
		if _, err := s.Run(ctx); err != nil { // erases the rest
			return err
		}
		_, err := erasures.Verify(ctx)
		return errors.Join(err, p.checkRows(ctx, "leads WHERE state = 'erased'", p.filledLeads, p.filledLeads))
	})
	var erased int64 // in all turns
	alone := p.sendsPosts("alone", loadJob{Rate: steadyPosts})
	return []contender{alone, l.during(alone, "retention", func(ctx context.Context) (int64, error) {
		before := erased
		_, err := s.Run(ctx)
		count := p.root.QueryRow(context.WithoutCancel(ctx), `SELECT count(*) FROM erasures`)
		err = errors.Join(err, count.Scan(&erased))
		return erased - before, err
	})}, nil
}

// makeSlow makes each transaction that stores leads take longer.
const makeSlow = `CREATE FUNCTION bench_slow() RETURNS trigger LANGUAGE plpgsql
		AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
	CREATE TRIGGER bench_slow AFTER INSERT ON consents FOR EACH STATEMENT EXECUTE FUNCTION bench_slow()`

func overloadScenario() *scenario {
	return &scenario{
		name: "overload", title: "Overload", rounds: 5, length: 3 * time.Second, figures: overloadFigures(),
		prepare: func(ctx context.Context, l *lab) ([]contender, error) {
			return l.prepareOverload(ctx, "product_overload", steadyPosts, 64, 640)
		},
		text: `One turn measures the highest rate of posts, and the next one the latency at a normal rate. The third turn
			tries to send ten times the highest rate, and then continues at the normal rate. Latency counts as normal again
			when no post is rejected and the 99th percentile over one second is at most 25% higher than before. The load
			generator shares the cores with the server, so it cannot reach ten times the highest rate. "Answered" is the rate
			that it reached.`,
	}
}

func slowOverloadScenario() *scenario {
	return &scenario{
		name: "overload-slow", title: "Overload with a slow database", rounds: 5, length: 3 * time.Second,
		figures: overloadFigures(),
		prepare: func(ctx context.Context, l *lab) ([]contender, error) {
			return l.prepareOverload(ctx, "product_overload_slow", 50, 256, 2048, makeSlow)
		},
		text: `The same with a database in which each transaction takes 500 ms longer. The load generator can send most of
			the intended posts. The others are delayed, because their connections wait two seconds for an answer.`,
	}
}

func overloadFigures() []*figure {
	return []*figure{
		ratio("posts stored at ten times the highest rate / at the highest rate", "overload", "highest rate",
			turn.rate).atLeast(0.8),
		absolute("time until latency is normal again", "overload", turn.extraValue, "s").atMost(10),
		absolute("stored at the highest rate", "highest rate", turn.rate, "posts per second"),
		absolute("stored under overload", "overload", turn.rate, "posts per second"),
		absolute("answered under overload", "overload", turn.answered, "posts per second"),
	}
}

// prepareOverload starts the product and runs the given SQL statements. The parameter normalRate is the number of posts
// per second without overload. The parameters connections and overloaded are the numbers of connections without and
// with overload.
func (l *lab) prepareOverload(
	ctx context.Context, name string, normalRate, connections, overloaded int, sql ...string,
) ([]contender, error) {
	p, err := l.newProduct(ctx, name, productJob{})
	if err != nil {
		return nil, err
	}
	if err := p.exec(ctx, sql...); err != nil {
		return nil, err
	}
	highest := p.sendsPosts("highest rate", loadJob{Connections: connections})
	normal := p.sendsPosts("normal rate", loadJob{Rate: normalRate})
	var highestTurn, normalTurn turn
	return []contender{
		highest.saving(&highestTurn), normal.saving(&normalTurn),
		p.contender("overload", func(ctx context.Context, length time.Duration) (turn, error) {
			job := loadJob{Rate: 10 * int(highestTurn.rate()), Connections: overloaded, Rejections: 1}
			t, err := p.sendsPosts("", job).run(ctx, length)
			if err != nil {
				return t, err
			}
			t.extra, err = p.recover(ctx, normalRate, normalTurn.p99)
			return t, err
		}),
	}, nil
}

// saving returns a contender that does the same as c, and saves its latest turn.
func (c contender) saving(latest *turn) contender {
	return contender{name: c.name, pid: c.pid, run: func(ctx context.Context, length time.Duration) (t turn, err error) {
		*latest, err = c.run(ctx, length)
		return *latest, err
	}}
}

// recover sends posts until latency is normal again. It returns how many seconds that took, and gives up
// after 20 seconds.
func (p *product) recover(ctx context.Context, rate int, normal time.Duration) (float64, error) {
	posts := p.sendsPosts("", loadJob{Rate: rate, Rejections: 1})
	for start := now(); ; {
		t, err := posts.run(ctx, time.Second)
		took := now().Sub(start)
		if err != nil || t.rejected == 0 && t.p99 <= normal*5/4 || took > 20*time.Second {
			return took.Seconds(), err
		}
	}
}
