package requests

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var errRequestHeld = apperr.New(apperr.Conflict, "legal_hold",
	"Nothing was erased. All remaining leads of this request are under a legal hold. Release the legal hold, or close the request.")

// checkFulfil returns the reason why the user cannot fulfil a request, or nil.
func (s *Service) checkFulfil(r models.PrivacyRequest, kind models.PrivacyRequestKind) error {
	switch {
	case r.Kind != kind && (kind != models.RequestErasure || !MayErase(r.Kind)):
		return errWrongKind
	case r.Identity == nil:
		return errIdentity
	}
	return s.checkSecondUser(r)
}

// Erase erases the leads of a request. It does not erase leads under a legal hold, so the request stays open until the
// holds are released and these leads are erased. It also stays open until staff have recorded, for each partner of an
// erased lead, that it was notified or why not. If there are many leads, it returns before all are erased, and the
// nodes finish the erasure.
//
// Errors: NotFound; Conflict if the request is closed, if the consumer's identity was not checked, if no leads were
// found, if all remaining leads are under a hold (reason legal_hold), or if all were erased for another reason (reason
// already_erased); Forbidden if another user must do it; and those of erasure.Service.Erase.
func (s *Service) Erase(ctx context.Context, request uuid.UUID) error {
	if err := s.erasures.RequireJournal(); err != nil {
		return err
	}
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return err
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		ids, err := leadsOf(tx, request)
		if err != nil {
			return err
		}
		if err := erasure.LockLeads(tx, ids); err != nil {
			return err
		}
		return s.changeIn(tx, request, func(tx *gorm.DB, r models.PrivacyRequest) (requestEdit, error) {
			return s.addErasures(tx, r, ids)
		})
	})
	if err != nil {
		return err
	}
	finishing, cancel := context.WithTimeout(ctx, finishWithin)
	defer cancel()
	failed := s.erasures.Finish(finishing) // may be about other erasures
	r, err := s.Request(ctx, request)
	if err != nil || r.Pending == 0 || finishing.Err() != nil { // the nodes finish what is left
		return err
	}
	return failed
}

// addErasures adds entries for the leads of a request to the erasure journal.
func (s *Service) addErasures(tx *gorm.DB, r models.PrivacyRequest, ids []uuid.UUID) (edit requestEdit, err error) {
	if err := s.checkFulfil(r, models.RequestErasure); err != nil {
		return edit, err
	}
	if len(ids) == 0 {
		return edit, errNothingFound
	}
	if now, err := leadsOf(tx, r.ID); err != nil || !slices.Equal(now, ids) { // leads were added or removed before the lock
		return edit, cmp.Or(err, error(errLeadsChanged))
	}
	if err := erasure.Lock(tx); err != nil {
		return edit, err
	}
	left, err := erasure.NotFullyErased(tx, ids)
	if err != nil {
		return edit, err
	}
	held, err := s.erasures.Held(tx, left)
	if err != nil {
		return edit, err
	}
	left = slices.DeleteFunc(left, func(lead uuid.UUID) bool { return held[lead] })
	if len(left) == 0 {
		erased, err := hasErased(tx, r.ID)
		switch {
		case err != nil:
			return edit, err
		case len(held) > 0:
			return edit, errRequestHeld
		case !erased:
			return edit, errAlreadyErased
		}
	}
	elsewhere, err := erasedElsewhere(tx, r)
	if err != nil {
		return edit, err
	}
	for batch := range slices.Chunk(left, erasure.LeadsPerEntry) {
		if err := s.erasures.AddEntry(tx, models.EraseForRequest, "Request "+ID(r.ID), batch); err != nil {
			return edit, err
		}
	}
	if len(held) > 0 {
		edit = requestEdit{"privacy_request.erase", map[string]any{}, map[string]any{"leads": len(left), "held": len(held)}}
	} else {
		edit = s.closing(models.OutcomeErased, nil, "", map[string]any{"leads": len(left)})
	}
	return edit, markErased(tx, r.ID, append(left, elsewhere...), edit.columns)
}

// markErased records that leads of a request were erased, and adds notices_due to the columns to set in the request. It
// deletes earlier notices of the partners of these leads, because these partners must be notified again. The earlier
// notices were about other leads of the request, which were erased before a legal hold was released.
func markErased(tx *gorm.DB, request uuid.UUID, ids []uuid.UUID, columns map[string]any) error {
	for batch := range slices.Chunk(ids, erasure.LeadsPerEntry) {
		err := tx.Model(&models.PrivacyRequestLead{}).Where("request_id = ? AND lead_id IN ?", request, batch).
			Update("erased", true).Error
		if err != nil {
			return err
		}
		err = tx.Exec(`DELETE FROM privacy_request_notices WHERE request_id = ? AND partner_id IN (
			SELECT partner_id FROM privacy_request_leads WHERE request_id = ? AND lead_id IN ?)`, request, request, batch).Error
		if err != nil {
			return err
		}
		columns["notices_due"] = true
	}
	return nil
}

// erasedElsewhere returns the leads of a request that were erased in another way after it was received. It leaves out
// those whose retention period had passed, and those that another request erased, because that request lists their
// partners.
func erasedElsewhere(tx *gorm.DB, r models.PrivacyRequest) (ids []uuid.UUID, err error) {
	err = tx.Raw(`SELECT lead_id FROM privacy_request_leads l WHERE request_id = @request
		AND lead_id IN (SELECT lead_id FROM erasures JOIN erasure_entries USING (sequence) WHERE lead_id = l.lead_id
			AND reason <> @retention AND requested_at >= @received)
		AND NOT EXISTS (SELECT FROM privacy_request_leads o WHERE o.lead_id = l.lead_id AND o.erased) ORDER BY lead_id`,
		sql.Named("request", r.ID), sql.Named("received", r.ReceivedOn), sql.Named("retention", models.EraseForRetention)).Scan(&ids).Error
	return ids, err
}

// finishWithin is how long a user waits for an erasure before it is finished in the background.
const finishWithin = 5 * time.Second

// leadsOf returns the ids of a request's leads in ascending order.
func leadsOf(tx *gorm.DB, request uuid.UUID) (ids []uuid.UUID, err error) {
	err = tx.Model(&models.PrivacyRequestLead{}).Where("request_id = ?", request).Order("lead_id").Pluck("lead_id", &ids).
		Error
	return ids, err
}

// HeldLeads returns the leads of a request that are under a legal hold, and therefore cannot be erased, in
// ascending order.
func (s *Service) HeldLeads(ctx context.Context, request uuid.UUID) ([]uuid.UUID, error) {
	tx := s.db.Gorm.WithContext(ctx)
	ids, err := leadsOf(tx, request)
	if err == nil {
		ids, err = erasure.NotFullyErased(tx, ids)
	}
	if err != nil {
		return nil, postgres.Translate(err)
	}
	held, err := erasure.HeldAmong(tx, ids)
	return held, postgres.Translate(err)
}

// Receipts returns the receipts for the last erasures of a request's leads, in the order of the
// leads' ids.
func (s *Service) Receipts(ctx context.Context, request uuid.UUID) (all []erasure.Receipt, err error) {
	var erased []models.Erasure
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT DISTINCT ON (lead_id) lead_id, sequence, note
		FROM privacy_request_leads JOIN erasures USING (lead_id) WHERE request_id = ?
		ORDER BY lead_id, sequence DESC`, request).Scan(&erased).Error
	if err != nil {
		return nil, postgres.Translate(err)
	}
	return s.erasures.ReceiptsFor(ctx, erased)
}
