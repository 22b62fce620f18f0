package erasure

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errNoJournal = apperr.New(apperr.Unavailable, "no_journal",
		"Nothing was erased. Erasing needs an erasure journal. Ask an operator to configure privacy.erasure_journal.")
	errJournalUnavailable = apperr.New(apperr.Unavailable, "journal_unavailable",
		"The erasure journal cannot be read. Ask an operator to check privacy.erasure_journal.")
	errJournalAhead = apperr.New(apperr.Unavailable, "journal_ahead",
		"The erasure journal contains erasures that this database does not. An older backup was probably restored. Ask an operator to run `pingpost erasures replay`.")
	errJournalReadOnly = apperr.New(apperr.Unavailable, "journal_read_only",
		"The erasure journal can be read but not written, so no leads can be erased. Ask an operator to check privacy.erasure_journal.")
	errJournalDiffers = apperr.New(apperr.Unavailable, "journal_differs",
		"The erasure journal does not belong to this database, or was changed. Ask an operator to check privacy.erasure_journal.")
	errJournalKey = apperr.New(apperr.Unavailable, "journal_key",
		"The erasure journal's key is unknown. Ask an operator to check keys.platform_keys and privacy.erasure_journal_fingerprint.")
	errPending = apperr.New(apperr.Unavailable, "erasure_pending",
		"Nothing has been erased yet, because the erasure journal cannot be written to. The erasure has been recorded, and will be carried out as soon as the journal can be written to. Ask an operator to check privacy.erasure_journal.")
	errPartlyPending = apperr.New(apperr.Unavailable, "erasure_partly_pending",
		"Some leads have not been erased yet, because the erasure journal cannot be written to. The erasure has been recorded, and will be carried out as soon as the journal can be written to. Ask an operator to check privacy.erasure_journal.")
	errNotErased = apperr.New(apperr.Unavailable, "not_erased",
		"Some leads in the erasure journal have not been erased from this database. Part of it was probably restored from a backup. Ask an operator to run `pingpost erasures replay`.")
)

// inFile returns a copy of an error. The copy names the file or object that contains an entry of the journal.
func inFile(e *apperr.Error, sequence int64, cause error) error {
	named := *e
	named.Message += " File: " + journal.Name(sequence) + "."
	return named.WithCause(cause)
}

// HasJournal reports whether an erasure journal is configured.
func (s *Service) HasJournal() bool { return s.journal != nil }

// RequireJournal returns an Unavailable error with the reason no_journal if no erasure journal is configured, so that
// nothing can be erased.
func (s *Service) RequireJournal() error {
	if !s.HasJournal() {
		return errNoJournal
	}
	return nil
}

// CheckJournal compares the last entry of the erasure journal with the database. If they differ, no
// personal data may be read, because it may have been erased.
//
// Errors: Unavailable with the reason journal_unavailable, journal_ahead (an older backup of the
// database was restored) or journal_differs.
func (s *Service) CheckJournal(ctx context.Context) error {
	last, err := s.lastEntry(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return err
	}
	if s.journal == nil {
		if last.Sequence > 0 {
			return errJournalUnavailable.WithCause(errors.New("privacy.erasure_journal is not set"))
		}
		return nil
	}
	// Pending entries may not have been written yet. The last entry that is not pending must be there.
	written, err := s.lastEntry(s.db.Gorm.WithContext(ctx).Where("erased_at IS NOT NULL"))
	if err != nil {
		return err
	}
	if err := s.compare(ctx, written, true); err != nil {
		return err
	}
	if last.Sequence > written.Sequence {
		if err := s.compare(ctx, last, false); err != nil {
			return err
		}
	}
	end, err := s.journal.Last(ctx, last.Sequence)
	if err != nil {
		return errJournalUnavailable.WithCause(err)
	}
	if end == 0 {
		return nil
	}
	// Another node may have added entries since the database was read.
	if last, err = s.lastEntry(s.db.Gorm.WithContext(ctx)); err != nil || end <= last.Sequence {
		return err
	}
	switch _, _, _, err := s.readNext(ctx, last); {
	case errors.Is(err, journal.ErrNotFound):
		return inFile(errJournalDiffers, end, errors.New("the entry before it is missing"))
	case err != nil:
		return err
	}
	return inFile(errJournalAhead, last.Sequence+1, nil)
}

// CheckJournalWrite checks that erasures can be written to the journal.
//
// Errors: Unavailable with the reason journal_read_only.
func (s *Service) CheckJournalWrite(ctx context.Context) error {
	if s.journal == nil {
		return nil
	}
	if err := s.journal.CheckWrite(ctx); err != nil {
		return errJournalReadOnly.WithCause(err)
	}
	return nil
}

