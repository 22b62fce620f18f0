package reconcile

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/models"
)

// MaxNote is the maximum length of a note, in characters.
const MaxNote = 2000

var (
	errNotSaved = apperr.New(apperr.Conflict, "not_saved",
		"Lines can only be resolved in a saved result. Save the result first.")
	errNoLine = apperr.New(apperr.NotFound, "reconciliation_line", "Not Found")
)

// Resolve adds a note to a line of a saved result. If a line is resolved several times, all notes
// remain stored, and the newest one is shown.
func (s *Service) Resolve(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, line int, note string) error {
	note = plaintext.Trim(note)
	if note == "" || utf8.RuneCountInString(note) > MaxNote || !plain(note) {
		return apperr.AtField(apperr.Invalid, "note", apperr.InvalidValue, "note",
			fmt.Sprintf("Enter a note of at most %d characters, without control characters.", MaxNote))
	}
	r, err := s.Get(ctx, sc, reconciliation)
	if err != nil {
		return err
	}
	if r.State != models.ReconciliationSaved {
		return errNotSaved
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var l models.ReconciliationLine
		q := tx.Where("reconciliation_id = ? AND line = ?", reconciliation, line).Limit(1).Find(&l)
		if q.Error != nil {
			return q.Error
		}
		if q.RowsAffected == 0 {
			return errNoLine
		}
		err := tx.Create(&models.ReconciliationResolution{
			ReconciliationID: reconciliation, Line: line, Note: note, ResolvedBy: s.by.Name, At: s.clock.Now(),
		}).Error
		if err != nil {
			return err
		}
		return s.auditChange(tx, "reconciliation.resolve", r.Reconciliation,
			map[string]any{"line": line, "finding": l.Finding})
	})
}

func plain(text string) bool {
	control := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t' }
	return utf8.ValidString(text) && !strings.ContainsFunc(text, control)
}
