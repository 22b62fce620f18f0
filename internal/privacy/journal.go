package privacy

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
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
		"The key of the erasure journal is not known. Ask an operator to check keys.platform_keys and privacy.erasure_journal_fingerprint.")
	errPending = apperr.New(apperr.Unavailable, "erasure_pending",
		"Nothing has been erased yet, because the erasure journal cannot be written. The erasure is recorded, and is carried out as soon as the journal can be written. Ask an operator to check privacy.erasure_journal.")
	errPartlyPending = apperr.New(apperr.Unavailable, "erasure_partly_pending",
		"Some leads have not been erased yet, because the erasure journal cannot be written. The erasure is recorded, and is carried out as soon as the journal can be written. Ask an operator to check privacy.erasure_journal.")
	errNotErased = apperr.New(apperr.Unavailable, "not_erased",
		"Leads that are in the erasure journal are not erased in this database. A part of it was probably restored from a backup. Ask an operator to run `pingpost erasures replay`.")
)

// inFile returns a copy of an error that names the file or object with an entry of the journal.
func inFile(e *apperr.Error, sequence int64, cause error) error {
	named := *e
	named.Message += " File: " + journal.Name(sequence) + "."
	return named.WithCause(cause)
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
		return inFile(errJournalKey, 1, errors.New("the journal begins with another key than privacy.erasure_journal_fingerprint"))
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
		first := last.Sequence == 0 && (s.settings.JournalFingerprint == "" || s.settings.JournalFingerprint == journal.Fingerprint(public))
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

// lockErasures makes other transactions that add entries or change legal holds wait until tx ends.
// docs/explanation/reliability.md describes which locks tx takes before and after it.
func lockErasures(tx *gorm.DB) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('erasure journal'))`).Error
}

// addEntry adds a pending entry for the given leads to the database.
func (s *Service) addEntry(tx *gorm.DB, reason models.ErasureReason, note string, leads []uuid.UUID) error {
	return s.addEntryLike(tx, journal.Entry{By: "operator", Reason: string(reason)}, note, leads)
}

// addEntryLike adds a pending entry for leads to the database, with the reason of the given entry. It
// also copies whether consents are kept, a new key and, unless a user erases the leads, who erases them.
func (s *Service) addEntryLike(tx *gorm.DB, entry journal.Entry, note string, leads []uuid.UUID) error {
	if err := lockErasures(tx); err != nil {
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
// those of CheckJournal and FinishErasures.
func (s *Service) ChangeJournalKey(ctx context.Context) (changed bool, err error) {
	if s.journal == nil {
		return false, nil
	}
	if err := s.CheckJournal(ctx); err != nil {
		return false, err
	}
	next := publicKey(s.platform.JournalKeys()[0])
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockErasures(tx); err != nil {
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
	return true, s.FinishErasures(ctx)
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
		if err := tx.Exec(addErasuresSQL, e.Sequence, note, array(batch)).Error; err != nil {
			return err
		}
		if leads = leads[len(batch):]; len(leads) > 0 {
			if err := pause(tx.Statement.Context, erasurePause); err != nil {
				return err
			}
		}
	}
	return nil
}

// array returns ids as the text of an array. A list of parameters would be a different statement for each
// length.
func array(ids []uuid.UUID) string {
	texts := make([]string, len(ids))
	for i, lead := range ids {
		texts[i] = lead.String()
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// FinishErasures carries out the pending erasures, in order: it writes each entry to the journal, and
// then erases its leads. Erase calls it after it has added an entry. Each node also calls it
// repeatedly, so that an erasure is finished even if the node that began it was killed. Several nodes
// may call it at the same time. If the leads of an entry cannot be erased, FinishErasures continues
// with the next entry.
func (s *Service) FinishErasures(ctx context.Context) error {
	if s.journal == nil {
		return nil
	}
	var failed error
	for after := int64(0); ; {
		var next models.ErasureEntry
		q := s.db.Gorm.WithContext(ctx).Where("erased_at IS NULL AND sequence > ?", after).Order("sequence").Limit(1).Find(&next)
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

// deleteExportsSQL deletes the exports for consumers that contain a lead of an entry, and the prepared ledger
// exports that can contain a text about such a lead: a note, or the partner's reference and subId. It locks
// the files in the order of their ids.
//
// An export is kept only if its filter excludes all ledger entries with texts. The filter for entries that no
// run has claimed excludes none, and the filter for a run excludes only other accounts, because claims change.
const deleteExportsSQL = `WITH texts AS MATERIALIZED (
	SELECT l.id AS lead_id, l.partner_id, l.account_id, l.currency, 'accrual' AS kind, l.received_at AS occurred_at
	FROM erasures e JOIN leads l ON l.id = e.lead_id
	WHERE e.sequence = @entry AND NOT l.sandbox AND (l.partner_reference <> '' OR l.sub_id <> '')
	UNION ALL
	SELECT l.id, l.partner_id, l.account_id, l.currency, r.kind, r.occurred_at
	FROM erasures e JOIN leads l ON l.id = e.lead_id JOIN ledger_references r ON r.lead_id = l.id
		LEFT JOIN ledger_notes n ON n.entry_id = r.entry_id
	WHERE e.sequence = @entry AND (n.entry_id IS NOT NULL OR l.partner_reference <> '' OR l.sub_id <> '')
), ` + requestedExportsSQL + `
DELETE FROM files WHERE id IN (SELECT f.id FROM files f
	WHERE f.id IN (SELECT r.file_id FROM privacy_requests r WHERE r.file_id IS NOT NULL
			AND EXISTS (SELECT FROM privacy_request_leads l JOIN erasures e USING (lead_id) WHERE l.request_id = r.id AND e.sequence = @entry))
		OR f.id IN (` + exportsWithTextsSQL + `)
	ORDER BY f.id FOR UPDATE)`

// deleteNoteExportsSQL deletes the prepared ledger exports that can contain the note of a ledger entry.
const deleteNoteExportsSQL = `WITH texts AS MATERIALIZED (
	SELECT e.lead_id, e.partner_id, e.account_id, e.currency, e.kind, e.occurred_at
	FROM ledger_notes n JOIN ledger_entries e ON e.id = n.entry_id AND e.occurred_at = n.occurred_at WHERE n.entry_id = @entry
), ` + requestedExportsSQL + `
DELETE FROM files WHERE id IN (SELECT f.id FROM files f WHERE f.id IN (` + exportsWithTextsSQL + `) ORDER BY f.id FOR UPDATE)`

const requestedExportsSQL = `requested AS (
	SELECT file_id, filter->>'all' = 'true' AS everywhere, filter->'partners' AS partners, (filter->>'partner')::uuid AS partner,
		(filter->>'account')::uuid AS account, (filter->>'lead')::uuid AS lead, (filter->>'run')::uuid AS run, filter->>'kind' AS kind,
		(CAST(@currencies AS text[]))[(filter->>'currency')::int] AS currency,
		(filter->>'from')::timestamptz AS since, (filter->>'to')::timestamptz AS until
	FROM exports WHERE file_id IS NOT NULL
)`

// exportsWithTextsSQL selects the files in requested that can contain one of the texts.
const exportsWithTextsSQL = `SELECT x.file_id FROM requested x JOIN texts t ON
	(x.everywhere OR t.partner_id::text IN (SELECT jsonb_array_elements_text(x.partners)))
	AND coalesce(t.partner_id = x.partner, true) AND coalesce(t.account_id = x.account, true)
	AND coalesce(t.lead_id = x.lead, true) AND coalesce(t.kind = x.kind, true) AND coalesce(t.currency = x.currency, true)
	AND coalesce(t.occurred_at >= x.since, true) AND coalesce(t.occurred_at < x.until, true)
	AND (x.run IS NULL OR EXISTS (SELECT FROM statements s WHERE s.run_id = x.run AND s.account_id = t.account_id))`

// deleteExports runs one of the statements that delete exports, for an entry of the journal or of the ledger. Ledger
// exports that are not among them cannot begin to read the ledger before tx ends.
func deleteExports(tx *gorm.DB, sql string, entry int64) error {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock_shared(hashtext('ledger exports'))`).Error; err != nil {
		return err
	}
	return tx.Exec(sql, map[string]any{"entry": entry, "currencies": currencyCodes()}).Error
}

