package erasure

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errHeld = apperr.New(apperr.Conflict, "legal_hold",
		"Nothing was erased. This lead is under a legal hold. Release the legal hold first.")
	errSandboxHold = apperr.New(apperr.Conflict, "sandbox_lead",
		"Sandbox leads contain test data and are deleted automatically, so they cannot be put under a legal hold.")
	errPersonScope = apperr.New(apperr.Forbidden, "hold_scope",
		"Only users whose role applies to all partners can place or release a legal hold on a person.")
	errHoldNotFound = apperr.New(apperr.NotFound, "hold", "Not Found")
	errHoldKeys     = apperr.New(apperr.Unavailable, "hold_keys",
		"Nothing was changed. The platform keys have changed, so the leads under legal holds may not be recognised. Ask an operator to run `pingpost keys reseal`.")
)

// maxHoldReason is the maximum number of characters in the reason for a legal hold.
const maxHoldReason = 200

// NewHold is a request to place a legal hold on a lead. If Person is set, the hold also applies to all
// other leads with the same email address or phone number, including those that arrive later.
type NewHold struct {
	Lead   uuid.UUID
	Person bool
	Reason string // such as a case number; must not identify the consumer
}

// Check returns the request with a trimmed reason, or an Invalid error at the field that is not valid.
func (n NewHold) Check() (NewHold, error) {
	var err error
	if n.Reason, err = plaintext.Check("reason", n.Reason, maxHoldReason); err == nil && n.Reason == "" {
		err = apperr.InvalidField("reason", apperr.Required, "Enter a reason, such as a case number.")
	}
	return n, err
}

// holdDigests contains the lookup digests of a person. They are stored only while the hold is active.
type holdDigests struct{ email, phone [][]byte }

