package reconcile

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

var errTodo = errors.New("not yet")

// Settle writes down how a line of a kept result was settled.
func (s *Service) Settle(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, line int, note string) error {
	return errTodo
}

// CSV writes the lines, with a head, in bounded memory; finding "" is all of them.
func (s *Service) CSV(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, finding models.Finding, to io.Writer) (rows int64, err error) {
	return 0, errTodo
}
