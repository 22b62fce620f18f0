package ratecard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// MaxAhead is how far ahead a card may be scheduled.
const MaxAhead = 90 * 24 * time.Hour

// Publish brings a draft into force, at once or at a time, or, where the policy asks for
// a second person, submits it for approval. at is zero for at once.
func (s *Service) Publish(ctx context.Context, card uuid.UUID, version int, note string, at time.Time) (models.RateCard, error) {
	note, err := checkNote(note)
	if err != nil {
		return models.RateCard{}, err
	}
	now := s.clock.Now()
	if !at.IsZero() && (!at.After(now) || at.After(now.Add(MaxAhead))) {
		return models.RateCard{}, field("at", apperr.InvalidValue, "at",
			fmt.Sprintf("The time is in the future, and at most %d days ahead.", MaxAhead/(24*time.Hour)))
	}
	return s.release(ctx, card, version, models.RateCardDraft, func(tx *gorm.DB, had models.RateCard) error {
		return s.submit(tx, had, note, at, now)
	})
}

func checkNote(note string) (string, error) {
	note, err := checkLine("note", "note", note)
	if err == nil && note == "" {
		err = field("note", apperr.Required, "note", "Say why the prices change: whoever reads the history wants to know.")
	}
	return note, err
}

// submit is what Publish does with a card that may be published.
func (s *Service) submit(tx *gorm.DB, had models.RateCard, note string, at, now time.Time) error {
	columns := map[string]any{"note": note, "submitter": s.by.Name, "effective_at": nil}
	if !at.IsZero() {
		columns["effective_at"] = at
	}
	if s.policy.SecondPerson {
		columns["state"] = models.RateCardSubmitted
		return s.move(tx, had, "pricing.submit", columns)
	}
	return s.publishOrSchedule(tx, had, columns, at, now)
}

// Approve publishes what somebody else submitted, or schedules it where its time is
// still to come.
func (s *Service) Approve(ctx context.Context, card uuid.UUID, version int) (models.RateCard, error) {
	return s.release(ctx, card, version, models.RateCardSubmitted, func(tx *gorm.DB, had models.RateCard) error {
		if had.Submitter == s.by.Name {
			return apperr.New(apperr.Forbidden, "same_person", "You submitted this draft: somebody else approves it.")
		}
		var at time.Time
		if had.EffectiveAt != nil {
			at = *had.EffectiveAt
		}
		return s.publishOrSchedule(tx, had, map[string]any{"approver": s.by.Name}, at, s.clock.Now())
	})
}

// Withdraw makes a draft again of what was submitted or scheduled.
func (s *Service) Withdraw(ctx context.Context, card uuid.UUID, version int) error {
	pending := []models.RateCardState{models.RateCardSubmitted, models.RateCardScheduled}
	return s.change(ctx, card, version, pending, func(tx *gorm.DB, had models.RateCard) error {
		return s.move(tx, had, "pricing.take_back", reopenDraft())
	})
}

// reopenDraft are the columns of a card that is not to be published after all.
func reopenDraft() map[string]any {
	return map[string]any{"state": models.RateCardDraft, "effective_at": nil, "submitter": "", "approver": ""}
}

// release runs do on a locked card of a state that may be published now: nothing else
// was published since it was begun, nothing else is scheduled, and every cell has a price.
func (s *Service) release(
	ctx context.Context, card uuid.UUID, version int, in models.RateCardState, do func(*gorm.DB, models.RateCard) error,
) (now models.RateCard, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockVersions(tx); err != nil {
			return err
		}
		had, err := lock(tx, card, version, []models.RateCardState{in})
		if err != nil {
			return err
		}
		if err := s.mayPublish(tx, had); err != nil {
			return err
		}
		if err := do(tx, had); err != nil {
			return err
		}
		return tx.Where("id = ?", card).Take(&now).Error
	})
	return now, err
}

