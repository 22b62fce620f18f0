package reconcile

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/work"
	"github.com/pingpost/pingpost/models"
)

var errTodo = errors.New("not yet")

// Compare asks for a comparison, a dry run; from and to are days, both included. Refusals name the field:
// lead_id, amount, currency, fixed, date, numbers, dates, from, to.
func (s *Service) Compare(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int, m Mapping, from, to time.Time) error {
	return errTodo
}

// CompareNow does it at once, for the command line.
func (s *Service) CompareNow(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int, m Mapping, from, to time.Time, progress func(phase string, done, total int64)) error {
	return errTodo
}

// Keep makes the dry run the result, which never changes. The file goes.
func (s *Service) Keep(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int) error {
	return errTodo
}

// Discard gives up what was not kept.
func (s *Service) Discard(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int) error {
	return errTodo
}

// Lines is a page of lines, in the file's order.
func (s *Service) Lines(ctx context.Context, sc scope.Scope, q LineQuery) (all []Line, newer, older bool, err error) {
	return nil, false, false, errTodo
}

// OpenLines counts, by finding, the lines other than matched ones that are not settled.
func (s *Service) OpenLines(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID) (map[models.Finding]int64, error) {
	return nil, errTodo
}

// Settle writes down how a line of a kept result was settled.
func (s *Service) Settle(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, line int, note string) error {
	return errTodo
}

// CSV writes the lines, with a head, in bounded memory; finding "" is all of them.
func (s *Service) CSV(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, finding models.Finding, to io.Writer) (rows int64, err error) {
	return 0, errTodo
}

func (s *Service) compare(ctx context.Context, w *work.Run) error { return errTodo }

func (s *Service) undo(tx *gorm.DB, w models.Work) error { return errTodo }