// PlaceHold places a legal hold. While it is active, the lead cannot be erased.
//
// Errors: those of Check, NotFound if there is no such lead in the scope, Forbidden if the hold applies to
// a person and the scope is limited to some partners, leads.ErrErased, Conflict with the reason
// sandbox_lead, and those of leads.Store.Contact and, for a person, of CheckJournal.
func (s *Service) PlaceHold(ctx context.Context, sc scope.Scope, n NewHold) (h models.LegalHold, err error) {
	if n, err = n.Check(); err != nil {
		return h, err
	}
	if n.Person && !sc.All() {
		return h, errPersonScope
	}
	var digests holdDigests
	if n.Person {
		if err := s.CheckJournal(ctx); err != nil { // the contact record may be decrypted
			return h, err
		}
		if digests, err = s.digestsOf(ctx, sc, n.Lead); err != nil {
			return h, err
		}
	}
	now := s.clock.Now()
	h = models.LegalHold{
		ID: id.New(now), LeadID: n.Lead, Person: n.Person, Reason: n.Reason,
		PlacedAt: now, PlacedBy: s.by.Name, PlacedByID: s.by.StaffID(),
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Otherwise the lead could be erased before this transaction ends.
		if err := Lock(tx); err != nil {
			return err
		}
		var lead models.Lead
		q := tx.Select("partner_id", "sandbox").Where("id = ?", n.Lead).Limit(1).Find(&lead)
		switch {
		case q.Error != nil:
			return q.Error
		case q.RowsAffected == 0 || !sc.Allows(lead.PartnerID):
			return leads.ErrNotFound
		case lead.Sandbox:
			return errSandboxHold
		}
		// The digests of a lead are erased with its contact record.
		check := checkConsentNotErased
		if n.Person {
			check = CheckNotErased
		}
		if err := check(tx, n.Lead); err != nil {
			return err
		}
		h.PartnerID = lead.PartnerID
		err := tx.Exec(`INSERT INTO legal_holds (id, lead_id, partner_id, person, email_digests, phone_digests, reason, placed_at, placed_by, placed_by_id)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			h.ID, h.LeadID, h.PartnerID, h.Person, postgres.Array(digests.email), postgres.Array(digests.phone),
			h.Reason, h.PlacedAt, h.PlacedBy, h.PlacedByID).Error
		if err != nil {
			return err
		}
		return s.auditHold(tx, "hold.place", h)
	})
	return h, err
}

func (s *Service) auditHold(tx *gorm.DB, action string, h models.LegalHold) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
		Action: action, Kind: "lead", Object: id.Format(id.Lead, h.LeadID), Partner: h.PartnerID,
		After: map[string]any{"hold": id.Format(id.Hold, h.ID), "person": h.Person},
	})
}

// digestsOf returns the lookup digests of a lead, made with all configured platform keys. If there is one
// platform key, they are in the lead. Otherwise, the contact record must be decrypted.
func (s *Service) digestsOf(ctx context.Context, sc scope.Scope, lead uuid.UUID) (d holdDigests, err error) {
	if len(s.platform.IDs()) > 1 {
		contact, err := s.leads.Contact(ctx, sc, lead, s.keys)
		if err != nil {
			return d, err
		}
		d.email, d.phone = contact.AllDigests(s.platform)
		return d, nil
	}
	var stored models.Lead
	if err := s.db.Gorm.WithContext(ctx).Select("email_digest", "phone_digest").Where("id = ?", lead).Limit(1).Find(&stored).Error; err != nil {
		return d, postgres.Translate(err)
	}
	if stored.EmailDigest != nil {
		d.email = append(d.email, stored.EmailDigest)
	}
	if stored.PhoneDigest != nil {
		d.phone = append(d.phone, stored.PhoneDigest)
	}
	return d, nil
}

// ReleaseHold releases a legal hold. The next retention run erases the leads whose period has passed.
//
// Errors: NotFound if there is no active legal hold with this id in the scope, Forbidden if the hold
// applies to a person and the scope is limited to some partners.
func (s *Service) ReleaseHold(ctx context.Context, sc scope.Scope, hold uuid.UUID) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := Lock(tx); err != nil {
			return err
		}
		h, err := activeHold(tx, sc, hold)
		if err != nil {
			return err
		}
		err = tx.Exec(`UPDATE legal_holds SET released_at = ?, released_by = ?, released_by_id = ?, email_digests = '{}', phone_digests = '{}' WHERE id = ?`,
			s.clock.Now(), s.by.Name, s.by.StaffID(), hold).Error
		if err != nil {
			return err
		}
		return s.auditHold(tx, "hold.release", h)
	})
}

func activeHold(tx *gorm.DB, sc scope.Scope, hold uuid.UUID) (h models.LegalHold, err error) {
	q := tx.Where("id = ? AND released_at IS NULL", hold).Limit(1).Find(&h)
	switch {
	case q.Error != nil:
		return h, q.Error
	case q.RowsAffected == 0 || !sc.Allows(h.PartnerID):
		return h, errHoldNotFound
	case h.Person && !sc.All():
		return h, errPersonScope
	}
	return h, nil
}

// ActiveHold returns an active legal hold. Its errors are those of ReleaseHold.
func (s *Service) ActiveHold(ctx context.Context, sc scope.Scope, hold uuid.UUID) (models.LegalHold, error) {
	h, err := activeHold(s.db.Gorm.WithContext(ctx), sc, hold)
	return h, postgres.Translate(err)
}

// Holds returns a page of legal holds, newest first.
func (s *Service) Holds(
	ctx context.Context, sc scope.Scope, p postgres.Page[uuid.UUID],
) (page []models.LegalHold, newer, older bool, err error) {
	q := p.Apply(s.db.Gorm.WithContext(ctx), "id")
	if !sc.All() {
		q = q.Where("partner_id IN ?", sc.IDs())
	}
	var found []models.LegalHold
	if err := q.Find(&found).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	page, newer, older = postgres.SplitPage(p, found)
	return page, newer, older, nil
}

// holdingSQL selects the legal holds that were placed on a lead, and the active ones on the person whom the lead is
// about. A released hold contains no digests.
const holdingSQL = `SELECT h.id, h.lead_id, h.partner_id, h.person, h.reason, h.placed_at, h.placed_by, h.placed_by_id, h.released_at, h.released_by, h.released_by_id
	FROM legal_holds h JOIN leads l ON l.id = ?
	WHERE (h.lead_id = l.id OR l.email_digest = ANY (h.email_digests) OR l.phone_digest = ANY (h.phone_digests))`

// HoldsOf returns the active legal holds that apply to a lead, oldest first. The caller must have checked
// that the user may see the lead.
func (s *Service) HoldsOf(ctx context.Context, lead uuid.UUID) (all []models.LegalHold, err error) {
	err = s.db.Gorm.WithContext(ctx).Raw(holdingSQL+` AND h.released_at IS NULL ORDER BY h.id`, lead).Scan(&all).Error
	return all, postgres.Translate(err)
}

// HoldHistory is like HoldsOf, but also returns the released legal holds that were placed on the lead itself.
func (s *Service) HoldHistory(ctx context.Context, lead uuid.UUID) (all []models.LegalHold, err error) {
	err = s.db.Gorm.WithContext(ctx).Raw(holdingSQL+` ORDER BY h.id`, lead).Scan(&all).Error
	return all, postgres.Translate(err)
}

// LeadHold is a legal hold that applies to a lead.
type LeadHold struct {
	Lead, Partner uuid.UUID // the lead's partner
	Hold          uuid.UUID
	Person        bool
	Reason        string
	PlacedAt      time.Time
	PlacedBy      string
}

// HoldsOver returns the active legal holds that apply to leads, ordered by lead, and oldest first for each lead.
func (s *Service) HoldsOver(ctx context.Context, ids []uuid.UUID) (all []LeadHold, err error) {
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT l.id AS lead, l.partner_id AS partner, h.id AS hold, h.person, h.reason, h.placed_at, h.placed_by
		FROM leads l JOIN legal_holds h ON h.lead_id = l.id OR l.email_digest = ANY (h.email_digests)
		OR l.phone_digest = ANY (h.phone_digests)
		WHERE l.id IN ? AND h.released_at IS NULL ORDER BY l.id, h.id`, ids).Scan(&all).Error
	return all, postgres.Translate(err)
}

// heldSQL selects the leads under a legal hold among those with the given ids. The subqueries do not
// depend on the lead, so Postgres looks up each lead in a hash table.
const heldSQL = `SELECT l.id FROM leads l WHERE l.id BETWEEN ? AND ? AND l.id = ANY (?::uuid[]) AND (
		l.id IN (SELECT lead_id FROM legal_holds WHERE released_at IS NULL)
		OR l.email_digest IN (SELECT unnest(email_digests) FROM legal_holds WHERE released_at IS NULL)
		OR l.phone_digest IN (SELECT unnest(phone_digests) FROM legal_holds WHERE released_at IS NULL))`

// HeldAmong returns those of the given leads, in ascending order, that are under a legal hold.
func HeldAmong(tx *gorm.DB, ids []uuid.UUID) (found []uuid.UUID, err error) {
	for batch := range slices.Chunk(ids, LeadsPerEntry) {
		var rows []uuid.UUID
		if err := tx.Raw(heldSQL, batch[0], batch[len(batch)-1], postgres.Array(batch)).Scan(&rows).Error; err != nil {
			return nil, err
		}
		found = append(found, rows...)
	}
	return found, nil
}

// Held returns which of the given leads, in ascending order, are under a legal hold. The transaction must
// have called Lock.
func (s *Service) Held(tx *gorm.DB, ids []uuid.UUID) (held map[uuid.UUID]bool, err error) {
	if unknown, err := s.unresealedHolds(tx); err != nil || len(unknown) > 0 {
		return nil, errors.Join(err, errHoldKeys)
	}
	found, err := HeldAmong(tx, ids)
	if err != nil {
		return nil, err
	}
	held = make(map[uuid.UUID]bool, len(found))
	for _, lead := range found {
		held[lead] = true
	}
	return held, nil
}

func (s *Service) checkNotHeld(tx *gorm.DB, lead uuid.UUID) error {
	held, err := s.Held(tx, []uuid.UUID{lead})
	if err == nil && held[lead] {
		err = errHeld
	}
	return err
}

// unresealedHolds returns the active legal holds on persons that lack the digests made with one of the
// platform keys. They may not apply to all of the person's leads.
func (s *Service) unresealedHolds(tx *gorm.DB) (all []models.LegalHold, err error) {
	q := tx.Where("released_at IS NULL AND person")
	lacking := tx.Where("false")
	for _, key := range s.platform.IDs() {
		lacking = lacking.Or("NOT EXISTS (SELECT FROM unnest(email_digests || phone_digests) d WHERE substring(d FOR 4) = ?)",
			key[:])
	}
	err = q.Where(lacking).Order("id").Find(&all).Error
	return all, err
}

// addDigestsSQL keeps the existing digests, because some leads may still have them.
const addDigestsSQL = `UPDATE legal_holds SET
		email_digests = ARRAY(SELECT DISTINCT d FROM unnest(email_digests || ?::bytea[]) d),
		phone_digests = ARRAY(SELECT DISTINCT d FROM unnest(phone_digests || ?::bytea[]) d)
	WHERE id = ? AND released_at IS NULL`

// ResealHolds adds the digests made with all configured platform keys to the legal holds on persons. It
// must be called before the digests of leads are replaced. It returns the number of changed holds.
func (s *Service) ResealHolds(ctx context.Context) (n int, err error) {
	all, err := s.unresealedHolds(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return 0, postgres.Translate(err)
	}
	for _, h := range all {
		contact, failed := s.leads.Contact(ctx, scope.System, h.LeadID, s.keys)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		var d holdDigests
		d.email, d.phone = contact.AllDigests(s.platform)
		q := s.db.Gorm.WithContext(ctx).Exec(addDigestsSQL, postgres.Array(d.email), postgres.Array(d.phone), h.ID)
		if q.Error != nil {
			return n, postgres.Translate(q.Error)
		}
		n += int(q.RowsAffected)
	}
	return n, err
}
