package ratecard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	// MaxReplayDays is the longest period that a replay can cover. A replay does not include pings that
	// have already been deleted.
	MaxReplayDays = 90
	// ReplayPhase is the phase of a replay's job, whose progress is in days.
	ReplayPhase       = "days recalculated"
	replayStepTimeout = 90 * time.Second
	maxWaiting        = 20
)

// RequestReplay enqueues a job that prices recent pings and leads with a draft. The parameter days
// is the number of days to cover, including today. Earlier replays of the draft are cancelled and deleted.
func (s *Service) RequestReplay(
	ctx context.Context, card models.RateCard, days int,
) (r models.RateCardReplay, err error) {
	if days < 1 || days > MaxReplayDays {
		return r, field("days", apperr.InvalidValue, "days", fmt.Sprintf("A replay can cover 1 to %d days.", MaxReplayDays))
	}
	now := s.clock.Now()
	r = models.RateCardReplay{
		ID: id.New(now), RateCardID: card.ID, RowVersion: card.RowVersion, Requester: s.by.Name, RequestedAt: now,
		FirstDay: now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days), Days: days,
	}
	if err := s.cancelReplay(ctx, card.ID); err != nil {
		return r, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var waiting int64
		err := tx.Model(&models.Job{}).Where("kind = ? AND state IN ?", models.JobReplay,
			[]models.JobState{models.JobWaiting, models.JobRunning}).Count(&waiting).Error
		if err != nil {
			return err
		}
		if waiting >= maxWaiting {
			return apperr.New(apperr.Conflict, "replays",
				fmt.Sprintf("%d replays are waiting or running. Try again in a minute.", waiting))
		}
		if err := tx.Where("rate_card_id = ?", card.ID).Delete(&models.RateCardReplay{}).Error; err != nil {
			return err
		}
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		_, err = s.queue.Enqueue(tx, s.by, models.JobReplay, card.ID, uuid.Nil)
		return err
	})
	return r, err
}

// cancelReplay cancels the draft's replay, if it has not ended.
func (s *Service) cancelReplay(ctx context.Context, card uuid.UUID) error {
	job, found, err := s.queue.Latest(ctx, card)
	if err != nil || !found || job.EndedAt != nil {
		return err
	}
	err = s.queue.Cancel(ctx, scope.System, s.by, job.ID)
	if f := apperr.As(err); f != nil && f.Code == apperr.Conflict { // it has ended in the meantime
		return nil
	}
	return err
}

// Replay is a replay of a draft with the state of its job.
type Replay struct {
	models.RateCardReplay
	State   models.JobState
	Done    int // number of days
	Failure string
}

// LastReplay returns the latest replay of a draft. The result found reports whether there is one.
func (s *Service) LastReplay(ctx context.Context, card uuid.UUID) (r Replay, found bool, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("rate_card_id = ?", card).Order("requested_at DESC").Limit(1).
		Find(&r.RateCardReplay)
	if q.Error != nil || q.RowsAffected == 0 {
		return r, false, postgres.Translate(q.Error)
	}
	if r.Result != nil {
		r.State, r.Done = models.JobDone, r.Days
		return r, true, nil
	}
	job, found, err := s.queue.Latest(ctx, card)
	if !found {
		job.State = models.JobFailed // the replay is so old that its job has been deleted
	}
	r.State, r.Done, r.Failure = job.State, int(job.Done), job.Failure
	return r, true, err
}

var errReplaced = apperr.New(apperr.Conflict, "replay_replaced", "The replay was started again.")

// runReplay is the handler of the jobs for replays.
func (s *Service) runReplay(ctx context.Context, job *jobs.Attempt) error {
	r, found, err := s.LastReplay(ctx, job.ObjectID)
	if err != nil {
		return err
	}
	if !found {
		return errReplaced
	}
	result, err := s.replay(ctx, job, r.RateCardReplay)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return job.Commit(ctx, func(tx *gorm.DB) error {
		return tx.Model(&models.RateCardReplay{}).Where("id = ?", r.ID).Updates(map[string]any{"result": string(text)}).Error
	})
}

func (s *Service) replay(ctx context.Context, job *jobs.Attempt, r models.RateCardReplay) (*ReplayResult, error) {
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
	job.Progress(ReplayPhase, 0, int64(r.Days))
	for done := 0; done < r.Days; {
		days, err := s.replayStep(ctx, sum, r.FirstDay.AddDate(0, 0, done), r.Days-done)
		if err != nil {
			return nil, err
		}
		done += days
		job.Progress(ReplayPhase, int64(done), int64(r.Days))
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
