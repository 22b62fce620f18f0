package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// maxExportResident is the maximum additional memory that a process may use during an export, in MB.
const maxExportResident = 64

type exportJob struct{ DatabaseURL string }

// exported is the result of an export: its size, its duration, and the memory that the process used
// before and after it.
type exported struct {
	Rows, Bytes int64
	Seconds     float64
	Idle, Used  child.Usage
}

// exports measures the export of a large ledger. It repeats the export several times, each time in a
// new process.
func (b *bench) exports(ctx context.Context) (err error) {
	b.progress("export: filling a ledger with %s entries", grouped(b.plan.FinanceRows))
	k, err := b.stage.newFilledLedger(ctx, "export", b.plan.FinanceRows*2/3)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	var grown, rates []float64
	for i := range b.plan.FinanceRounds {
		e, err := export(ctx, k)
		if err != nil {
			return err
		}
		if e.Rows < b.plan.FinanceRows {
			return fmt.Errorf("the export has %d rows, want %d", e.Rows, b.plan.FinanceRows)
		}
		used := float64(max(e.Used.Peak, e.Used.Resident)-e.Idle.Resident) / megabyte
		grown, rates = append(grown, max(used, 0)), append(rates, float64(e.Rows)/e.Seconds)
		b.progress("export: round %d/%d: %.0f MB memory, %.0f rows per second, file of %d MB", i+1, b.plan.FinanceRounds, used,
			rates[i], e.Bytes/megabyte)
	}
	b.report.export(b.plan.FinanceRows, grown, rates)
	return nil
}

func export(ctx context.Context, k *filledLedger) (e exported, err error) {
	p, err := child.Start(ctx, roleExport, exportJob{k.appURL})
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	err = p.Receive(&e)
	return e, err
}

// counting is a writer that counts the bytes that it receives and discards them.
type counting int64

func (c *counting) Write(p []byte) (int, error) {
	*c += counting(len(p))
	return len(p), nil
}

// playExport runs in a child process. It exports the whole ledger as CSV and sends the duration and the
// memory usage to the parent process.
func playExport(ctx context.Context, l *child.Link) error {
	var job exportJob
	if err := l.Next(&job); err != nil {
		return err
	}
	app.TuneGC()
	db, err := postgres.Open(ctx, postgres.Options{URL: job.DatabaseURL, MaxConnections: 2})
	if err != nil {
		return err
	}
	defer db.Close()
	keys, err := keyring.NewKeys([][]byte{newKey()})
	if err != nil {
		return err
	}
	queue := jobs.NewQueue(db, clock.System{}, slog.New(slog.DiscardHandler))
	s := payouts.NewService(db, clock.System{}, queue, blobstore.NewStore(db, keys, clock.System{}), payouts.Policy{}).
		By(audit.Operator)
	if err := db.Pool.Ping(ctx); err != nil { // the time to connect must not count
		return err
	}
	var e exported
	if e.Idle, err = child.ReadUsage(); err != nil {
		return err
	}
	var read counting
	began := clock.System{}.Now()
	if e.Rows, err = s.CSV(ctx, scope.System, payouts.Filter{}, &read, func() error { return nil }); err != nil {
		return err
	}
	e.Seconds, e.Bytes = since(began), int64(read)
	if e.Used, err = child.ReadUsage(); err != nil {
		return err
	}
	return l.Say(e)
}
