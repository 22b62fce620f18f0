package ratecard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	// MaxReplayDays is the longest period that a replay can cover. A replay does not include pings that
	// have already been deleted.
	MaxReplayDays = 90
	// replayLease is how long a replay can go without progress before another node takes it over.
	// replayStepTimeout must be shorter.
	replayLease       = 2 * time.Minute
	replayStepTimeout = 90 * time.Second
	maxWaiting        = 20
)

// RequestReplay queues a replay, which prices recent pings and leads with a draft. The parameter days
// is the number of days to cover, including today. Earlier replays of the draft are deleted.
func (s *Service) RequestReplay(
	ctx context.Context, card models.RateCard, days int,
) (r models.RateCardReplay, err error) {
	if days < 1 || days > MaxReplayDays {
		return r, field("days", apperr.InvalidValue, "days", fmt.Sprintf("A replay can cover 1 to %d days.", MaxReplayDays))
	}
	now := s.clock.Now()
	r = models.RateCardReplay{
		ID: id.New(now), RateCardID: card.ID, RowVersion: card.RowVersion, Requester: s.by.Name, RequestedAt: now,
		FirstDay: now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days), Days: days, State: models.ReplayWaiting,
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var waiting int64
		if err := tx.Model(&models.RateCardReplay{}).Where("state IN ?", []models.ReplayState{models.ReplayWaiting, models.ReplayRunning}).
			Where("rate_card_id <> ?", card.ID).Count(&waiting).Error; err != nil {
			return err
		}
		if waiting >= maxWaiting {
			return apperr.New(apperr.Conflict, "replays",
				fmt.Sprintf("%d replays are waiting or running. Try again in a minute.", waiting))
		}
		if err := tx.Where("rate_card_id = ?", card.ID).Delete(&models.RateCardReplay{}).Error; err != nil {
			return err
		}
		return tx.Create(&r).Error
	})
	return r, err
}

// Replay returns the latest replay of a draft. The result found is false if there is none.
func (s *Service) Replay(ctx context.Context, card uuid.UUID) (r models.RateCardReplay, found bool, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("rate_card_id = ?", card).Order("requested_at DESC").Limit(1).Find(&r)
	return r, q.RowsAffected > 0, postgres.Translate(q.Error)
}

// ReplayNext runs the replay that has been waiting longest, and reports whether there was one. A replay
// whose node has stopped making progress counts as waiting. Several nodes can call ReplayNext at the
// same time.
func (s *Service) ReplayNext(ctx context.Context) (bool, error) {
	r, err := s.claimReplay(ctx)
	if err != nil || r == nil {
		return false, err
	}
	result, err := s.replay(ctx, r)
	switch {
	case err == nil:
		err = s.endReplay(ctx, r, models.ReplayDone, result)
	case ctx.Err() == nil:
		err = errors.Join(err, s.endReplay(ctx, r, models.ReplayFailed, nil))
	}
	return true, err
}

func (s *Service) claimReplay(ctx context.Context) (*models.RateCardReplay, error) {
	now := s.clock.Now().Truncate(time.Microsecond)
	var r models.RateCardReplay
	q := s.db.Gorm.WithContext(ctx).Raw(`UPDATE rate_card_replays SET state = 'running', seen_at = ?, days_done = 0
		WHERE id = (SELECT id FROM rate_card_replays WHERE state = 'waiting' OR (state = 'running' AND seen_at < ?)
			ORDER BY requested_at LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING `+postgres.Columns[models.RateCardReplay]("rate_card_replays"), now, now.Add(-replayLease)).Scan(&r)
	if q.Error != nil || q.RowsAffected == 0 {
		return nil, postgres.Translate(q.Error)
	}
	return &r, nil
}

// updateReplay updates a replay that this node is running. It returns errTakenOver if this node no
// longer runs it.
func (s *Service) updateReplay(ctx context.Context, r *models.RateCardReplay, columns map[string]any) error {
	q := s.db.Gorm.WithContext(ctx).Model(&models.RateCardReplay{}).Where(
		"id = ? AND state = 'running' AND seen_at = ?", r.ID, *r.SeenAt).Updates(columns)
	if q.Error == nil && q.RowsAffected == 0 {
		return errTakenOver
	}
	return postgres.Translate(q.Error)
}

var errTakenOver = apperr.New(apperr.Conflict, "taken_over",
	"The replay was requested again or taken over by another node.")

func (s *Service) saveProgress(ctx context.Context, r *models.RateCardReplay, done int) error {
	now := s.clock.Now().Truncate(time.Microsecond)
	if err := s.updateReplay(ctx, r, map[string]any{"days_done": done, "seen_at": now}); err != nil {
		return err
	}
	r.SeenAt = &now
	return nil
}

func (s *Service) endReplay(
	ctx context.Context, r *models.RateCardReplay, state models.ReplayState, result *ReplayResult,
) error {
	columns := map[string]any{"state": state, "ended_at": s.clock.Now()}
	if result != nil {
		text, err := json.Marshal(result)
		if err != nil {
			return err
		}
		columns["result"], columns["days_done"] = string(text), r.Days
	}
	return s.updateReplay(ctx, r, columns)
}

func (s *Service) replay(ctx context.Context, r *models.RateCardReplay) (*ReplayResult, error) {
	began := s.clock.Now()
	var card models.RateCard
	if err := s.db.Gorm.WithContext(ctx).Where("id = ?", r.RateCardID).Take(&card).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	compiled, err := s.ExamineCard(ctx, card)
	if err != nil {
		return nil, err
	}
	own, err := s.partnerPricing(ctx)
	if err != nil {
		return nil, err
	}
	sum := newTally(compiled.Table, own)
	for done := 0; done < r.Days; {
		days, err := s.replayStep(ctx, sum, r.FirstDay.AddDate(0, 0, done), r.Days-done)
		if err != nil {
			return nil, err
		}
		done += days
		if err := s.saveProgress(ctx, r, done); err != nil {
			return nil, err
		}
	}
	result := sum.result()
	result.Took = s.clock.Now().Sub(began)
	return result, nil
}

func (s *Service) partnerPricing(ctx context.Context) (map[uuid.UUID]pricingrules.PartnerPricing, error) {
	var rows []models.PartnerPrice
	if err := s.db.Gorm.WithContext(ctx).Find(&rows).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	all := map[uuid.UUID]pricingrules.PartnerPricing{}
	for _, row := range rows {
		exclusions, err := pricingrules.ParseExclusions([]byte(row.Exclusions))
		if err != nil {
			exclusions = []pricingrules.PartnerExclusion{{}} // exclude every lead, as package partners does
		}
		if row.Adjustment != 0 || len(exclusions) > 0 {
			all[row.PartnerID] = pricingrules.PartnerPricing{Adjustment: row.Adjustment, Exclusions: exclusions}
		}
	}
	return all, nil
}

// ReadReplay decodes the result of a completed replay.
func ReadReplay(r models.RateCardReplay) (*ReplayResult, error) {
	if r.Result == nil {
		return nil, apperr.New(apperr.NotFound, "replay", "The replay has no result yet.")
	}
	var out ReplayResult
	return &out, json.Unmarshal([]byte(*r.Result), &out)
}
