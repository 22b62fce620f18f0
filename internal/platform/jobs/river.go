package jobs

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivertype"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
	"github.com/pingpost/pingpost/models"
)

type job struct {
	ID int64 `json:"id"` // of the row in the table jobs
}

// Kind implements river.JobArgs. All River jobs are of the same kind.
func (job) Kind() string { return "job" }

// newRiver returns a client for the queue library River. The client uses GORM's connections, so that
// jobs can be inserted and cancelled in GORM's transactions.
func (q *Queue) newRiver() *river.Client[*sql.Tx] {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(q.do))
	client, err := river.NewClient(riverdatabasesql.New(q.db.SQL), &river.Config{
		Schema: migrations.RiverSchema, Logger: riverLog(q.log), Workers: workers,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxConcurrentJobs}},
		FetchPollInterval: pollInterval, JobTimeout: -1, RetryPolicy: retryPolicy{},
		ReindexerSchedule: river.NeverSchedule(), // reindexing would fail, because the service does not own the tables
	})
	if err != nil {
		panic("jobs: " + err.Error()) // this happens only if the settings above are invalid
	}
	return client
}

// attemptOf returns the number of the current attempt to run a job, including the attempts of earlier
// River jobs for the same row. A River job that replaces another one gets only the remaining attempts.
func attemptOf(j *rivertype.JobRow) int { return maxAttempts - j.MaxAttempts + j.Attempt }

// retryPolicy waits one second after the first attempt, and one second longer after each further
// attempt. It uses the system's clock, because River compares the time of the next attempt with that
// clock.
type retryPolicy struct{}

func (retryPolicy) NextRetry(j *rivertype.JobRow) time.Time {
	return clock.System{}.Now().Add(time.Duration(attemptOf(j)) * time.Second)
}

// insertRiverJob inserts a River job for w, with the remaining attempts. After that, only this River job may
// write for w.
func (q *Queue) insertRiverJob(tx *gorm.DB, w *models.Job) error {
	own, ok := tx.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return errors.New("jobs must be enqueued in a transaction")
	}
	inserted, err := q.river.InsertTx(tx.Statement.Context, own, job{ID: w.ID},
		&river.InsertOpts{MaxAttempts: maxAttempts - w.Attempt})
	if err != nil {
		return err
	}
	w.RiverJobID = &inserted.Job.ID
	return tx.Model(&models.Job{}).Where("id = ?", w.ID).Updates(map[string]any{
		"river_job_id": w.RiverJobID,
		"state":        models.JobWaiting,
	}).Error
}

// cancelRiverJob cancels the River job of w and the context of its worker.
func (q *Queue) cancelRiverJob(tx *gorm.DB, w models.Job) error {
	if w.RiverJobID == nil {
		return nil
	}
	_, err := q.river.JobCancelTx(tx.Statement.Context, tx.Statement.ConnPool.(*sql.Tx), *w.RiverJobID)
	if errors.Is(err, river.ErrNotFound) {
		return nil
	}
	return err
}

// riverLog returns a logger for River. It logs only errors, and omits SQL, and user and database names. While a failure
// lasts, River reports it every second, but it is logged only once a minute.
func riverLog(log *slog.Logger) *slog.Logger {
	return slog.New(errorsOnly{log.Handler(), &failures{byMessage: map[string]failurelog.State{}}})
}

// failures contains the errors that River reported last.
type failures struct {
	mu        sync.Mutex
	byMessage map[string]failurelog.State
}

// due reports whether to log an error.
func (f *failures) due(r slog.Record) bool {
	reason := ""
	r.Attrs(func(a slog.Attr) bool {
		reason += a.String() + " "
		return true
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.byMessage[r.Message]
	due := state.Due(reason, r.Time)
	f.byMessage[r.Message] = state
	return due
}

type errorsOnly struct {
	slog.Handler
	failures *failures
}

func (h errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h errorsOnly) WithAttrs(a []slog.Attr) slog.Handler {
	return errorsOnly{h.Handler.WithAttrs(a), h.failures}
}

func (h errorsOnly) WithGroup(name string) slog.Handler {
	return errorsOnly{h.Handler.WithGroup(name), h.failures}
}

func (h errorsOnly) Handle(ctx context.Context, r slog.Record) error {
	safe := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			safe.AddAttrs(slog.Any("error", postgres.Translate(err)))
		} else if a.Key == "err" || a.Key == "error" {
			safe.AddAttrs(slog.Any("error", postgres.TranslateText(a.Value.String())))
		} else {
			safe.AddAttrs(a)
		}
		return true
	})
	if !h.failures.due(safe) {
		return nil
	}
	return h.Handler.Handle(ctx, safe)
}
