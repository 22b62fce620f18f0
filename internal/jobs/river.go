package jobs

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivertype"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/migrations"
	"github.com/pingpost/pingpost/models"
)

// job is what River carries: which work.
type job struct {
	Work int64 `json:"work"`
}

// Kind names the job to River.
func (job) Kind() string { return "work" }

// newRiver returns River's client. It works on GORM's connections, so that jobs are put in
// and cancelled in GORM's transactions; it polls, without LISTEN.
func (q *Queue) newRiver() *river.Client[*sql.Tx] {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(q.do))
	client, err := river.NewClient(riverdatabasesql.New(q.db.SQL), &river.Config{
		Schema: migrations.RiverSchema, Logger: riverLog(q.log), Workers: workers,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxConcurrentJobs}},
		FetchPollInterval: lookEvery, JobTimeout: -1, RetryPolicy: retryPolicy{},
		ReindexerSchedule: river.NeverSchedule(), // it would need to own the tables
	})
	if err != nil {
		panic("jobs: " + err.Error()) // River rejects the settings above
	}
	return client
}

// attemptOf counts over all jobs of the work: a later job has the attempts that were left.
func attemptOf(j *rivertype.JobRow) int { return maxAttempts - j.MaxAttempts + j.Attempt }

// retryPolicy waits a second longer after each attempt. It uses the system's clock
// because River ignores a time that is before its own now.
type retryPolicy struct{}

func (retryPolicy) NextRetry(j *rivertype.JobRow) time.Time {
	return clock.System{}.Now().Add(time.Duration(attemptOf(j)) * time.Second)
}

// insertJob gives the work a new job with the attempts that are left, the only job that
// may write from now on.
func (q *Queue) insertJob(tx *gorm.DB, w *models.Job) error {
	own, ok := tx.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return errors.New("work is asked for in a transaction")
	}
	inserted, err := q.river.InsertTx(tx.Statement.Context, own, job{Work: w.ID},
		&river.InsertOpts{MaxAttempts: maxAttempts - w.Attempt})
	if err != nil {
		return err
	}
	w.JobID = &inserted.Job.ID
	return tx.Model(&models.Job{}).Where("id = ?", w.ID).Updates(map[string]any{
		"job_id": w.JobID,
		"state":  models.WorkWaiting,
	}).Error
}

// cancelJob has River cancel the work's job, and the context of its worker.
func (q *Queue) cancelJob(tx *gorm.DB, w models.Job) error {
	if w.JobID == nil {
		return nil
	}
	_, err := q.river.JobCancelTx(tx.Statement.Context, tx.Statement.ConnPool.(*sql.Tx), *w.JobID)
	if errors.Is(err, river.ErrNotFound) {
		return nil
	}
	return err
}

// riverLog is the log for River, which tells of each of its steps otherwise, and of errors in
// the words of the driver: with hosts, users and databases.
func riverLog(log *slog.Logger) *slog.Logger { return slog.New(errorsOnly{log.Handler()}) }

type errorsOnly struct{ slog.Handler }

func (h errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h errorsOnly) WithAttrs(a []slog.Attr) slog.Handler { return errorsOnly{h.Handler.WithAttrs(a)} }
func (h errorsOnly) WithGroup(name string) slog.Handler   { return errorsOnly{h.Handler.WithGroup(name)} }

func (h errorsOnly) Handle(ctx context.Context, r slog.Record) error {
	safe := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			safe.AddAttrs(slog.Any(a.Key, postgres.Translate(err)))
		} else if a.Key != "err" && a.Key != "error" { // a text by now, which nobody can translate
			safe.AddAttrs(a)
		}
		return true
	})
	return h.Handler.Handle(ctx, safe)
}
