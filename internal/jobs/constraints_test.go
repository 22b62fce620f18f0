package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// A violation in a handler's transactions has the handler's error: work that runs into
// one fails at once, and a cancellation that does is rejected with it.
func TestHandlerConstraints(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	exists := apperr.New(apperr.Conflict, "exists", "The export exists already.")
	twice := func(tx *gorm.DB) error {
		return tx.Exec(`INSERT INTO exports (id, staff_id, filter, made_at) SELECT $1, $1, '{}', now() FROM generate_series(1, 2)`,
			uuid.New()).Error
	}
	s.Handle(models.WorkExport, jobs.Handler{
		Do:          func(ctx context.Context, r *jobs.Run) error { return r.Commit(ctx, twice) },
		Undo:        func(tx *gorm.DB, w models.Work) error { return twice(tx) },
		Constraints: postgres.Constraints{"exports_pkey": exists},
	})
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, s.ask(t, uuid.Nil).ID); !errors.Is(err, exists) {
		t.Errorf("cancelling: %v", err)
	}
	s.Handle(models.WorkExport, jobs.Handler{
		Do:          func(ctx context.Context, r *jobs.Run) error { return r.Commit(ctx, twice) },
		Constraints: postgres.Constraints{"exports_pkey": exists},
	})
	runs(t, s.Queue)
	if w := s.becomes(t, s.ask(t, uuid.Nil), models.WorkFailed); w.Attempt != 1 || w.Failure != exists.Message {
		t.Errorf("after %d tries: %q", w.Attempt, w.Failure)
	}
}
