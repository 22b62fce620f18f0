package erasure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

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

// Verified is the result of Verify.
type Verified struct {
	Entries int64  `json:"entries"`
	Head    string `json:"head"` // the hash of the last entry, in hexadecimal; "" if there is none
	// Fingerprint is the fingerprint of the key with which the journal begins; "" if there is no entry.
	Fingerprint string `json:"fingerprint"`
}

// Verify reads the whole journal. It checks that each entry is signed, follows the previous one and is
// the same in the database, that no entry is missing, and that the leads of all entries are erased.
//
// Errors: Unavailable with the reason journal_unavailable, journal_ahead, journal_differs, journal_key,
// erasure_pending or not_erased.
func (s *Service) Verify(ctx context.Context) (v Verified, err error) {
	if err := s.RequireJournal(); err != nil {
		return v, err
	}
	last, err := s.lastEntry(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return v, err
	}
	for head := (journal.Head{}); head.Sequence < last.Sequence; v.Entries++ {
		entry, text, next, err := s.readNext(ctx, head)
		if errors.Is(err, journal.ErrNotFound) {
			return v, s.missingEntry(ctx, head.Sequence+1)
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
			Where("sequence = ? AND hash = ? AND key = ? AND body = ?", head.Sequence, head.Hash[:], []byte(head.Key), text).
			Count(&same).Error
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

// compareReceipts checks that the receipts of an entry's leads match the entry.
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
		entry.Sequence, entry.Reason, entry.At, entry.KeepsConsent, staffOf(entry), entry.Sequence,
		postgres.Array(ids)).Scan(&same).Error
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

// missingEntry returns the error for an entry that is in the database but not in the journal.
func (s *Service) missingEntry(ctx context.Context, sequence int64) error {
	var erasedAt *time.Time
	if err := s.db.Gorm.WithContext(ctx).Model(&models.ErasureEntry{}).Select("erased_at").Where("sequence = ?", sequence).Scan(&erasedAt).Error; err != nil {
		return postgres.Translate(err)
	}
	if erasedAt == nil {
		return errPending
	}
	return inFile(errJournalDiffers, sequence, journal.ErrNotFound)
}
