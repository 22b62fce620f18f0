package ratecard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// MaxAhead limits how far in advance a draft can be scheduled.
const MaxAhead = 90 * 24 * time.Hour

// Publish publishes a draft immediately or, if the parameter at is set, schedules the draft for that
// time. If Policy.RequireApproval is set, Publish submits the draft for approval instead.
func (s *Service) Publish(
	ctx context.Context, card uuid.UUID, version int, note string, at time.Time,
) (models.RateCard, error) {
	note, err := checkNote(note)
	if err != nil {
		return models.RateCard{}, err
	}
	now := s.clock.Now()
	if !at.IsZero() && (!at.After(now) || at.After(now.Add(MaxAhead))) {
		return models.RateCard{}, field("at", apperr.InvalidValue, "at",
			fmt.Sprintf("The time must be in the future and at most %d days ahead.", MaxAhead/(24*time.Hour)))
	}
	return s.lockPublishable(ctx, card, version, models.RateCardDraft, func(tx *gorm.DB, before models.RateCard) error {
		return s.submit(tx, before, note, at, now)
	})
}

func checkNote(note string) (string, error) {
	note, err := checkLine("note", "note", note)
	if err == nil && note == "" {
		err = field("note", apperr.Required, "note", "Enter the reason for the change. The version history shows it.")
	}
	return note, err
}

// submit publishes or schedules a draft, or submits it for approval. The caller must call
// mayPublish first.
func (s *Service) submit(tx *gorm.DB, before models.RateCard, note string, at, now time.Time) error {
	columns := map[string]any{
		"note": note, "submitter": s.by.Name, "submitter_id": s.by.StaffID(), "effective_at": nil,
	}
	if !at.IsZero() {
		columns["effective_at"] = at
	}
	if s.policy.RequireApproval {
		columns["state"] = models.RateCardSubmitted
		return s.move(tx, before, "pricing.submit", columns)
	}
	return s.publishOrSchedule(tx, before, columns, at, now)
}

// Approve publishes a draft that another user submitted. If the draft's publication time is in the
// future, Approve schedules the draft instead.
func (s *Service) Approve(ctx context.Context, card uuid.UUID, version int) (models.RateCard, error) {
	return s.lockPublishable(ctx, card, version, models.RateCardSubmitted, func(tx *gorm.DB, before models.RateCard) error {
		if !s.by.MayApprove(before.SubmitterID) {
			return errSameSubmitter
		}
		var at time.Time
		if before.EffectiveAt != nil {
			at = *before.EffectiveAt
		}
		return s.publishOrSchedule(tx, before, map[string]any{"approver": s.by.Name}, at, s.clock.Now())
	})
}

var errSameSubmitter = apperr.New(apperr.Forbidden, "same_person",
	"You submitted this draft, so another user must approve it.")

// Withdraw changes a submitted or scheduled draft back to an ordinary draft, which can be edited.
func (s *Service) Withdraw(ctx context.Context, card uuid.UUID, version int) error {
	pending := []models.RateCardState{models.RateCardSubmitted, models.RateCardScheduled}
	return s.changeCard(ctx, card, version, pending, func(tx *gorm.DB, before models.RateCard) error {
		return s.move(tx, before, "pricing.withdraw", reopenDraft())
	})
}

func reopenDraft() map[string]any {
	return map[string]any{
		"state": models.RateCardDraft, "effective_at": nil, "submitter": "", "submitter_id": nil, "approver": "",
	}
}

// lockPublishable locks a rate card, and checks that it is in the given state and can be published. After that, it
// calls do.
func (s *Service) lockPublishable(
	ctx context.Context, card uuid.UUID, version int, in models.RateCardState, do func(*gorm.DB, models.RateCard) error,
) (now models.RateCard, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockVersions(tx); err != nil {
			return err
		}
		before, err := lock(tx, card, version, []models.RateCardState{in})
		if err != nil {
			return err
		}
		if err := s.mayPublish(tx, before); err != nil {
			return err
		}
		if err := do(tx, before); err != nil {
			return err
		}
		return tx.Where("id = ?", card).Take(&now).Error
	})
	return now, err
}

// Scheduled returns the scheduled draft, if there is one.
func (s *Service) Scheduled(ctx context.Context) (draft models.RateCard, found bool, err error) {
	draft, found, err = scheduledDraft(s.db.Gorm.WithContext(ctx))
	return draft, found, postgres.Translate(err)
}

// scheduledDraft is like Scheduled. At most one draft is scheduled at a time.
func scheduledDraft(tx *gorm.DB) (draft models.RateCard, found bool, err error) {
	rows := tx.Where("state = ?", models.RateCardScheduled).Limit(1).Find(&draft)
	return draft, rows.RowsAffected > 0, rows.Error
}

// mayPublish returns an error if a draft is not based on the current version, if another draft is
// scheduled, if the draft changes no rule, or if it does not compile.
func (s *Service) mayPublish(tx *gorm.DB, card models.RateCard) error {
	current, err := currentCard(tx)
	if err != nil {
		return err
	}
	if current.Version != card.BasedOn {
		return apperr.New(apperr.Conflict, "superseded", fmt.Sprintf(
			"%[2]s published version %[1]d (%[3]s), but this draft is based on version %[4]d. Nothing was published. Review the new version, then update the draft.",
			current.Version, current.Publisher(), noteText(current.Note), card.BasedOn))
	}
	scheduled, found, err := scheduledDraft(tx)
	if err != nil {
		return err
	}
	if found && scheduled.ID != card.ID {
		return apperr.New(apperr.Conflict, "scheduled", fmt.Sprintf("%s is scheduled for %s. Nothing else can be published until then. Wait, or withdraw it first.",
			titled(scheduled), scheduled.EffectiveAt.UTC().Format("2006-01-02 15:04 UTC")))
	}
	rules, err := rulesOf(tx, card.ID)
	if err != nil {
		return err
	}
	live, err := rulesOf(tx, current.ID)
	if err != nil {
		return err
	}
	if sameRules(rules, live) {
		return errNothing
	}
	if _, err := pricingrules.Compile(rules, s.taxonomy, s.markets); err != nil {
		return rejection(problemsOf(err))
	}
	return nil
}

