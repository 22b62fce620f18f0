package notes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Note is a text by staff that can name a consumer: a note in the ledger, the evidence of a return, or a note on a
// finding of a reconciliation.
type Note struct {
	ID          string // such as ledger-12
	At          time.Time
	Kind        Kind
	Reference   string    // of a ledger entry
	Object      uuid.UUID // the return or reconciliation; uuid.Nil for a ledger entry
	Line        int       // of the reconciliation
	PartnerID   uuid.UUID
	PartnerName string
	LeadID      *uuid.UUID
	Note        string // of a return in the ledger: the code of the reason, and the text
	CreatedBy   string
	RedactedAt  *time.Time
	RedactedBy  string
}

// Kind is the kind of object that a note is about.
type Kind string

const (
	ReturnNote     Kind = "return"
	AdjustmentNote Kind = "adjustment"
	EvidenceNote   Kind = "return_request" // the evidence of a return and, if it was rejected, the reason
	FindingNote    Kind = "finding"
	// AdjustmentRequestNote is the reason for an adjustment that is not in the ledger and, if it was rejected, the
	// reason for that.
	AdjustmentRequestNote Kind = "adjustment_request"
)

// noteSource is a table with notes.
type noteSource struct {
	name   string                         // before the key in Note.ID
	parse  func(key string) (any, error)  // the key of a row
	notes  string                         // SQL that selects the notes, with their keys
	redact string                         // SQL that redacts a note
	event  func(Note, string) audit.Event // about the redaction; the string is the key
}

var noteSources = []noteSource{
	{
		name: "ledger", parse: parseNumber,
		// The note of a payment is the bank's reference.
		notes: `SELECT n.entry_id AS key, ('ledger-' || n.entry_id) COLLATE "C" AS id, n.occurred_at AS at, e.kind, e.reference, NULL::uuid AS object, 0 AS line,
				e.partner_id, p.name AS partner_name, e.lead_id, n.note, e.created_by, n.redacted_at, n.redacted_by
			FROM ledger_notes n
				JOIN ledger_entries e ON e.id = n.entry_id AND e.occurred_at = n.occurred_at
				JOIN partners p ON p.id = e.partner_id
			WHERE e.kind = 'adjustment' OR e.kind = 'return' AND strpos(n.note, ': ') > 0`,
		redact: `SELECT redact_ledger_note(?, ?, ?)`,
		event: func(n Note, key string) audit.Event {
			return audit.Event{
				Action: "ledger.redact_note", Kind: "ledger", Object: key,
				After: map[string]any{"kind": n.Kind, "reference": n.Reference},
			}
		},
	},
	{
		name: "return", parse: func(key string) (any, error) { return uuid.Parse(key) },
		// The ledger contains the decision about an accepted return. An open return that was redacted can be
		// rejected with another text, which can be redacted again.
		notes: `SELECT r.id AS key, ('return-' || r.id) COLLATE "C" AS id, r.requested_at AS at, 'return_request' AS kind, '' AS reference, r.id AS object, 0 AS line,
				r.partner_id, p.name AS partner_name, r.lead_id, concat_ws(E'\n', nullif(r.evidence, ''), rejection.note) AS note,
				concat_ws(', ', r.requested_by, CASE WHEN rejection.note <> '' THEN nullif(r.decided_by, r.requested_by) END) AS created_by,
				CASE WHEN r.evidence IN ('', '[redacted]') AND coalesce(rejection.note = '[redacted]', true) THEN r.redacted_at END AS redacted_at,
				r.redacted_by
			FROM returns r
				JOIN partners p ON p.id = r.partner_id
				CROSS JOIN LATERAL (SELECT CASE r.state WHEN 'rejected' THEN nullif(r.decision_note, '') END AS note) rejection
			WHERE r.evidence <> '' OR rejection.note <> ''`,
		redact: `SELECT redact_return(?, ?, ?)`,
		event: func(n Note, _ string) audit.Event {
			return audit.Event{Action: "return.redact", Kind: "return", Object: id.Format(id.Return, n.Object)}
		},
	},
	{
		name: "adjustment", parse: func(key string) (any, error) { return uuid.Parse(key) },
		// A request that was redacted can be rejected with another text, which can be redacted again.
		notes: `SELECT a.id AS key, ('adjustment-' || a.id) COLLATE "C" AS id, a.requested_at AS at,
				'adjustment_request' AS kind, '' AS reference, a.id AS object, 0 AS line,
				a.partner_id, p.name AS partner_name, a.lead_id,
				concat_ws(E'\n', nullif(a.reason, ''), nullif(a.decision_note, '')) AS note,
				concat_ws(', ', a.requested_by,
					CASE WHEN a.decision_note <> '' THEN nullif(a.decided_by, a.requested_by) END) AS created_by,
				CASE WHEN a.reason IN ('', '[redacted]') AND a.decision_note IN ('', '[redacted]')
					THEN a.redacted_at END AS redacted_at, a.redacted_by
			FROM adjustments a JOIN partners p ON p.id = a.partner_id
			WHERE a.reason <> '' OR a.decision_note <> ''`,
		redact: `SELECT redact_adjustment(?, ?, ?)`,
		event: func(n Note, _ string) audit.Event {
			return audit.Event{Action: "adjustment.redact", Kind: "adjustment", Object: id.Format(id.Adjustment, n.Object)}
		},
	},
	{
		name: "finding", parse: parseNumber,
		notes: `SELECT s.id AS key, ('finding-' || s.id) COLLATE "C" AS id, s.at, 'finding' AS kind, '' AS reference, r.id AS object, s.line,
				r.partner_id, p.name AS partner_name, l.lead_id, s.note, s.resolved_by AS created_by, s.redacted_at, s.redacted_by
			FROM reconciliation_resolutions s
				JOIN reconciliation_lines l USING (reconciliation_id, line)
				JOIN reconciliations r ON r.id = s.reconciliation_id
				JOIN partners p ON p.id = r.partner_id
			WHERE s.note <> ''`,
		redact: `SELECT redact_resolution(?, ?, ?)`,
		event: func(n Note, _ string) audit.Event {
			return audit.Event{
				Action: "reconciliation.redact_note", Kind: "reconciliation", Object: id.Format(id.Reconciliation, n.Object),
				After: map[string]any{"line": n.Line},
			}
		},
	},
}

