package privacy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/journal"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errNoJournal = apperr.New(apperr.Unavailable, "no_journal",
		"Nothing was erased. Erasing needs an erasure journal. Ask an operator to configure privacy.erasure_journal.")
	errJournalUnavailable = apperr.New(apperr.Unavailable, "journal_unavailable",
		"The erasure journal cannot be read. Ask an operator to check privacy.erasure_journal.")
	errJournalAhead = apperr.New(apperr.Unavailable, "journal_ahead",
		"The erasure journal contains erasures that this database does not. An older backup was probably restored. Ask an operator to run `pingpost erasures replay`.")
	errJournalDiffers = apperr.New(apperr.Unavailable, "journal_differs",
		"The erasure journal does not belong to this database, or was changed. Ask an operator to check privacy.erasure_journal.")
	errPending = apperr.New(apperr.Unavailable, "journal_write",
		"Nothing has been erased yet, because the erasure journal cannot be written. The erasure is recorded, and is carried out as soon as the journal can be written. Ask an operator to check its disk.")
)

// CheckJournal compares the last entry of the erasure journal with the database. If they differ, no
// personal data may be read, because it may have been erased.
//
// Errors: Unavailable with the reason journal_unavailable, journal_ahead (an older backup of the
// database was restored) or journal_differs.
func (s *Service) CheckJournal(ctx context.Context) error {
	last, found, err := s.lastEntry(s.db.Gorm.WithContext(ctx), "")
	if err != nil {
		return err
	}
	if s.journal == nil {
		if found {
			return errJournalUnavailable
		}
		return nil
	}
	// Entries that are pending may not have been written yet. The last one that is not must be there.
	written, _, err := s.lastEntry(s.db.Gorm.WithContext(ctx), "erased_at IS NOT NULL")
	if err != nil {
		return err
	}
	if err := s.compare(written, true); err != nil {
		return err
	}
	if last.Sequence > written.Sequence {
		if err := s.compare(last, false); err != nil {
			return err
		}
	}
	switch _, err := s.journal.Read(last.Sequence + 1); {
	case err == nil:
		return errJournalAhead
	case !errors.Is(err, journal.ErrNotFound):
		return errJournalUnavailable.WithCause(err)
	}
	return nil
}

// compare compares an entry with the journal. If it must exist, it may not be missing there.
func (s *Service) compare(e models.ErasureEntry, mustExist bool) error {
	if e.Sequence == 0 {
		return nil
	}
	text, err := s.journal.Read(e.Sequence)
	switch {
	case errors.Is(err, journal.ErrNotFound) && !mustExist:
		return nil
	case errors.Is(err, journal.ErrNotFound):
		return errJournalDiffers.WithCause(err)
	case err != nil:
		return errJournalUnavailable.WithCause(err)
	case journal.HashOf(text) != journal.Hash(e.Hash):
		return errJournalDiffers
	}
	return nil
}

// lastEntry returns the last entry in the database that meets a condition. found is false if there is
// none.
func (s *Service) lastEntry(tx *gorm.DB, condition string) (e models.ErasureEntry, found bool, err error) {
	q := tx.Order("sequence DESC").Limit(1)
	if condition != "" {
		q = q.Where(condition)
	}
	q = q.Find(&e)
	return e, q.RowsAffected > 0, postgres.Translate(q.Error)
}

