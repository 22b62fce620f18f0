package erasure

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/choice"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Reasons lists the reasons for an erasure.
var Reasons = choice.List[models.ErasureReason]{
	{Code: models.EraseForRequest, Label: "at the consumer's request"},
	{Code: models.EraseForComplaint, Label: "after a complaint"},
	{Code: models.EraseForNoConsent, Label: "the consumer did not consent"},
	{Code: models.EraseForLegal, Label: "a court or an authority ordered it"},
	{Code: models.EraseForOther, Label: "for another reason"},
}

// retentionLabel is the label of the reason that staff cannot choose.
const retentionLabel = "the retention period has passed"

// ReasonLabel returns the label of a reason, or "" if there is no such reason.
func ReasonLabel(r models.ErasureReason) string {
	if r == models.EraseForRetention {
		return retentionLabel
	}
	return Reasons.Label(r)
}

// NewErasure is a request to erase a lead's personal data.
type NewErasure struct {
	Lead   uuid.UUID
	Reason models.ErasureReason
	Note   string // must not identify the consumer; required if the reason is models.EraseForOther
}

// Receipt proves that a lead was erased. Receipt.Hash is the hash of the journal entry that contains
// the lead's id.
type Receipt struct {
	Lead     uuid.UUID
	Sequence int64 // of the journal entry
	Hash     journal.Hash
	Reason   models.ErasureReason
	Note     string
	By       string
	ErasedAt time.Time // zero while the erasure is pending
	// KeepsConsent is set if the details of the consent were not erased. The lead can then be erased
	// again.
	KeepsConsent bool
}

// MustNotify reports whether a lead's partner must be notified of its erasure, so that the partner erases its own copy.
// When a retention period has passed, the partner need not be notified.
func MustNotify(reason models.ErasureReason, partner uuid.UUID) bool {
	return reason != models.EraseForRetention && partner != models.PlatformIDs.Partner
}

// Check returns the erasure with a trimmed note, or an Invalid error for the field that is not valid.
func (e NewErasure) Check() (NewErasure, error) {
	var err error
	if e.Note, err = plaintext.CheckNote(e.Note); err != nil {
		return e, err
	}
	switch {
	case Reasons.Label(e.Reason) == "":
		err = apperr.InvalidField("reason", apperr.InvalidValue, "Choose one of the reasons.")
	case e.Reason == models.EraseForOther && e.Note == "":
		err = apperr.InvalidField("note", apperr.Required, "Describe the reason.")
	}
	return e, err
}

// Erase deletes the personal data of a lead: its contact record and key, lookup digests, postcodes, the
// partner's reference and subId, the details of its consent, the ping, and the notes about it. The ledger does not change. Erase works in
// three steps. It commits the erasure as pending, together with its audit event. It then adds an entry
// to the erasure journal. After that, it deletes the data.
//
// Errors: those of Check and CheckErase, NotFound if there is no such lead in the scope, leads.ErrErased if the lead
// and its consent are already erased or their erasure is pending, Conflict with the reason legal_hold,
// Unavailable with the reason erasure_pending if the journal cannot be written (the erasure is then
// carried out later), and those of CheckJournal.
func (s *Service) Erase(ctx context.Context, sc scope.Scope, e NewErasure) (r Receipt, err error) {
	if e, err = e.Check(); err != nil {
		return r, err
	}
	if err := s.CheckErase(); err != nil {
		return r, err
	}
	if err := s.RequireJournal(); err != nil {
		return r, err
	}
	if err := s.CheckJournal(ctx); err != nil {
		return r, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var lead models.Lead
		q := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Select("partner_id", "state").Where("id = ?", e.Lead).
			Limit(1).Find(&lead)
		switch {
		case q.Error != nil:
			return q.Error
		case q.RowsAffected == 0 || !sc.Allows(lead.PartnerID):
			return leads.ErrNotFound
		}
		if err := Lock(tx); err != nil {
			return err
		}
		if err := checkConsentNotErased(tx, e.Lead); err != nil {
			return err
		}
		if err := s.checkNotHeld(tx, e.Lead); err != nil {
			return err
		}
		if err := s.AddEntry(tx, e.Reason, e.Note, []uuid.UUID{e.Lead}); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
			Action: "lead.erase", Kind: "lead", Object: id.Format(id.Lead, e.Lead), Partner: lead.PartnerID,
			After: map[string]any{"reason": e.Reason},
		})
	})
	if err != nil {
		return r, err
	}
	unfinished := s.Finish(ctx) // may be about another lead
	if r, _, err = s.ReceiptOf(ctx, e.Lead); err != nil || !r.ErasedAt.IsZero() {
		return r, err
	}
	return r, unfinished
}

var errNeedsRequest = apperr.New(apperr.Forbidden, "needs_request",
	"The setting privacy.require_approval requires two users for an erasure. "+
		"Create a privacy request for this lead. After the identity check, another user can erase it.")

// CheckErase returns errNeedsRequest if one user cannot erase a lead alone. With the setting
// privacy.require_approval, only privacy requests erase leads.
func (s *Service) CheckErase() error {
	if s.settings.RequireApproval {
		return errNeedsRequest
	}
	return nil
}