func parseNumber(key string) (any, error) { return strconv.ParseInt(key, 10, 64) }

var (
	errNoNote   = apperr.New(apperr.NotFound, "note", "Not Found")
	errRedacted = apperr.New(apperr.Conflict, "note_redacted",
		"This note has already been redacted. Reload the page to see when and by whom.")
	errNoteHeld = apperr.New(apperr.Conflict, "legal_hold",
		"The note was not redacted. It is about a lead under a legal hold. Release the legal hold first.")
)

// Notes returns a page of the notes, newest first. The keys of the page are IDs of notes. If the note with the key no
// longer exists, Notes returns the first page.
func (s *Service) Notes(
	ctx context.Context, sc scope.Scope, p postgres.Page[string],
) (page []Note, newer, older bool, err error) {
	db := s.db.Gorm.WithContext(ctx)
	var edge Note
	if at := cmp.Or(p.Before, p.After); at != "" {
		switch edge, err = findNote(db, sc, at); {
		case errors.Is(err, errNoNote):
			p.Before, p.After = "", ""
		case err != nil:
			return nil, false, false, postgres.Translate(err)
		}
	}
	found, err := readNotes(db, sc, func(q *gorm.DB) *gorm.DB {
		q = q.Limit(p.Size + 1) // one more, to find out whether there is another page
		switch {
		case p.EndsBefore():
			return q.Where("at >= ? AND (at, id) > (?, ?)", edge.At, edge.At, edge.ID).Order("at, id")
		case p.StartsAfter():
			q = q.Where("at <= ? AND (at, id) < (?, ?)", edge.At, edge.At, edge.ID)
		}
		return q.Order("at DESC, id DESC")
	})
	if p.EndsBefore() {
		slices.Reverse(found)
	}
	page, newer, older = postgres.SplitPage(p, found)
	return page, newer, older, err
}

// Find returns the newest notes that contain a text, ignoring case. The result more reports whether there are more
// than most. The text can be a consumer's name, so each search counts towards the user's daily lookup limit. The
// audit log records the search, without the text.
//
// Errors: TooMany if the user has reached the daily limit.
func (s *Service) Find(
	ctx context.Context, sc scope.Scope, text string, most int,
) (found []Note, more bool, err error) {
	search := audit.Event{Action: "notes.find", Kind: "note"}
	if err := s.reveals.CountLookups(ctx, 1, search); err != nil {
		return nil, false, err
	}
	found, err = readNotes(s.db.Gorm.WithContext(ctx), sc, func(q *gorm.DB) *gorm.DB {
		return q.Where("strpos(lower(note), lower(?)) > 0", text).Order("at DESC, id DESC").Limit(most + 1)
	})
	if err != nil {
		return nil, false, err
	}
	if more = len(found) > most; more {
		found = found[:most]
	}
	search.After = map[string]any{"found": len(found)}
	return found, more, audit.New(s.db, s.clock).LogDone(ctx, s.by, search)
}

