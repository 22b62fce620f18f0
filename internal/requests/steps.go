package requests

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/choice"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/models"
)

// requestEdit is a change to a request: the columns that it sets, and its audit event.
type requestEdit struct {
	action  string
	columns map[string]any // can be empty
	after   map[string]any // in the audit event
}

// change locks an open request, calls fn, and applies the edit that fn returns.
func (s *Service) change(
	ctx context.Context, request uuid.UUID, fn func(tx *gorm.DB, r models.PrivacyRequest) (requestEdit, error),
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error { return s.changeIn(tx, request, fn) })
}

// changeIn is like change, but uses the caller's transaction.
func (s *Service) changeIn(
	tx *gorm.DB, request uuid.UUID, fn func(tx *gorm.DB, r models.PrivacyRequest) (requestEdit, error),
) error {
	r, err := lockRequest(tx, request)
	if err != nil {
		return err
	}
	if r.Outcome != nil {
		return errClosed
	}
	edit, err := fn(tx, r)
	if err != nil {
		return err
	}
	return s.apply(tx, request, edit)
}

// apply sets the columns of a request and writes the audit event.
func (s *Service) apply(tx *gorm.DB, request uuid.UUID, e requestEdit) error {
	if len(e.columns) > 0 {
		if err := tx.Model(&models.PrivacyRequest{ID: request}).Updates(e.columns).Error; err != nil {
			return err
		}
	}
	return s.logRequest(tx, request, e.action, e.after)
}

func lockRequest(tx *gorm.DB, request uuid.UUID) (r models.PrivacyRequest, err error) {
	q := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", request).Limit(1).Find(&r)
	if q.Error == nil && q.RowsAffected == 0 {
		return r, errNoRequest
	}
	return r, q.Error
}

// IdentityChecks lists how a consumer's identity can be checked.
var IdentityChecks = choice.List[models.IdentityCheck]{
	{Code: models.IdentityReply, Label: "the consumer wrote from the email address of the leads"},
	{Code: models.IdentityCall, Label: "the consumer was called at the phone number of the leads"},
	{Code: models.IdentityDocument, Label: "the consumer showed an identity document"},
	{Code: models.IdentityOther, Label: "in another way"},
}

// Identity describes how the consumer's identity was checked.
type Identity struct {
	Check models.IdentityCheck
	Note  string // must not identify the consumer; required if Check is models.IdentityOther
}

// valid returns the identity with a trimmed note, or an Invalid error at the field identity or note.
func (i Identity) valid() (Identity, error) {
	var err error
	if i.Note, err = plaintext.CheckNote(i.Note); err != nil {
		return i, err
	}
	switch {
	case IdentityChecks.Label(i.Check) == "":
		err = apperr.InvalidField("identity", apperr.InvalidValue, "Choose how the identity was checked.")
	case i.Check == models.IdentityOther && i.Note == "":
		err = apperr.InvalidField("note", apperr.Required, "Describe how the identity was checked.")
	}
	return i, err
}

// CheckIdentity records how the consumer's identity was checked. The latest check counts.
//
// Errors: Invalid at the field identity or note, NotFound, and Conflict if the request is closed.
func (s *Service) CheckIdentity(ctx context.Context, request uuid.UUID, i Identity) error {
	i, err := i.valid()
	if err != nil {
		return err
	}
	return s.change(ctx, request, func(tx *gorm.DB, r models.PrivacyRequest) (requestEdit, error) {
		return s.identityEdit(i), nil
	})
}

func (s *Service) identityEdit(i Identity) requestEdit {
	columns := map[string]any{
		"identity": i.Check, "identity_note": i.Note, "identity_by": s.by.Name, "identity_by_id": s.by.StaffID(),
		"identity_at": s.clock.Now(),
	}
	return requestEdit{"privacy_request.check_identity", columns, map[string]any{"identity": i.Check}}
}

// noIdentity contains the columns of a request whose identity check is missing.
var noIdentity = map[string]any{
	"identity": nil, "identity_note": "", "identity_by": nil, "identity_by_id": nil, "identity_at": nil,
}

// CheckAnswer returns the reason why the user cannot export or erase the data of a request, or nil.
func (s *Service) CheckAnswer(r Request) error {
	switch {
	case r.Leads == 0:
		return errNothingFound
	case MayErase(r.Kind) && r.AlreadyErased():
		return errAlreadyErased
	}
	return s.checkFulfil(r.PrivacyRequest, r.Kind)
}

// checkSecondUser returns an error if the setting requires another user to export or erase.
func (s *Service) checkSecondUser(r models.PrivacyRequest) error {
	if !s.settings.RequireApproval || r.Identity == nil {
		return nil
	}
	switch {
	case s.isSecondUser(r):
		return nil
	case r.IdentityByID == nil:
		return errCommandIdentity
	default:
		return errSameUser
	}
}

// isSecondUser reports whether a user recorded the identity check, and the actor is another user. A command
// does not know who runs it, so that person could also be the actor.
func (s *Service) isSecondUser(r models.PrivacyRequest) bool {
	return r.IdentityByID != nil && s.by.MayApprove(r.IdentityByID)
}

