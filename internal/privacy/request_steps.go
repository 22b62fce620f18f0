package privacy

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/models"
)

// requestEdit is a change of a request: the columns that it sets, and its audit event.
type requestEdit struct {
	action  string
	columns map[string]any // can be empty
	after   map[string]any // in the audit event
}

// change locks an open request, calls fn, and applies the edit that fn returns.
func (s *Service) change(ctx context.Context, request uuid.UUID, fn func(tx *gorm.DB, r models.PrivacyRequest) (requestEdit, error)) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error { return s.changeIn(tx, request, fn) })
}

// changeIn is like change, but uses the caller's transaction.
func (s *Service) changeIn(tx *gorm.DB, request uuid.UUID, fn func(tx *gorm.DB, r models.PrivacyRequest) (requestEdit, error)) error {
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
var IdentityChecks = Choices[models.IdentityCheck]{
	{models.IdentityReply, "the consumer wrote from the email address of the leads"},
	{models.IdentityCall, "the consumer was called at the phone number of the leads"},
	{models.IdentityDocument, "the consumer showed an identity document"},
	{models.IdentityOther, "in another way"},
}

// Identity is how the consumer's identity was checked.
type Identity struct {
	Check models.IdentityCheck
	Note  string // must not identify the consumer; required if Check is models.IdentityOther
}

// valid returns the identity with a trimmed note, or an Invalid error at the field identity or note.
func (i Identity) valid() (Identity, error) {
	var err error
	if i.Note, err = plainNote(i.Note); err != nil {
		return i, err
	}
	switch {
	case IdentityChecks.Label(i.Check) == "":
		err = invalid("identity", apperr.InvalidValue, "Choose how the identity was checked.")
	case i.Check == models.IdentityOther && i.Note == "":
		err = invalid("note", apperr.Required, "Describe how the identity was checked.")
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

// CheckAnswer returns the reason why the user cannot export or erase the data of a request, or nil.
func (s *Service) CheckAnswer(r Request) error {
	switch {
	case r.Leads == 0:
		return errNothingFound
	case r.Kind == models.RequestErasure && r.AlreadyErased():
		return errAlreadyErased
	}
	return s.checkFulfil(r.PrivacyRequest, r.Kind)
}

// checkSecondUser returns an error if the setting requires another user to export or erase.
func (s *Service) checkSecondUser(r models.PrivacyRequest) error {
	if !s.settings.RequireApproval || r.Identity == nil {
		return nil
	}
	if !s.by.MayApprove(r.IdentityByID) {
		return errSameUser
	}
	return nil
}

// Extend extends the deadline of a request to three months after its receipt, once. The consumer must have
// been told, with the reason, before the first deadline.
//
// Errors: Invalid at the field reason, NotFound, and Conflict if the request is closed, overdue or already
// extended.
func (s *Service) Extend(ctx context.Context, request uuid.UUID, reason string) error {
	reason, err := plainText("reason", reason, MaxNote)
	switch {
	case err != nil:
		return err
	case reason == "":
		return invalid("reason", apperr.Required, "Enter the reason that you gave the consumer.")
	}
	return s.change(ctx, request, func(tx *gorm.DB, r models.PrivacyRequest) (edit requestEdit, err error) {
		switch {
		case r.ExtendedAt != nil:
			return edit, apperr.New(apperr.Conflict, "extended", "The deadline has already been extended.")
		case s.today().After(r.DueOn):
			return edit, apperr.New(apperr.Conflict, "overdue", "The deadline has passed, so it can no longer be extended.")
		}
		due := ExtendedDeadline(r.ReceivedOn)
		columns := map[string]any{"due_on": due, "extension_reason": reason, "extended_at": s.clock.Now()}
		return requestEdit{"privacy_request.extend", columns, map[string]any{"due_on": due.Format(time.DateOnly)}}, nil
	})
}

// RejectionGround is a ground for rejecting a request, with its label.
type RejectionGround struct {
	Ground models.RejectionGround
	Label  string
	only   models.PrivacyRequestKind // "" if it applies to all requests
}

var rejectionGrounds = []RejectionGround{
	{models.GroundIdentity, "the consumer could not be identified (article 12(2) and (6))", ""},
	{models.GroundExcessive, "the request is manifestly unfounded or excessive (article 12(5))", ""},
	{models.GroundRightsOfOthers, "a copy would affect the rights of others (article 15(4))", models.RequestAccess},
	{models.GroundExpression, "freedom of expression and information (article 17(3)(a))", models.RequestErasure},
	{models.GroundObligation, "a legal obligation or a task in the public interest (article 17(3)(b))", models.RequestErasure},
	{models.GroundPublicHealth, "public health (article 17(3)(c))", models.RequestErasure},
	{models.GroundArchiving, "archiving, research or statistics (article 17(3)(d))", models.RequestErasure},
	{models.GroundLegalClaims, "legal claims (article 17(3)(e))", models.RequestErasure},
}

// RejectionGrounds returns the grounds on which a kind of request can be rejected.
func RejectionGrounds(kind models.PrivacyRequestKind) (all []RejectionGround) {
	for _, g := range rejectionGrounds {
		if g.only == "" || g.only == kind {
			all = append(all, g)
		}
	}
	return all
}

// RejectionGroundLabel returns the label of a ground.
func RejectionGroundLabel(g models.RejectionGround) string {
	for _, one := range rejectionGrounds {
		if one.Ground == g {
			return one.Label
		}
	}
	return ""
}

// Closing is how a request is closed without an export or an erasure.
type Closing struct {
	Outcome models.RequestOutcome  // nothing_found, rejected or withdrawn
	Ground  models.RejectionGround // if the outcome is rejected
	Note    string                 // must not identify the consumer
}

// Close closes a request without an export or an erasure.
//
// Errors: Invalid at the field outcome, ground or note, NotFound, and Conflict if the request is closed or if
// leads were found although the outcome says otherwise. An erasure found nothing if all leads were erased before.
func (s *Service) Close(ctx context.Context, request uuid.UUID, c Closing) error {
	var err error
	if c.Note, err = plainNote(c.Note); err != nil {
		return err
	}
	return s.change(ctx, request, func(tx *gorm.DB, r models.PrivacyRequest) (edit requestEdit, err error) {
		var ground *models.RejectionGround
		switch c.Outcome {
		case models.OutcomeNothingFound:
			left, err := leadsOf(tx, r.ID)
			if err == nil && r.Kind == models.RequestErasure {
				left, err = notFullyErased(tx, left)
			}
			if err != nil || len(left) > 0 {
				return edit, cmp.Or(err, error(errLeadsFound))
			}
		case models.OutcomeRejected:
			for _, g := range RejectionGrounds(r.Kind) {
				if g.Ground == c.Ground {
					ground = &c.Ground
				}
			}
			if ground == nil {
				return edit, invalid("ground", apperr.InvalidValue, "Choose one of the grounds.")
			}
		case models.OutcomeWithdrawn:
		default:
			return edit, invalid("outcome", apperr.InvalidValue, "Choose an outcome.")
		}
		return s.closing(c.Outcome, ground, c.Note, map[string]any{}), nil
	})
}

// closing returns the edit that closes a request. It adds the outcome to the map after.
func (s *Service) closing(outcome models.RequestOutcome, ground *models.RejectionGround, note string, after map[string]any) requestEdit {
	after["outcome"] = outcome
	if ground != nil {
		after["ground"] = *ground
	}
	columns := map[string]any{"outcome": outcome, "ground": ground, "outcome_note": note, "closed_by": s.by.Name, "closed_at": s.clock.Now()}
	return requestEdit{"privacy_request.close", columns, after}
}