// readNotes returns the notes that the query selects from each source, newest first. Each source is read on its own, so
// that Postgres reads no more rows than the limit.
func readNotes(db *gorm.DB, sc scope.Scope, query func(*gorm.DB) *gorm.DB) (all []Note, err error) {
	for _, source := range noteSources {
		var found []Note
		if err := query(source.in(db, sc)).Find(&found).Error; err != nil {
			return nil, postgres.Translate(err)
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Note) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all, nil
}

// in returns a query for the notes in a scope.
func (n noteSource) in(db *gorm.DB, sc scope.Scope) *gorm.DB {
	q := db.Table("(?) AS notes", db.Session(&gorm.Session{NewDB: true}).Raw(n.notes))
	if !sc.All() {
		q = q.Where("partner_id IN ?", append(sc.IDs(), uuid.Nil))
	}
	return q
}

// Note returns the note with the given ID, or a NotFound error.
func (s *Service) Note(ctx context.Context, sc scope.Scope, note string) (Note, error) {
	n, err := findNote(s.db.Gorm.WithContext(ctx), sc, note)
	return n, postgres.Translate(err)
}

// sourceOf returns the source of a note, and the key of its row.
func sourceOf(note string) (source noteSource, key any, err error) {
	name, text, _ := strings.Cut(note, "-")
	at := slices.IndexFunc(noteSources, func(s noteSource) bool { return s.name == name })
	if at < 0 {
		return source, nil, errNoNote
	}
	if key, err = noteSources[at].parse(text); err != nil {
		return source, nil, errNoNote
	}
	return noteSources[at], key, nil
}

func findNote(db *gorm.DB, sc scope.Scope, note string) (n Note, err error) {
	source, key, err := sourceOf(note)
	if err != nil {
		return n, err
	}
	q := source.in(db, sc).Where("key = ?", key).Limit(1).Find(&n)
	if q.Error == nil && q.RowsAffected == 0 {
		return n, errNoNote
	}
	return n, q.Error
}

// Redact replaces the text of a note, and deletes the prepared exports that can contain it. The audit event does not
// contain the text. Ledger entries, returns and findings do not change otherwise.
//
// Errors: NotFound if there is no such note in the scope, and Conflict if the note has been redacted or its lead is
// under a legal hold.
func (s *Service) Redact(ctx context.Context, sc scope.Scope, note string) error {
	source, key, err := sourceOf(note)
	if err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		n, err := findNote(tx, sc, note)
		if err != nil {
			return err
		}
		if err := lockNoteExports(tx, n); err != nil {
			return err
		}
		// From now on, no legal hold is placed, and no export with the text is added to a request.
		if err := erasure.Lock(tx); err != nil {
			return err
		}
		n, err = findNote(tx, sc, note)
		switch {
		case err != nil:
			return err
		case n.RedactedAt != nil:
			return errRedacted
		case n.LeadID != nil:
			held, err := s.erasures.Held(tx, []uuid.UUID{*n.LeadID})
			if err != nil {
				return err
			}
			if held[*n.LeadID] {
				return errNoteHeld
			}
		}
		if err := deleteNoteExports(tx, n, key); err != nil {
			return err
		}
		now := s.clock.Now()
		if err := tx.Exec(source.redact, key, now, s.by.Name).Error; err != nil {
			return err
		}
		e := source.event(n, strings.TrimPrefix(n.ID, source.name+"-"))
		e.Partner = n.PartnerID
		return audit.Write(tx, now, s.by, e)
	})
}

// exportsWithNoteSQL selects the exports for consumers that can contain a note about a lead.
const exportsWithNoteSQL = `SELECT r.file_id FROM privacy_requests r JOIN privacy_request_leads l ON l.request_id = r.id
	WHERE l.lead_id = @lead AND r.file_id IS NOT NULL`

// inConsumerExports reports whether exports for consumers contain the note.
func (n Note) inConsumerExports() bool { return n.Kind == ReturnNote || n.Kind == EvidenceNote }

// lockNoteExports locks the exports for consumers that can contain a note, before the erasure journal is locked.
func lockNoteExports(tx *gorm.DB, n Note) error {
	if !n.inConsumerExports() {
		return nil
	}
	return tx.Exec(`SELECT FROM files WHERE id IN (`+exportsWithNoteSQL+`) ORDER BY id FOR UPDATE`, map[string]any{"lead": n.LeadID}).Error
}

// deleteNoteExports deletes the prepared exports that can contain a note: those of the ledger, and those for consumers.
// Other exports are not stored.
func deleteNoteExports(tx *gorm.DB, n Note, key any) error {
	if entry, ok := key.(int64); ok && n.Kind != FindingNote {
		if err := erasure.DeleteNoteExports(tx, entry); err != nil {
			return err
		}
	}
	if !n.inConsumerExports() {
		return nil
	}
	return tx.Exec(`DELETE FROM files WHERE id IN (`+exportsWithNoteSQL+`)`, map[string]any{"lead": n.LeadID}).Error
}
