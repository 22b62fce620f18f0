package privacy

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Note is the text that staff wrote about a return or an adjustment in the ledger.
type Note struct {
	ID          int64 // of the ledger entry
	OccurredAt  time.Time
	Kind        models.EntryKind
	Reference   string // of the ledger entry
	PartnerID   uuid.UUID
	PartnerName string
	LeadID      *uuid.UUID
	Note        string // of a return: the code of the reason, and the text
	CreatedBy   string
	RedactedAt  *time.Time
	RedactedBy  string
}

// notesSQL selects the notes with free text. The note of a payment is the bank's reference.
const notesSQL = `SELECT n.entry_id AS id, n.occurred_at, e.kind, e.reference, e.partner_id, p.name AS partner_name, e.lead_id, n.note, e.created_by,
		n.redacted_at, n.redacted_by
	FROM ledger_notes n
		JOIN ledger_entries e ON e.id = n.entry_id AND e.occurred_at = n.occurred_at
		JOIN partners p ON p.id = e.partner_id
	WHERE e.kind = 'adjustment' OR e.kind = 'return' AND strpos(n.note, ': ') > 0`

var (
	errNoNote   = apperr.New(apperr.NotFound, "note", "Not Found")
	errRedacted = apperr.New(apperr.Conflict, "note_redacted", "This note has already been redacted. Reload the page to see when and by whom.")
	errNoteHeld = apperr.New(apperr.Conflict, "legal_hold",
		"The note was not redacted. It is about a lead under a legal hold. Release the legal hold first.")
)

// Notes returns a page of the ledger's notes, newest first.
func (s *Service) Notes(ctx context.Context, sc scope.Scope, p postgres.Page) (page []Note, newer, older bool, err error) {
	if err := p.Apply(notes(s.db.Gorm.WithContext(ctx), sc)).Find(&page).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	page, newer, older = postgres.SplitPage(p, page)
	return page, newer, older, nil
}

// FindNotes returns the newest notes that contain a text, ignoring case. The result more reports whether there are more
// than most. The text can be a consumer's name, so each search counts towards the user's daily limit of lookups. The
// audit log records the search, without the text.
//
// Errors: TooMany if the user has reached the daily limit.
func (s *Service) FindNotes(ctx context.Context, sc scope.Scope, text string, most int) (found []Note, more bool, err error) {
	search := audit.Event{Action: "notes.find", Kind: "note"}
	if err := s.countLookups(ctx, 1, search); err != nil {
		return nil, false, err
	}
	p := postgres.Page{Size: most}
	q := p.Apply(notes(s.db.Gorm.WithContext(ctx), sc)).Where("strpos(lower(note), lower(?)) > 0", text)
	if err := q.Find(&found).Error; err != nil {
		return nil, false, postgres.Translate(err)
	}
	found, _, more = postgres.SplitPage(p, found)
	search.After = map[string]any{"found": len(found)}
	return found, more, audit.New(s.db, s.clock).LogDone(ctx, s.by, search)
}

func notes(db *gorm.DB, sc scope.Scope) *gorm.DB {
	q := db.Table("(?) AS notes", db.Session(&gorm.Session{NewDB: true}).Raw(notesSQL))
	if !sc.All() {
		q = q.Where("partner_id IN ?", append(sc.IDs(), uuid.Nil))
	}
	return q
}

// Note returns the note of a ledger entry, or a NotFound error.
func (s *Service) Note(ctx context.Context, sc scope.Scope, entry int64) (Note, error) {
	n, err := findNote(s.db.Gorm.WithContext(ctx), sc, entry)
	return n, postgres.Translate(err)
}

func findNote(db *gorm.DB, sc scope.Scope, entry int64) (n Note, err error) {
	q := notes(db, sc).Where("id = ?", entry).Limit(1).Find(&n)
	if q.Error == nil && q.RowsAffected == 0 {
		return n, errNoNote
	}
	return n, q.Error
}

// RedactNote replaces the text of a note, and deletes the prepared exports of the ledger that can contain it. The
// audit event does not contain the text. The ledger entry does not change.
//
// Errors: NotFound if there is no such note in the scope, and Conflict if the note has been redacted or its lead is
// under a legal hold.
func (s *Service) RedactNote(ctx context.Context, sc scope.Scope, entry int64) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockErasures(tx); err != nil { // a legal hold could be placed otherwise
			return err
		}
		n, err := findNote(tx, sc, entry)
		switch {
		case err != nil:
			return err
		case n.RedactedAt != nil:
			return errRedacted
		case n.LeadID != nil:
			held, err := s.held(tx, []uuid.UUID{*n.LeadID})
			if err != nil {
				return err
			}
			if held[*n.LeadID] {
				return errNoteHeld
			}
		}
		if err := deleteExports(tx, deleteNoteExportsSQL, entry); err != nil {
			return err
		}
		now := s.clock.Now()
		if err := tx.Exec(`SELECT redact_ledger_note(?, ?, ?)`, entry, now, s.by.Name).Error; err != nil {
			return err
		}
		return audit.Write(tx, now, s.by, audit.Event{
			Action: "ledger.redact_note", Kind: "ledger", Object: strconv.FormatInt(entry, 10), Partner: n.PartnerID,
			After: map[string]any{"kind": n.Kind, "reference": n.Reference},
		})
	})
}