// Extension extends the deadline of a request. Staff must inform the consumer of the extension and its reason before
// the first deadline.
type Extension struct {
	Reason string
	Until  time.Time // date; only for a complaint, for which the authority set the new deadline
}

// Extend extends the deadline of a request. The law determines the new deadline, and allows only one extension.
// An authority can extend the deadline of a complaint more than once.
//
// Errors: Invalid at the field reason or until, NotFound, and Conflict if the request is closed, overdue or
// already extended, or if the law allows no extension.
func (s *Service) Extend(ctx context.Context, request uuid.UUID, e Extension) error {
	reason, err := plaintext.Check("reason", e.Reason, plaintext.MaxNote)
	switch {
	case err != nil:
		return err
	case reason == "":
		return apperr.InvalidField("reason", apperr.Required, "Enter the reason for the extension.")
	}
	return s.change(ctx, request, func(tx *gorm.DB, r models.PrivacyRequest) (edit requestEdit, err error) {
		due, ok := ExtendedDeadline(r.Law, r.Kind, r.ReceivedOn)
		switch {
		case r.Kind == models.RequestComplaint && !e.Until.After(r.DueOn):
			return edit, apperr.InvalidField("until", apperr.InvalidValue, "Enter a day after the current deadline.")
		case r.Kind == models.RequestComplaint:
			due = e.Until
		case !ok:
			return edit,
				apperr.New(apperr.Conflict, "no_extension", "The law does not allow an extension for this kind of request.")
		case r.ExtendedAt != nil:
			return edit, apperr.New(apperr.Conflict, "extended", "The deadline has already been extended.")
		case s.today().After(r.DueOn):
			return edit, apperr.New(apperr.Conflict, "overdue", "The deadline has passed, so it can no longer be extended.")
		}
		columns := map[string]any{"due_on": due, "extension_reason": reason, "extended_at": s.clock.Now()}
		return requestEdit{"privacy_request.extend", columns, map[string]any{"due_on": due.Format(time.DateOnly)}}, nil
	})
}

// Closing describes how a request is closed without an export or an erasure.
type Closing struct {
	Outcome models.RequestOutcome  // done, nothing_found, rejected or withdrawn
	Ground  models.RejectionGround // if the outcome is rejected
	Note    string                 // must not identify the consumer; required if the outcome is done
}

// Close closes a request without an export or an erasure. If some of its leads were erased in another way after it
// was received, their partners must be notified.
//
// Errors: Invalid at the field outcome, ground or note, NotFound, and Conflict if the request is closed or if leads
// were found although the outcome says otherwise. If the consumer asked for an erasure, leads that have already been
// erased do not count as found.
func (s *Service) Close(ctx context.Context, request uuid.UUID, c Closing) error {
	var err error
	if c.Note, err = plaintext.CheckNote(c.Note); err != nil {
		return err
	}
	return s.change(ctx, request, func(tx *gorm.DB, r models.PrivacyRequest) (edit requestEdit, err error) {
		var ground *models.RejectionGround
		switch c.Outcome {
		case models.OutcomeDone:
			switch {
			case !mayBeDone(r.Kind):
				return edit, apperr.InvalidField("outcome", apperr.InvalidValue, "Choose an outcome.")
			case c.Note == "":
				return edit, apperr.InvalidField("note", apperr.Required, "Describe what was done.")
			}
		case models.OutcomeNothingFound:
			left, err := leadsOf(tx, r.ID)
			if err == nil && MayErase(r.Kind) {
				left, err = erasure.NotFullyErased(tx, left)
			}
			if err != nil || len(left) > 0 {
				return edit, cmp.Or(err, error(errLeadsFound))
			}
		case models.OutcomeRejected:
			for _, g := range RejectionGrounds(r.Law, r.Kind) {
				if g.Ground == c.Ground {
					ground = &c.Ground
				}
			}
			if ground == nil {
				return edit, apperr.InvalidField("ground", apperr.InvalidValue, "Choose one of the grounds.")
			}
		case models.OutcomeWithdrawn:
		default:
			return edit, apperr.InvalidField("outcome", apperr.InvalidValue, "Choose an outcome.")
		}
		edit = s.closing(c.Outcome, ground, c.Note, map[string]any{})
		if !MayErase(r.Kind) || c.Outcome == models.OutcomeWithdrawn {
			return edit, nil
		}
		elsewhere, err := erasedElsewhere(tx, r)
		if err != nil {
			return edit, err
		}
		return edit, markErased(tx, r.ID, elsewhere, edit.columns)
	})
}

// closing returns the edit that closes a request. It adds the outcome to the map after.
func (s *Service) closing(
	outcome models.RequestOutcome, ground *models.RejectionGround, note string, after map[string]any,
) requestEdit {
	after["outcome"] = outcome
	if ground != nil {
		after["ground"] = *ground
	}
	columns := map[string]any{
		"outcome": outcome, "ground": ground, "outcome_note": note, "closed_by": s.by.Name, "closed_at": s.clock.Now(),
	}
	return requestEdit{"privacy_request.close", columns, after}
}
