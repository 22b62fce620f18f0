package requests

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/choice"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// NoNoticeReasons lists the reasons why a partner is not notified of an erasure.
var NoNoticeReasons = choice.List[models.NoNoticeReason]{
	{Code: models.NoNoticeNoCopy, Label: "the partner has no copy of the data"},
	{Code: models.NoNoticeUnreachable, Label: "the partner cannot be identified or reached"},
	{Code: models.NoNoticeDisproportionate, Label: "the effort would be disproportionate"},
	{Code: models.NoNoticeOther, Label: "for another reason"},
}

// PartnerNotice contains a partner whose leads were erased for a request or after it was received, and the time at
// which the partner was notified. If Reason is not "", the partner was not notified, for this reason.
type PartnerNotice struct {
	Partner    uuid.UUID
	Leads      int
	NotifiedBy string
	NotifiedAt time.Time // zero if the notice is still due
	Reason     models.NoNoticeReason
	Note       string
}

// notifiable is the SQL condition that a partner must be notified of the erasure of its lead l in a request. The
// platform's own partner has no copy.
var notifiable = `(l.erased AND l.partner_id <> '` + models.PlatformIDs.Partner.String() + `')`

// Notices returns the partners of a request's erased leads (see models.PrivacyRequestLead).
func (s *Service) Notices(ctx context.Context, request uuid.UUID) (all []PartnerNotice, err error) {
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT l.partner_id AS partner, count(*) AS leads, coalesce(n.notified_by, '') AS notified_by, n.notified_at,
			coalesce(n.reason, '') AS reason, coalesce(n.note, '') AS note
		FROM privacy_request_leads l LEFT JOIN privacy_request_notices n USING (request_id, partner_id)
		WHERE request_id = ? AND `+notifiable+` GROUP BY l.partner_id, n.notified_by, n.notified_at, n.reason, n.note
		ORDER BY leads DESC, partner`, request).Scan(&all).Error
	for i := range all {
		all[i].NotifiedAt = all[i].NotifiedAt.UTC()
	}
	return all, postgres.Translate(err)
}

// NewNotice records that a partner was notified of the erasure of its leads or, with a reason, that it was not.
type NewNotice struct {
	Partner uuid.UUID
	Reason  models.NoNoticeReason // "" if the partner was notified
	Note    string                // required if the reason is models.NoNoticeOther; must not identify the consumer
}

// check returns the notice with a trimmed note, or an Invalid error at the field reason or note.
func (n NewNotice) check() (NewNotice, error) {
	var err error
	if n.Note, err = plaintext.CheckNote(n.Note); err != nil {
		return n, err
	}
	switch {
	case n.Reason != "" && NoNoticeReasons.Label(n.Reason) == "":
		err = apperr.InvalidField("reason", apperr.InvalidValue, "Choose a reason.")
	case n.Reason == models.NoNoticeOther && n.Note == "":
		err = apperr.InvalidField("note", apperr.Required, "Describe the reason.")
	}
	return n, err
}

// RecordNotice records a notice. The first one for a partner counts. When the notices for all partners are
// recorded, the request is closed, unless leads under a legal hold are left.
//
// Errors: Invalid at the field reason or note, NotFound if no leads of this partner were erased, and Conflict if no
// leads of the request were erased.
func (s *Service) RecordNotice(ctx context.Context, request uuid.UUID, n NewNotice) error {
	n, err := n.check()
	if err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := lockRequest(tx, request); err != nil {
			return err
		}
		erased, err := hasErased(tx, request)
		if err != nil {
			return err
		}
		if !erased {
			return apperr.New(apperr.Conflict, "not_erased_yet", "Erase the leads first.")
		}
		var leads int64
		err = tx.Table("privacy_request_leads l").Where("request_id = ? AND partner_id = ? AND "+notifiable, request, n.Partner).Count(&leads).Error
		if err != nil {
			return err
		}
		if leads == 0 {
			return errNoRequest
		}
		q := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.PrivacyRequestNotice{
			RequestID: request, PartnerID: n.Partner, NotifiedBy: s.by.Name, NotifiedAt: s.clock.Now(), Reason: n.Reason, Note: n.Note,
		})
		if q.Error != nil || q.RowsAffected == 0 {
			return q.Error
		}
		var due int
		if err := tx.Raw(`SELECT `+toNotifySQL+` FROM privacy_requests WHERE id = ?`, request).Scan(&due).Error; err != nil {
			return err
		}
		if due == 0 {
			if err := tx.Model(&models.PrivacyRequest{ID: request}).Updates(map[string]any{"notices_due": false}).Error; err != nil {
				return err
			}
		}
		after := map[string]any{"leads": leads, "notified": n.Reason == "", "partners_to_notify": due}
		if n.Reason != "" {
			after["reason"] = n.Reason
		}
		return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
			Action: "privacy_request.notify", Kind: "privacy_request", Object: ID(request), Partner: n.Partner,
			After: after,
		})
	})
}