func rulesOf(tx *gorm.DB, card uuid.UUID) (pricingrules.Card, error) {
	rows, err := rowsOf(tx, card)
	if err != nil {
		return pricingrules.Card{}, err
	}
	return fromRows(rows)
}

// sameRules reports whether two cards have the same rules, in any order.
func sameRules(a, b pricingrules.Card) bool {
	if len(a.Rules) != len(b.Rules) {
		return false
	}
	count := map[pricingrules.Rule]int{}
	for _, rule := range a.Rules {
		count[rule]++
	}
	return !slices.ContainsFunc(b.Rules, func(rule pricingrules.Rule) bool {
		count[rule]--
		return count[rule] < 0
	})
}

func titled(card models.RateCard) string {
	if card.Title != "" {
		return "The draft “" + card.Title + "”"
	}
	return "The draft by " + card.Author
}

func noteText(note string) string {
	if note == "" {
		return "without a note"
	}
	return strings.TrimRight(note, ".")
}

func (s *Service) publishOrSchedule(
	tx *gorm.DB, card models.RateCard, columns map[string]any, at, now time.Time,
) error {
	if at.After(now) {
		columns["state"], columns["effective_at"] = models.RateCardScheduled, at
		return s.move(tx, card, "pricing.schedule", columns)
	}
	if err := s.updateColumns(tx, &card, columns); err != nil {
		return err
	}
	if err := tx.Where("id = ?", card.ID).Take(&card).Error; err != nil {
		return err
	}
	return s.publish(tx, &card, now)
}

func (s *Service) move(tx *gorm.DB, card models.RateCard, action string, columns map[string]any) error {
	after := map[string]any{}
	for name, value := range columns {
		if at, ok := value.(time.Time); ok {
			value = at.UTC().Format(time.RFC3339)
		}
		if value != nil && value != "" && name != "submitter_id" { // the event has its actor
			after[name] = value
		}
	}
	if err := s.updateColumns(tx, &card, columns); err != nil {
		return err
	}
	return s.auditChange(tx, action, card, map[string]any{"state": card.State}, after)
}

// publish makes a draft the next version. Every node uses it within a second. The caller must call
// lockVersions first.
func (s *Service) publish(tx *gorm.DB, card *models.RateCard, now time.Time) error {
	var last int
	if err := tx.Model(&models.RateCard{}).Select("coalesce(max(version), 0)").Scan(&last).Error; err != nil {
		return err
	}
	if err := tx.Model(&models.RateCard{}).Where("state = ?", models.RateCardPublished).Update("state", models.RateCardSuperseded).Error; err != nil {
		return err
	}
	card.Version = last + 1
	if err := s.updateColumns(tx, card, map[string]any{"state": models.RateCardPublished, "version": card.Version, "effective_at": now}); err != nil {
		return err
	}
	after := map[string]any{"version": card.Version, "note": card.Note}
	if card.CopiedFrom > 0 {
		after["copied_from"] = card.CopiedFrom
	}
	if card.Approver != "" {
		after["submitter"], after["approver"] = card.Submitter, card.Approver
	}
	var before map[string]any
	if last > 0 {
		before = map[string]any{"version": last}
	}
	return s.auditChange(tx, "pricing.publish", *card, before, after)
}

// ReleaseDue publishes the scheduled draft if its publication time has passed. If the draft can no
// longer be published, ReleaseDue makes it an ordinary draft again and writes an audit event with the
// reason. It reports whether it changed a draft. Several nodes can call it at the same time, and only
// one of them changes the draft.
func (s *Service) ReleaseDue(ctx context.Context) (bool, error) {
	var due models.RateCard
	now := s.clock.Now()
	isDue := func(tx *gorm.DB) *gorm.DB {
		return tx.Where("state = ? AND effective_at <= ?", models.RateCardScheduled, now)
	}
	found := isDue(s.db.Gorm.WithContext(ctx)).Limit(1).Find(&due)
	if found.Error != nil || found.RowsAffected == 0 {
		return false, postgres.Translate(found.Error)
	}
	done := false
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockVersions(tx); err != nil {
			return err
		}
		// Lock the row, because a user might be withdrawing the draft.
		found := isDue(tx).Clauses(clause.Locking{Strength: "UPDATE"}).Limit(1).Find(&due)
		if done = found.Error == nil && found.RowsAffected > 0; !done {
			return found.Error
		}
		switch err := s.mayPublish(tx, due); {
		case err == nil:
			return s.publish(tx, &due, now)
		case isUserError(err):
			if err := s.updateColumns(tx, &due, reopenDraft()); err != nil {
				return err
			}
			return audit.Write(tx, now, s.by, audit.Event{
				Action: "pricing.withdraw",
				Kind:   "rate_card",
				Object: ID(due.ID),
				Reason: apperr.As(err).Message,
			})
		default:
			return err
		}
	})
	return done && err == nil, err
}

func isUserError(err error) bool { return apperr.As(err) != nil }