func (s *Service) mayPublish(tx *gorm.DB, card models.RateCard) error {
	current, err := currentCard(tx)
	if err != nil {
		return err
	}
	if current.Version != card.BasedOn {
		return apperr.New(apperr.Conflict, "superseded", fmt.Sprintf(
			"Version %d was published by %s meanwhile (%s), and this draft is based on version %d. Nothing was published: look at what changed, then bring the draft up to date.",
			current.Version, cmp.Or(current.Submitter, current.Author), orDash(current.Note), card.BasedOn))
	}
	var scheduled models.RateCard
	found := tx.Where("state = ? AND id <> ?", models.RateCardScheduled, card.ID).Limit(1).Find(&scheduled)
	if found.Error != nil {
		return found.Error
	}
	if found.RowsAffected > 0 {
		return apperr.New(apperr.Conflict, "scheduled", fmt.Sprintf("%s is to be published at %s, and nothing else before: take it back first, or wait.",
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

// sameRules compares without the order, which means nothing.
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
	return "The draft of " + card.Author
}

func orDash(note string) string {
	if note == "" {
		return "without a note"
	}
	return strings.TrimRight(note, ".")
}

// publishOrSchedule publishes a card, now or at a time to come.
func (s *Service) publishOrSchedule(tx *gorm.DB, card models.RateCard, columns map[string]any, at, now time.Time) error {
	if at.After(now) {
		columns["state"], columns["effective_at"] = models.RateCardScheduled, at
		return s.move(tx, card, "pricing.schedule", columns)
	}
	if err := s.set(tx, &card, columns); err != nil {
		return err
	}
	if err := tx.Where("id = ?", card.ID).Take(&card).Error; err != nil {
		return err
	}
	return s.publish(tx, &card, now)
}

// move takes a card from one state to another.
func (s *Service) move(tx *gorm.DB, card models.RateCard, action string, columns map[string]any) error {
	after := map[string]any{}
	for name, value := range columns {
		if at, ok := value.(time.Time); ok {
			value = at.UTC().Format(time.RFC3339)
		}
		if value != nil && value != "" {
			after[name] = value
		}
	}
	if err := s.set(tx, &card, columns); err != nil {
		return err
	}
	return s.auditChange(tx, action, card, map[string]any{"state": card.State}, after)
}

// publish makes a card the next version, in force on every node within a second. The
// caller has taken its turn.
func (s *Service) publish(tx *gorm.DB, card *models.RateCard, now time.Time) error {
	var last int
	if err := tx.Model(&models.RateCard{}).Select("coalesce(max(version), 0)").Scan(&last).Error; err != nil {
		return err
	}
	if err := tx.Model(&models.RateCard{}).Where("state = ?", models.RateCardPublished).Update("state", models.RateCardSuperseded).Error; err != nil {
		return err
	}
	card.Version = last + 1
	if err := s.set(tx, card, map[string]any{"state": models.RateCardPublished, "version": card.Version, "effective_at": now}); err != nil {
		return err
	}
	after := map[string]any{"version": card.Version, "note": card.Note}
	if card.Approver != "" {
		after["submitter"], after["approver"] = card.Submitter, card.Approver
	}
	var before map[string]any
	if last > 0 {
		before = map[string]any{"version": last}
	}
	return s.auditChange(tx, "pricing.publish", *card, before, after)
}

// ReleaseDue publishes the scheduled card once its time has come, on whichever node
// comes first. A card that no longer can be is a draft again, and the audit trail says
// why. It reports whether it did anything.
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
		// Locked, as somebody may be taking it back in this very moment.
		found := isDue(tx).Clauses(clause.Locking{Strength: "UPDATE"}).Limit(1).Find(&due)
		if found.Error != nil || found.RowsAffected == 0 {
			return found.Error
		}
		done = true
		switch err := s.mayPublish(tx, due); {
		case err == nil:
			return s.publish(tx, &due, now)
		case isUserError(err):
			if err := s.set(tx, &due, reopenDraft()); err != nil {
				return err
			}
			return audit.Write(tx, now, s.by, audit.Event{
				Action: "pricing.take_back",
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

// isUserError reports whether a failure is one that a person mends.
func isUserError(err error) bool { return apperr.As(err) != nil }
