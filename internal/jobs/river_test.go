package jobs_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/testkit"
)

// River's log messages about database errors do not contain hosts, users or database names.
func TestRiverLogHidesConnectionDetails(t *testing.T) {
	_, err := pgx.Connect(t.Context(), "postgres://canary:canary@127.0.0.1:1/canary")
	var text bytes.Buffer
	log := jobs.RiverLog(slog.New(slog.NewJSONHandler(&text, nil)))
	log.Error("Error fetching jobs", slog.String("err", err.Error()), slog.Any("error", err), slog.Any("cause", err),
		slog.String("queue", "default"))
	log.Info("not an error")
	if got := text.String(); strings.Contains(got, "canary") || strings.Contains(got, "not an error") ||
		!strings.Contains(got, `"queue":"default"`) {
		t.Errorf("got log %s", got)
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
