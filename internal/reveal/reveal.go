package reveal

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/choice"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Fields lists the fields of a contact record.
var Fields = choice.List[models.ContactField]{
	{Code: models.ContactEmail, Label: "email address"},
	{Code: models.ContactName, Label: "name"},
	{Code: models.ContactPhone, Label: "phone number"},
	{Code: models.ContactAddress, Label: "street address"},
	{Code: models.ContactNotes, Label: "notes"},
	{Code: models.ContactAnswers, Label: "form answers"},
}

// Reasons lists the reasons for a reveal.
var Reasons = choice.List[models.RevealReason]{
	{Code: models.RevealForReturn, Label: "to decide a return"},
	{Code: models.RevealForComplaint, Label: "to answer a complaint"},
	{Code: models.RevealForRequest, Label: "at the consumer's request"},
	{Code: models.RevealForLegal, Label: "for legal proceedings or an authority"},
	{Code: models.RevealForOther, Label: "for another reason"},
}

// NewReveal is a request to view one field of a lead's contact record.
type NewReveal struct {
	Lead   uuid.UUID
	Field  models.ContactField
	Reason models.RevealReason
	Note   string // required if the reason is models.RevealForOther
}

// ErrCannotDecrypt means that this node has no identity that may decrypt the lead's key.
var ErrCannotDecrypt = apperr.New(apperr.Unavailable, "cannot_decrypt",
	"This node cannot decrypt this lead. Ask an operator to configure the key that encrypted it or, if that key is in Vault, a second identity that can decrypt (vault.read_role_id).")

// Reveal returns a field of a lead's contact record, or "" if the partner did not send the field. It
// commits the record of the reveal before it decrypts anything. A reveal counts towards the daily limit
// even if decrypting fails.
//
// Errors: those of Check, NotFound if there is no such lead in the scope, Conflict if the lead was
// erased, TooMany if the user has reached the daily limit, Unavailable if this node cannot use the keys,
// Internal if the record is damaged, and those of erasure.Service.CheckJournal.
func (s *Service) Reveal(ctx context.Context, sc scope.Scope, r NewReveal) (string, error) {
	r, err := r.Check()
	if err != nil {
		return "", err
	}
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return "", err
	}
	if err := s.recordReveal(ctx, sc, r); err != nil {
		return "", err
	}
	contact, err := s.leads.Contact(ctx, sc, r.Lead, s.keys)
	if f := apperr.As(err); f != nil {
		return "", apperr.Wrap(errors.Unwrap(f), f.Code, f.Reason, f.Message+" This reveal counts towards your daily limit.")
	}
	if err != nil {
		return "", err
	}
	return fieldOf(contact, r.Field), nil
}

// Check returns the reveal with a trimmed note, or an Invalid error for the first field that is not
// valid.
func (r NewReveal) Check() (NewReveal, error) {
	var err error
	if r.Note, err = plaintext.CheckNote(r.Note); err != nil {
		return r, err
	}
	switch {
	case Fields.Label(r.Field) == "":
		err = apperr.InvalidField("field", apperr.InvalidValue, "Choose one of the fields.")
	case Reasons.Label(r.Reason) == "":
		err = apperr.InvalidField("reason", apperr.InvalidValue, "Choose one of the reasons.")
	case r.Reason == models.RevealForOther && r.Note == "":
		err = apperr.InvalidField("note", apperr.Required, "Describe the reason.")
	}
	return r, err
}

// CanDecrypt reports whether this node is configured to decrypt leads whose keys were wrapped with the
// given key version.
func (s *Service) CanDecrypt(wrapper, version string) bool { return s.keys.Reads(wrapper, version) }

// recordReveal checks the daily limit, and records the reveal with its audit event.
func (s *Service) recordReveal(ctx context.Context, sc scope.Scope, r NewReveal) error {
	now := s.clock.Now()
	row := models.LeadReveal{
		ID: id.New(now), LeadID: r.Lead, Actor: s.by.Name, StaffID: s.by.StaffID(),
		Field: r.Field, Reason: r.Reason, Note: r.Note, At: now,
	}
	event := audit.Event{
		Action: "lead.reveal", Kind: "lead", Object: id.Format(id.Lead, r.Lead),
		After: map[string]any{"field": r.Field, "reason": r.Reason},
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		partner, err := s.lockReadable(tx, sc, r.Lead)
		if err != nil {
			return err
		}
		row.PartnerID, event.Partner = partner, partner
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := s.countReveal(tx); err != nil {
			return err
		}
		return audit.Write(tx, now, s.by, event)
	})
	if errors.Is(err, errTooManyReveals) {
		return s.LogExceeded(ctx, errTooManyReveals, event)
	}
	return err
}

// lockReadable locks a lead and returns its partner. It returns an error if the lead is not in the scope,
// if it was erased, or if this node cannot decrypt it.
func (s *Service) lockReadable(tx *gorm.DB, sc scope.Scope, lead uuid.UUID) (partner uuid.UUID, err error) {
	var row models.Lead
	// While the lead is locked, it cannot be erased. A later erasure therefore also erases the note.
	q := tx.Clauses(clause.Locking{Strength: "SHARE"}).Select("partner_id", "state").Where("id = ?", lead).Limit(1).
		Find(&row)
	switch {
	case q.Error != nil:
		return partner, q.Error
	case q.RowsAffected == 0 || !sc.Allows(row.PartnerID):
		return partner, leads.ErrNotFound
	case row.State == models.LeadErased:
		return partner, leads.ErrErased
	}
	if err := erasure.CheckNotErased(tx, lead); err != nil {
		return partner, err
	}
	return row.PartnerID, s.checkKey(tx, lead)
}

// checkKey returns an error if this node cannot decrypt the key of the lead.
func (s *Service) checkKey(tx *gorm.DB, lead uuid.UUID) error {
	var key models.LeadKey
	q := tx.Select("key_wrapper", "key_version").Where("lead_id = ?", lead).Limit(1).Find(&key)
	switch {
	case q.Error != nil:
		return q.Error
	case q.RowsAffected == 0:
		return leads.ErrKeyMissing
	case !s.CanDecrypt(key.KeyWrapper, key.KeyVersion):
		return ErrCannotDecrypt
	}
	return nil
}

// RevealsOf returns the reveals of a lead, oldest first.
func (s *Service) RevealsOf(ctx context.Context, sc scope.Scope, lead uuid.UUID) (all []models.LeadReveal, err error) {
	err = s.db.Gorm.WithContext(ctx).Where("lead_id = ?", lead).Order("at, id").Find(&all).Error
	if err == nil && len(all) > 0 && !sc.Allows(all[0].PartnerID) {
		return nil, nil
	}
	return all, postgres.Translate(err)
}

func fieldOf(c leads.Contact, f models.ContactField) string {
	switch f {
	case models.ContactEmail:
		return c.Email
	case models.ContactName:
		return c.Name
	case models.ContactPhone:
		if c.Phone == "" {
			return c.E164
		}
		return c.Phone
	case models.ContactAddress:
		return c.Address
	case models.ContactNotes:
		return c.Notes
	case models.ContactAnswers:
		return string(c.Answers)
	}
	return ""
}
