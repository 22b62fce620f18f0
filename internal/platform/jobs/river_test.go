package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
)

// River's log messages contain the cause of an error, whether River logs the error or its text, but no
// user or database names and no SQL.
func TestRiverLogNamesCause(t *testing.T) {
	refused := testkit.FreeAddress(t)
	_, connect := pgx.Connect(t.Context(), "postgres://canary:canary@"+refused+"/canary")
	statement := &pgconn.PgError{Severity: "FATAL", Code: "57P01", Message: "canary", Detail: "canary"}
	var text bytes.Buffer
	for i, c := range []struct {
		attr slog.Attr
		want string
	}{
		{slog.Any("err", connect), refused + ": connection refused"},
		{slog.String("err", connect.Error()), refused + ": connection refused"},
		{slog.String("error", "error fetching canary jobs: "+statement.Error()), "SQLSTATE 57P01"},
		{slog.Any("error", statement), "SQLSTATE 57P01"},
		{slog.String("err", "canary: "+context.DeadlineExceeded.Error()), "timed out"},
		{slog.String("err", "canary: "+pgconn.ErrConnClosed.Error()), "connection lost"},
		{slog.String("err", "canary"), "the statement failed"},
	} {
		text.Reset()
		log := jobs.RiverLog(slog.New(slog.NewJSONHandler(&text, nil)))
		for range 3 { // repeated errors are not logged
			log.Error("Error fetching jobs", c.attr, slog.String("queue", "default"))
		}
		var line struct{ Error, Queue string }
		if err := json.Unmarshal(text.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line.Error, c.want) || line.Queue != "default" || strings.Contains(text.String(), "canary") {
			t.Errorf("%d: got log %s, want the error %q", i, text.String(), c.want)
		}
	}
	text.Reset()
	log := jobs.RiverLog(slog.New(slog.NewJSONHandler(&text, nil)))
	if log.Info("not an error"); text.Len() > 0 {
		t.Errorf("got log %s", text.String())
	}
	for job := range 2 { // another job is another error
		log.Error("JobExecutor: Job errored", slog.Int("job_id", job))
	}
	if n := strings.Count(text.String(), "\n"); n != 2 {
		t.Errorf("got %d lines for two jobs: %s", n, text.String())
	}
}

// After an hour, River rescues jobs that seem stuck. It must not rescue a job whose worker is still
// running.
func TestJobThatRunsForHoursIsNotRescued(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	l := s.handleBlocking()
	startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	<-l.begun
	stuck := testkit.Value[int64](t, s.db, `INSERT INTO river.river_job (kind, args, max_attempts, state, attempt, attempted_at)
		VALUES ('unknown', '{}', 1, 'running', 1, now() - interval '2 hours') RETURNING id`)
	s.db.Exec(t, `UPDATE river.river_job SET attempted_at = now() - interval '2 hours' WHERE id = $1`, *w.RiverJobID)
	s.db.Exec(t, `DELETE FROM river.river_leader`) // the next leader looks for stuck jobs at once
	testkit.Eventually(t, time.Minute, "a job without a worker is rescued",
		func() bool { return s.jobState(t, stuck) != "running" })
	if state := s.jobState(t, *w.RiverJobID); state != "running" {
		t.Errorf("got state %s for the job of a running worker, want running", state)
	}
	s.expectOneRun(t, l, w)
}