// compare checks that an entry in the database is the same in the journal. If the journal does not
// contain the entry, compare returns an error only if mustExist is true.
func (s *Service) compare(ctx context.Context, e journal.Head, mustExist bool) error {
	if e.Sequence == 0 {
		return nil
	}
	text, err := s.journal.Read(ctx, e.Sequence)
	switch {
	case errors.Is(err, journal.ErrNotFound) && !mustExist:
		return nil
	case errors.Is(err, journal.ErrNotFound):
		return inFile(errJournalDiffers, e.Sequence, err)
	case err != nil:
		return inFile(errJournalUnavailable, e.Sequence, err)
	case journal.HashOf(text) != e.Hash:
		return inFile(errJournalDiffers, e.Sequence, errors.New("the entry is different in the database"))
	}
	return nil
}

// lastEntry returns the last of the entries that tx selects in the database. If there is none, the
// sequence number of the result is 0.
func (s *Service) lastEntry(tx *gorm.DB) (last journal.Head, err error) {
	var e models.ErasureEntry
	err = tx.Select("sequence", "hash", "key").Order("sequence DESC").Limit(1).Find(&e).Error
	last.Sequence, last.Key = e.Sequence, e.Key
	copy(last.Hash[:], e.Hash)
	return last, postgres.Translate(err)
}

// checkFirstKey returns errJournalKey unless the given public key, with which a journal begins, is the
// platform's. It is known from the configured fingerprint, from the database or from the platform keys.
func (s *Service) checkFirstKey(ctx context.Context, first ed25519.PublicKey) error {
	if configured := s.settings.JournalFingerprint; configured != "" {
		if configured == journal.Fingerprint(first) {
			return nil
		}
		return inFile(errJournalKey, 1,
			errors.New("the journal does not begin with the key of privacy.erasure_journal_fingerprint"))
	}
	var e models.ErasureEntry
	if err := s.db.Gorm.WithContext(ctx).Select("key").Where("sequence = 1").Limit(1).Find(&e).Error; err != nil {
		return postgres.Translate(err)
	}
	known := first.Equal(ed25519.PublicKey(e.Key))
	for _, key := range s.platform.JournalKeys() {
		known = known || len(e.Key) == 0 && first.Equal(key.Public())
	}
	if !known {
		return inFile(errJournalKey, 1, errors.New("the journal begins with an unknown key"))
	}
	return nil
}

// signer returns the key that signs the entry after the last one in the database.
func (s *Service) signer(last journal.Head) (ed25519.PrivateKey, error) {
	for _, key := range s.platform.JournalKeys() {
		public := publicKey(key)
		first := last.Sequence == 0 && (s.settings.JournalFingerprint == "" ||
			s.settings.JournalFingerprint == journal.Fingerprint(public))
		if first || public.Equal(last.Key) {
			return key, nil
		}
	}
	return nil, errJournalKey
}

func publicKey(key ed25519.PrivateKey) ed25519.PublicKey {
	return key.Public().(ed25519.PublicKey) //nolint:forcetypeassert // always this type
}

// platform returns the random id that identifies this platform in its journal.
func platform(tx *gorm.DB) (p string, err error) {
	err = tx.Raw(`SELECT platform FROM erasure_journal`).Scan(&p).Error
	return p, err
}