// currencyCodes returns the codes of all currencies as the text of an array, in the order of their numbers.
func currencyCodes() string {
	var codes []string
	for _, c := range money.Currencies {
		codes = append(codes, c.String())
	}
	return "{" + strings.Join(codes, ",") + "}"
}

// leadsOfEntry returns the ids of the leads in an entry, in ascending order.
func leadsOfEntry(tx *gorm.DB, sequence int64) (ids []uuid.UUID, err error) {
	err = tx.Model(&models.Erasure{}).Where("sequence = ?", sequence).Order("lead_id").Pluck("lead_id", &ids).Error
	return ids, err
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
		if err := lockLeads(tx, ids); err != nil {
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

// notErasedSQL selects the entries that were carried out, but have leads that are not erased. This
// happens if the tables of the leads were restored from a backup. $1 and $2
// are the limits of the range of lead ids.
const notErasedSQL = `SELECT DISTINCT e.sequence
	FROM erasures e JOIN erasure_entries n USING (sequence)
		LEFT JOIN leads l ON l.id = e.lead_id AND l.id >= $1 AND l.id < $2
		LEFT JOIN lead_keys k ON k.lead_id = e.lead_id AND k.lead_id >= $1 AND k.lead_id < $2
		LEFT JOIN consents c ON c.lead_id = e.lead_id AND c.lead_id >= $1 AND c.lead_id < $2 AND NOT n.keeps_consent
			AND num_nonnulls(c.disclosure_digest, c.recipient_hash, c.form_cert_url, c.third_party_lead_id) > 0
		LEFT JOIN disclosure_uses u ON u.lead_id = e.lead_id AND NOT n.keeps_consent
	WHERE e.lead_id >= $1 AND e.lead_id < $2 AND n.erased_at IS NOT NULL
		AND (l.state <> 'erased' OR k.lead_id IS NOT NULL OR c.lead_id IS NOT NULL OR u.lead_id IS NOT NULL)`

// notErasedTimeout limits how long the leads of one partition may be checked.
const notErasedTimeout = "2min"

// notErased returns the sequence numbers of the entries with leads that are not erased, in order.
func (s *Service) notErased(ctx context.Context) (all []int64, err error) {
	parts, err := postgres.Partitions(ctx, s.db.Pool, "leads", postgres.Period{})
	if err != nil {
		return nil, postgres.Translate(err)
	}
	for _, p := range parts {
		err := pgx.BeginFunc(ctx, s.db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+notErasedTimeout+`'`); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, notErasedSQL, postgres.PlanEachTime, id.First(p.From), id.First(p.Until))
			if err != nil {
				return err
			}
			found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, postgres.Translate(err)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil // the leads of an entry can be in several partitions
}

// Verified is the result of VerifyErasures.
type Verified struct {
	Entries int64  `json:"entries"`
	Head    string `json:"head"` // the hash of the last entry, in hexadecimal; "" if there is none
	// Fingerprint is the fingerprint of the key with which the journal begins; "" if there is no entry.
	Fingerprint string `json:"fingerprint"`
}

// VerifyErasures reads the whole journal. It checks that each entry is signed, follows the previous one and is
// the same in the database, that no entry is missing, and that the leads of all entries are erased.
//
// Errors: Unavailable with the reason journal_unavailable, journal_ahead, journal_differs, journal_key,
// erasure_pending or not_erased.
func (s *Service) VerifyErasures(ctx context.Context) (v Verified, err error) {
	if s.journal == nil {
		return v, errNoJournal
	}
	last, err := s.lastEntry(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return v, err
	}
	for head := (journal.Head{}); head.Sequence < last.Sequence; v.Entries++ {
		entry, text, next, err := s.readNext(ctx, head)
		if errors.Is(err, journal.ErrNotFound) {
			return v, s.missing(ctx, head.Sequence+1)
		}
		if err != nil {
			return v, err
		}
		if head.Sequence == 0 {
			v.Fingerprint = journal.Fingerprint(entry.Key)
		}
		head, v.Head = next, next.Hash.String()
		var same int64
		err = s.db.Gorm.WithContext(ctx).Model(&models.ErasureEntry{}).
			Where("sequence = ? AND hash = ? AND key = ? AND body = ?", head.Sequence, head.Hash[:], []byte(head.Key), text).Count(&same).Error
		if err != nil {
			return v, postgres.Translate(err)
		}
		if same == 0 {
			return v, inFile(errJournalDiffers, head.Sequence, errors.New("the entry is different in the database"))
		}
		if err := s.compareReceipts(ctx, entry); err != nil {
			return v, err
		}
	}
	if err := s.CheckJournal(ctx); err != nil {
		return v, err
	}
	notErased, err := s.notErased(ctx)
	if err != nil {
		return v, err
	}
	if len(notErased) > 0 {
		return v, errNotErased.WithCause(fmt.Errorf("%d entries, the first is %d", len(notErased), notErased[0]))
	}
	return v, nil
}

// compareReceipts checks that the receipts of an entry's leads say the same as the entry.
func (s *Service) compareReceipts(ctx context.Context, entry journal.Entry) error {
	ids, err := parseLeads(entry)
	if err != nil {
		return err
	}
	var same bool
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT EXISTS (SELECT FROM erasure_entries
			WHERE (sequence, reason, requested_at, keeps_consent) = (?, ?, ?, ?) AND (staff_id IS NULL OR staff_id = ?))
		AND (SELECT coalesce(array_agg(lead_id ORDER BY lead_id), '{}') FROM erasures WHERE sequence = ?)
			= ARRAY(SELECT lead FROM unnest(?::uuid[]) AS lead ORDER BY lead)`,
		entry.Sequence, entry.Reason, entry.At, entry.KeepsConsent, staffOf(entry), entry.Sequence, array(ids)).Scan(&same).Error
	if err == nil && !same {
		err = inFile(errJournalDiffers, entry.Sequence, errors.New("the receipts are different in the database"))
	}
	return postgres.Translate(err)
}

// staffOf returns the id of the user who erased the leads, or uuid.Nil if no user did.
func staffOf(entry journal.Entry) uuid.UUID {
	staff, _ := id.Parse(id.Staff, entry.By)
	return staff
}

// The method missing returns the error for an entry that is in the database but not in the journal.
func (s *Service) missing(ctx context.Context, sequence int64) error {
	var erasedAt *time.Time
	if err := s.db.Gorm.WithContext(ctx).Model(&models.ErasureEntry{}).Select("erased_at").Where("sequence = ?", sequence).Scan(&erasedAt).Error; err != nil {
		return postgres.Translate(err)
	}
	if erasedAt == nil {
		return errPending
	}
	return inFile(errJournalDiffers, sequence, journal.ErrNotFound)
}