// CheckNotErased returns leads.ErrErased if the lead was erased or its erasure is pending.
func CheckNotErased(tx *gorm.DB, lead uuid.UUID) error {
	var known int64
	if err := tx.Model(&models.Erasure{}).Where("lead_id = ?", lead).Count(&known).Error; err != nil {
		return err
	}
	if known > 0 {
		return leads.ErrErased
	}
	return nil
}

// fullErasure is the condition that an erasure also erases the details of the consent.
const fullErasure = "sequence IN (SELECT sequence FROM erasure_entries WHERE NOT keeps_consent)"

// checkConsentNotErased returns leads.ErrErased if the lead and its consent were erased, or if such an
// erasure is pending. It returns nil if the consent's details were kept.
func checkConsentNotErased(tx *gorm.DB, lead uuid.UUID) error {
	return CheckNotErased(tx.Where(fullErasure), lead)
}

// ErasedAmong returns which of the given leads are erased, or will be by a pending erasure. If full is true, it leaves
// out those whose consent was not erased with them.
func ErasedAmong(tx *gorm.DB, ids []uuid.UUID, full bool) (map[uuid.UUID]bool, error) {
	query := tx.Model(&models.Erasure{}).Where("lead_id = ANY (?::uuid[])", postgres.Array(ids))
	if full {
		query = query.Where(fullErasure)
	}
	var found []uuid.UUID
	if err := query.Pluck("lead_id", &found).Error; err != nil {
		return nil, err
	}
	erased := make(map[uuid.UUID]bool, len(found))
	for _, lead := range found {
		erased[lead] = true
	}
	return erased, nil
}

// NotFullyErased returns the leads that were not erased together with their consent, and for which no such
// erasure is pending.
func NotFullyErased(tx *gorm.DB, ids []uuid.UUID) (left []uuid.UUID, err error) {
	erased := map[uuid.UUID]bool{}
	for batch := range slices.Chunk(ids, LeadsPerEntry) {
		var rows []uuid.UUID
		err := tx.Model(&models.Erasure{}).Where("lead_id IN ?", batch).Where(fullErasure).Pluck("lead_id", &rows).Error
		if err != nil {
			return nil, err
		}
		for _, lead := range rows {
			erased[lead] = true
		}
	}
	return slices.DeleteFunc(ids, func(lead uuid.UUID) bool { return erased[lead] }), nil
}

// ReceiptOf returns the receipt for the last erasure of a lead. The result found is false if no erasure
// of the lead has been requested.
func (s *Service) ReceiptOf(ctx context.Context, lead uuid.UUID) (r Receipt, found bool, err error) {
	var e models.Erasure
	q := s.db.Gorm.WithContext(ctx).Where("lead_id = ?", lead).Order("sequence DESC").Limit(1).Find(&e)
	if q.Error != nil || q.RowsAffected == 0 {
		return r, false, postgres.Translate(q.Error)
	}
	var entry models.ErasureEntry
	if err := s.db.Gorm.WithContext(ctx).Omit("body").Where("sequence = ?", e.Sequence).Take(&entry).Error; err != nil {
		return r, false, postgres.Translate(err)
	}
	return receipt(e, entry), true, nil
}

func receipt(e models.Erasure, entry models.ErasureEntry) Receipt {
	r := Receipt{
		Lead: e.LeadID, Sequence: entry.Sequence, Hash: journal.Hash(entry.Hash), Reason: entry.Reason, Note: e.Note, By: entry.Actor,
		KeepsConsent: entry.KeepsConsent,
	}
	if entry.ErasedAt != nil {
		r.ErasedAt = entry.ErasedAt.UTC()
	}
	return r
}

// Receipts returns the receipts of erasures, newest first. The parameter size is the maximum number of
// receipts. If the parameter before is not 0, Receipts returns only receipts whose journal entry has a
// sequence number below it.
func (s *Service) Receipts(ctx context.Context, before int64, size int) (all []Receipt, err error) {
	q := s.db.Gorm.WithContext(ctx).Order("sequence DESC, lead_id").Limit(size)
	if before > 0 {
		q = q.Where("sequence < ?", before)
	}
	var rows []models.Erasure
	if err := q.Find(&rows).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	return s.ReceiptsFor(ctx, rows)
}

// ReceiptsFor returns the receipts of erasures, in the order of the erasures.
func (s *Service) ReceiptsFor(ctx context.Context, erased []models.Erasure) (all []Receipt, err error) {
	if len(erased) == 0 {
		return nil, nil
	}
	bySequence := func(a, b models.Erasure) int { return cmp.Compare(a.Sequence, b.Sequence) }
	first, last := slices.MinFunc(erased, bySequence), slices.MaxFunc(erased, bySequence)
	var entries []models.ErasureEntry
	err = s.db.Gorm.WithContext(ctx).Omit("body").Where("sequence BETWEEN ? AND ?", first.Sequence, last.Sequence).
		Find(&entries).Error
	if err != nil {
		return nil, postgres.Translate(err)
	}
	entryOf := map[int64]models.ErasureEntry{}
	for _, e := range entries {
		entryOf[e.Sequence] = e
	}
	for _, e := range erased {
		all = append(all, receipt(e, entryOf[e.Sequence]))
	}
	return all, nil
}