// addEntry adds a pending entry for leads to the database. Other transactions that add entries wait
// until tx ends.
func (s *Service) addEntry(tx *gorm.DB, reason models.ErasureReason, note string, leads []uuid.UUID) (e models.ErasureEntry, err error) {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('erasure journal'))`).Error; err != nil {
		return e, err
	}
	last, found, err := s.lastEntry(tx, "")
	if err != nil {
		return e, err
	}
	entry := journal.Entry{Sequence: last.Sequence + 1, At: s.clock.Now().UTC(), By: "operator", Reason: string(reason)}
	if found {
		entry.Previous = journal.Hash(last.Hash)
	}
	if s.by.Staff != uuid.Nil {
		entry.By = id.Format(id.Staff, s.by.Staff)
	}
	for _, lead := range leads {
		entry.Leads = append(entry.Leads, id.Format(id.Lead, lead))
	}
	text, err := entry.Text()
	if err != nil {
		return e, err
	}
	e = storedEntry(entry, text)
	e.Actor = s.by.Name
	if s.by.Staff != uuid.Nil {
		e.StaffID = &s.by.Staff
	}
	return e, store(tx, e, note, leads)
}

// storedEntry returns the row for an entry.
func storedEntry(e journal.Entry, text []byte) models.ErasureEntry {
	hash := journal.HashOf(text)
	return models.ErasureEntry{Sequence: e.Sequence, Hash: hash[:], Body: text, Reason: models.ErasureReason(e.Reason), RequestedAt: e.At}
}

// store inserts an entry and its erasures.
func store(tx *gorm.DB, e models.ErasureEntry, note string, leads []uuid.UUID) error {
	if err := tx.Omit("erased_at").Create(&e).Error; err != nil {
		return err
	}
	rows := make([]models.Erasure, len(leads))
	for i, lead := range leads {
		rows[i] = models.Erasure{LeadID: lead, Sequence: e.Sequence, Note: note}
	}
	return tx.Create(&rows).Error
}

// FinishErasures carries out the pending erasures, in order: it writes each entry to the journal, and
// then erases its leads. It is called after an entry was added, and repeatedly by each node, so that an
// erasure is finished even if the node that began it was killed. Several nodes may call it at once.
func (s *Service) FinishErasures(ctx context.Context) error {
	if s.journal == nil {
		return nil
	}
	for {
		var next models.ErasureEntry
		q := s.db.Gorm.WithContext(ctx).Where("erased_at IS NULL").Order("sequence").Limit(1).Find(&next)
		if q.Error != nil || q.RowsAffected == 0 {
			return postgres.Translate(q.Error)
		}
		switch err := s.journal.Write(next.Sequence, next.Body); {
		case errors.Is(err, journal.ErrConflict):
			return errJournalAhead.WithCause(err)
		case err != nil:
			return errPending.WithCause(err)
		}
		if err := s.eraseLeads(ctx, next.Sequence, s.clock.Now()); err != nil {
			return err
		}
	}
}

func (s *Service) eraseLeads(ctx context.Context, sequence int64, at time.Time) error {
	return postgres.Translate(s.db.Gorm.WithContext(ctx).Exec(`SELECT erase_leads(?, ?)`, sequence, at).Error)
}

// Replayed is the result of ReplayErasures.
type Replayed struct {
	Entries int   `json:"entries"` // that the database did not have
	Leads   int64 `json:"leads"`   // in these entries
}

// ReplayErasures erases the leads that are in the journal and not in the database. This is necessary
// after an older backup of the database was restored. It can be interrupted and called again.
func (s *Service) ReplayErasures(ctx context.Context) (done Replayed, err error) {
	if s.journal == nil {
		return done, errNoJournal
	}
	if err := s.FinishErasures(ctx); err != nil {
		return done, err
	}
	for {
		last, _, err := s.lastEntry(s.db.Gorm.WithContext(ctx), "")
		if err != nil {
			return done, err
		}
		if err := s.compare(last, true); err != nil {
			return done, err
		}
		leads, err := s.replay(ctx, last)
		if errors.Is(err, journal.ErrNotFound) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		done.Entries++
		done.Leads += int64(leads)
	}
}

// replay adds the journal's entry after last to the database and erases its leads.
func (s *Service) replay(ctx context.Context, last models.ErasureEntry) (leads int, err error) {
	entry, text, err := s.readNext(last.Sequence, last.Hash)
	if err != nil {
		return 0, err
	}
	ids, err := parseLeads(entry)
	if err != nil {
		return 0, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		e := storedEntry(entry, text)
		e.Actor = entry.By
		if staff, err := id.Parse(id.Staff, entry.By); err == nil {
			var known int64
			if err := tx.Model(&models.Staff{}).Where("id = ?", staff).Count(&known).Error; err != nil {
				return err
			}
			if known > 0 { // the user may have been created after the backup
				e.StaffID = &staff
			}
		}
		return store(tx, e, "", ids)
	})
	if err != nil {
		return 0, postgres.Translate(err)
	}
	return len(ids), s.eraseLeads(ctx, entry.Sequence, entry.At)
}

// readNext returns the entry of the journal that follows the entry with the given sequence number and
// hash.
func (s *Service) readNext(sequence int64, hash []byte) (e journal.Entry, text []byte, err error) {
	text, err = s.journal.Read(sequence + 1)
	if errors.Is(err, journal.ErrNotFound) {
		return e, nil, err
	}
	if err != nil {
		return e, nil, errJournalUnavailable.WithCause(err)
	}
	var previous journal.Hash
	copy(previous[:], hash)
	e, err = journal.Parse(text, sequence+1, previous)
	if err != nil {
		return e, nil, errJournalDiffers.WithCause(err)
	}
	return e, text, nil
}

func parseLeads(e journal.Entry) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(e.Leads))
	for i, text := range e.Leads {
		var err error
		if ids[i], err = id.Parse(id.Lead, text); err != nil {
			return nil, errJournalDiffers.WithCause(fmt.Errorf("entry %d: %w", e.Sequence, err))
		}
	}
	return ids, nil
}

// Verified is the result of VerifyErasures.
type Verified struct {
	Entries int64  `json:"entries"`
	Head    string `json:"head"` // the hash of the last entry, in hexadecimal; "" if there is none
}

// VerifyErasures reads the whole journal and checks that each entry follows the one before, and that it
// is the same in the database.
func (s *Service) VerifyErasures(ctx context.Context) (v Verified, err error) {
	if s.journal == nil {
		return v, errNoJournal
	}
	var hash []byte
	for {
		_, text, err := s.readNext(v.Entries, hash)
		if errors.Is(err, journal.ErrNotFound) {
			break
		}
		if err != nil {
			return v, err
		}
		h := journal.HashOf(text)
		hash = h[:]
		v.Entries++
		v.Head = h.String()
		var same int64
		err = s.db.Gorm.WithContext(ctx).Model(&models.ErasureEntry{}).
			Where("sequence = ? AND hash = ? AND body = ? AND erased_at IS NOT NULL", v.Entries, hash, text).Count(&same).Error
		if err != nil {
			return v, postgres.Translate(err)
		}
		if same == 0 {
			return v, errJournalAhead.WithCause(fmt.Errorf("entry %d is not in the database", v.Entries))
		}
	}
	return v, s.CheckJournal(ctx)
}