// Lock makes other transactions that add entries or change legal holds wait until tx ends.
// docs/explanation/reliability.md describes which locks tx takes before and after it.
func Lock(tx *gorm.DB) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('erasure journal'))`).Error
}

// LeadsPerEntry is the maximum number of leads in an entry of the erasure journal.
const LeadsPerEntry = 1000

// AddEntry adds a pending entry for the given leads to the database. There can be at most LeadsPerEntry.
func (s *Service) AddEntry(tx *gorm.DB, reason models.ErasureReason, note string, leads []uuid.UUID) error {
	return s.addEntryLike(tx, journal.Entry{By: "operator", Reason: string(reason)}, note, leads)
}

// AddRetentionEntry adds a pending entry for leads whose retention period has passed. There can be at most
// LeadsPerEntry. If keepsConsent is true, the details of their consents are not erased.
func (s *Service) AddRetentionEntry(tx *gorm.DB, keepsConsent bool, leads []uuid.UUID) error {
	entry := journal.Entry{By: "retention", Reason: string(models.EraseForRetention), KeepsConsent: keepsConsent}
	return s.addEntryLike(tx, entry, "", leads)
}

// addEntryLike adds a pending entry for leads to the database, with the reason of the given entry. It
// also copies whether consents are kept, a new key and, unless a user erases the leads, who erases them.
func (s *Service) addEntryLike(tx *gorm.DB, entry journal.Entry, note string, leads []uuid.UUID) error {
	if err := Lock(tx); err != nil {
		return err
	}
	platformID, err := platform(tx)
	if err != nil {
		return err
	}
	last, err := s.lastEntry(tx)
	if err != nil {
		return err
	}
	signer, err := s.signer(last)
	if err != nil {
		return err
	}
	entry.Platform, entry.Sequence, entry.Previous, entry.At = platformID, last.Sequence+1, last.Hash, s.clock.Now().UTC()
	if entry.Key == nil {
		entry.Key = publicKey(signer)
	}
	if s.by.Staff != uuid.Nil {
		entry.By = id.Format(id.Staff, s.by.Staff)
	}
	entry.Leads = formatLeads(leads)
	text, err := entry.Sign(signer)
	if err != nil {
		return err
	}
	e := newEntry(entry, text)
	e.Actor, e.StaffID = s.by.Name, s.by.StaffID()
	return store(tx, e, note, leads)
}

func formatLeads(leads []uuid.UUID) []string {
	texts := make([]string, len(leads))
	for i, lead := range leads {
		texts[i] = id.Format(id.Lead, lead)
	}
	return texts
}

// ChangeJournalKey adds an entry to the journal, so that the next entries are signed with the key of the first
// platform key. It reports whether they were signed with another key before. It does nothing if the journal has
// no entries.
//
// Errors: Unavailable with the reason journal_key if the platform key of the last entry is not configured, and
// those of CheckJournal and Finish.
func (s *Service) ChangeJournalKey(ctx context.Context) (changed bool, err error) {
	if s.journal == nil {
		return false, nil
	}
	if err := s.CheckJournal(ctx); err != nil {
		return false, err
	}
	next := publicKey(s.platform.JournalKeys()[0])
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := Lock(tx); err != nil {
			return err
		}
		last, err := s.lastEntry(tx)
		changed = last.Sequence > 0 && !next.Equal(last.Key)
		if err != nil || !changed {
			return err
		}
		return s.addEntryLike(tx, journal.Entry{By: "operator", Reason: journal.ReasonKey, Key: next}, "", nil)
	})
	if err != nil || !changed {
		return false, err
	}
	return true, s.Finish(ctx)
}

// JournalKey returns the id of the platform key that the key of the journal is derived from. The result ok is
// false if this platform key is not configured. The journal has no key until its first entry.
func (s *Service) JournalKey(ctx context.Context) (key keyring.KeyID, ok bool, err error) {
	last, err := s.lastEntry(s.db.Gorm.WithContext(ctx))
	if err != nil || last.Sequence == 0 {
		return key, err == nil, err
	}
	for i, signer := range s.platform.JournalKeys() {
		if last.Key.Equal(signer.Public()) {
			return s.platform.IDs()[i], true, nil
		}
	}
	return key, false, nil
}

func newEntry(e journal.Entry, text []byte) models.ErasureEntry {
	hash := journal.HashOf(text)
	return models.ErasureEntry{
		Sequence: e.Sequence, Hash: hash[:], Body: text, Key: e.Key,
		Reason: models.ErasureReason(e.Reason), RequestedAt: e.At, KeepsConsent: e.KeepsConsent,
	}
}

const (
	// Posts run during the pauses between batches.
	erasureBatch = 100
	erasurePause = 4 * time.Millisecond
)

const addErasuresSQL = `INSERT INTO erasures (lead_id, sequence, note) SELECT lead, ?, ? FROM unnest(?::uuid[]) AS lead`

// store inserts a pending entry and its erasures.
func store(tx *gorm.DB, e models.ErasureEntry, note string, leads []uuid.UUID) error {
	if err := tx.Omit("erased_at").Create(&e).Error; err != nil {
		return err
	}
	for len(leads) > 0 {
		batch := leads[:min(len(leads), erasureBatch)]
		if err := tx.Exec(addErasuresSQL, e.Sequence, note, postgres.Array(batch)).Error; err != nil {
			return err
		}
		if leads = leads[len(batch):]; len(leads) > 0 {
			if err := clock.Sleep(tx.Statement.Context, erasurePause); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish carries out the pending erasures, in order: it writes each entry to the journal, and
// then erases its leads. Erase calls it after it has added an entry. Each node also calls it
// repeatedly, so that an erasure is finished even if the node that began it was killed. Several nodes
// may call it at the same time. If the leads of an entry cannot be erased, Finish continues
// with the next entry.
func (s *Service) Finish(ctx context.Context) error {
	if s.journal == nil {
		return nil
	}
	var failed error
	for after := int64(0); ; {
		var next models.ErasureEntry
		q := s.db.Gorm.WithContext(ctx).Where("erased_at IS NULL AND sequence > ?", after).Order("sequence").Limit(1).
			Find(&next)
		if q.Error != nil || q.RowsAffected == 0 {
			return errors.Join(failed, postgres.Translate(q.Error))
		}
		switch err := s.journal.Write(ctx, next.Sequence, next.Body); {
		case errors.Is(err, journal.ErrConflict):
			return inFile(errJournalDiffers, next.Sequence, err)
		case err != nil && after > 0: // earlier entries were carried out
			return errPartlyPending.WithCause(err)
		case err != nil:
			return errPending.WithCause(err)
		}
		failed = errors.Join(failed, s.eraseLeads(ctx, next.Sequence))
		after = next.Sequence
	}
}

// Pending returns the number of entries that have not been carried out.
func (s *Service) Pending(ctx context.Context) (n int64, err error) {
	err = s.db.Gorm.WithContext(ctx).Model(&models.ErasureEntry{}).Where("erased_at IS NULL").Count(&n).Error
	return n, postgres.Translate(err)
}

// leadsOfEntry returns the ids of the leads in an entry, in ascending order.
func leadsOfEntry(tx *gorm.DB, sequence int64) (ids []uuid.UUID, err error) {
	err = tx.Model(&models.Erasure{}).Where("sequence = ?", sequence).Order("lead_id").Pluck("lead_id", &ids).Error
	return ids, err
}

// LockLeads locks leads. Their ids must be in ascending order. docs/explanation/reliability.md describes which locks a
// transaction takes before and after those on leads. Posts do not wait for these locks.
func LockLeads(tx *gorm.DB, ids []uuid.UUID) error {
	for batch := range slices.Chunk(ids, LeadsPerEntry) {
		err := tx.Exec(`SELECT FROM leads WHERE id IN ? AND id BETWEEN ? AND ? ORDER BY id FOR NO KEY UPDATE`, batch, batch[0], batch[len(batch)-1]).Error
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) eraseLeads(ctx context.Context, sequence int64) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// The leads of an entry can be in many partitions. The default limit is for requests of users.
		if err := tx.Exec(`SET LOCAL statement_timeout = '1min'`).Error; err != nil {
			return err
		}
		ids, err := leadsOfEntry(tx, sequence)
		if err != nil {
			return err
		}
		if err := LockLeads(tx, ids); err != nil {
			return err
		}
		// This may wait for other transactions. Until erase_leads locks the other rows, retries of the leads'
		// posts do not wait.
		if err := deleteExports(tx, deleteExportsSQL, sequence); err != nil {
			return err
		}
		return tx.Exec(`SELECT erase_leads(?, ?)`, sequence, s.clock.Now()).Error
	})
}

// checkEnd is called if the journal does not contain the entry after the given sequence number. If the
// journal contains an even later entry, an entry is missing, and checkEnd returns an error.
func (s *Service) checkEnd(ctx context.Context, sequence int64) error {
	switch last, err := s.journal.Last(ctx, sequence); {
	case err != nil:
		return errJournalUnavailable.WithCause(err)
	case last > 0:
		return inFile(errJournalDiffers, last, errors.New("an entry before it is missing"))
	}
	return nil
}

// readNext returns the journal entry that follows the entry last.
func (s *Service) readNext(
	ctx context.Context, last journal.Head,
) (e journal.Entry, text []byte, next journal.Head, err error) {
	platformID, err := platform(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return e, nil, last, postgres.Translate(err)
	}
	text, err = s.journal.Read(ctx, last.Sequence+1)
	if errors.Is(err, journal.ErrNotFound) {
		return e, nil, last, err
	}
	if err != nil {
		return e, nil, last, inFile(errJournalUnavailable, last.Sequence+1, err)
	}
	e, next, err = last.Next(text, platformID)
	if err != nil {
		return e, nil, last, inFile(errJournalDiffers, last.Sequence+1, err)
	}
	if last.Sequence == 0 {
		err = s.checkFirstKey(ctx, e.Key)
	}
	return e, text, next, err
}

// parseLeads returns the ids of the leads in an entry, in ascending order.
func parseLeads(e journal.Entry) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(e.Leads))
	for i, text := range e.Leads {
		var err error
		if ids[i], err = id.Parse(id.Lead, text); err != nil {
			return nil, inFile(errJournalDiffers, e.Sequence, err)
		}
	}
	slices.SortFunc(ids, id.Compare)
	return ids, nil
}
