package ratecard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// MaxDrafts is the maximum number of open drafts. The limit makes users discard drafts that
// they no longer need.
const MaxDrafts = 50

var open = []models.RateCardState{models.RateCardDraft, models.RateCardSubmitted, models.RateCardScheduled}

// editable contains the state in which rules and titles can be changed.
var editable = []models.RateCardState{models.RateCardDraft}

// Draft is a rate card with the number of its edits.
type Draft struct {
	models.RateCard
	Edits int // excluding undone edits
}

// ID formats the ID of a rate card, with the prefix "rc_".
func ID(card uuid.UUID) string { return id.Format(id.RateCard, card) }

func (s *Service) withEdits(ctx context.Context) *gorm.DB {
	return s.db.Gorm.WithContext(ctx).Model(&models.RateCard{}).
		Select(postgres.Columns[models.RateCard]("rate_cards") + ", (SELECT count(*) FROM rate_card_edits e WHERE e.rate_card_id = rate_cards.id AND e.undone_at IS NULL) AS edits")
}

// Drafts lists the open drafts, most recently edited first.
func (s *Service) Drafts(ctx context.Context) (list []Draft, err error) {
	err = s.withEdits(ctx).Where("state IN ?", open).Order("updated_at DESC, id DESC").Scan(&list).Error
	return list, postgres.Translate(err)
}

// Draft finds a draft by its ID. It also finds drafts that have been discarded or published.
func (s *Service) Draft(ctx context.Context, ref string) (d Draft, err error) {
	card, bad := id.Parse(id.RateCard, ref)
	if bad != nil {
		return d, errNoDraft
	}
	found := s.withEdits(ctx).Where("id = ?", card).Limit(1).Scan(&d)
	if found.Error == nil && found.RowsAffected == 0 {
		return d, errNoDraft
	}
	return d, postgres.Translate(found.Error)
}

// ByIDs reads the drafts and versions with the given ids.
func (s *Service) ByIDs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]models.RateCard, error) {
	return postgres.ByIDs(s.db.Gorm.WithContext(ctx), ids, func(c models.RateCard) uuid.UUID { return c.ID })
}

// CreateDraft creates a draft with the rules of an existing version. The parameter from is the number
// of this version, or 0 for the current one. In both cases, the draft is based on the current version.
func (s *Service) CreateDraft(ctx context.Context, title string, from int) (draft models.RateCard, err error) {
	if title, err = checkLine("title", "title", title); err != nil {
		return draft, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var source models.RateCard
		if draft, source, err = s.begin(tx, title, from); err != nil {
			return err
		}
		return s.auditBegin(tx, draft, source)
	})
	return draft, err
}

func (s *Service) begin(tx *gorm.DB, title string, from int) (draft, source models.RateCard, err error) {
	var n int64
	if err := tx.Model(&models.RateCard{}).Where("state IN ?", open).Count(&n).Error; err != nil {
		return draft, source, err
	}
	if n >= MaxDrafts {
		return draft, source, apperr.New(apperr.Conflict, "too_many_drafts",
			fmt.Sprintf("There are already %d open drafts. Publish or discard one first.", n))
	}
	current, err := currentCard(tx)
	if err != nil {
		return draft, source, err
	}
	source = current
	if from != 0 {
		if source, err = version(tx, from); err != nil {
			return draft, source, err
		}
	}
	now := s.clock.Now()
	draft = models.RateCard{
		ID: id.New(now), State: models.RateCardDraft, Title: title, BasedOn: current.Version,
		Author: s.by.Name, CreatedAt: now, UpdatedAt: now, UpdatedBy: s.by.Name, RowVersion: 1,
	}
	if source.Version != current.Version {
		draft.CopiedFrom = source.Version
	}
	if err := tx.Create(&draft).Error; err != nil {
		return draft, source, err
	}
	err = tx.Exec(`INSERT INTO pricing_rules (rate_card_id, position, industry, category, country, urgency, base, floor, ceiling, multiplier, exclude, note)
		SELECT ?, position, industry, category, country, urgency, base, floor, ceiling, multiplier, exclude, note
		FROM pricing_rules WHERE rate_card_id = ?`, draft.ID, source.ID).Error
	return draft, source, err
}

func (s *Service) auditBegin(tx *gorm.DB, draft, source models.RateCard) error {
	return s.auditChange(tx, "pricing.create", draft, nil, map[string]any{
		"title":    draft.Title,
		"from":     source.Version,
		"based_on": draft.BasedOn,
	})
}

// Rename changes a draft's title.
func (s *Service) Rename(ctx context.Context, card uuid.UUID, version int, title string) error {
	title, err := checkLine("title", "title", title)
	if err != nil {
		return err
	}
	return s.changeCard(ctx, card, version, editable, func(tx *gorm.DB, before models.RateCard) error {
		if title == before.Title {
			return nil
		}
		if err := s.updateColumns(tx, &before, map[string]any{"title": title}); err != nil {
			return err
		}
		return s.auditChange(tx, "pricing.rename", before,
			map[string]any{"title": before.Title}, map[string]any{"title": title})
	})
}

// Discard permanently closes a draft. Its edits stay in the database.
func (s *Service) Discard(ctx context.Context, card uuid.UUID, version int) error {
	return s.changeCard(ctx, card, version, open, func(tx *gorm.DB, before models.RateCard) error {
		if err := s.updateColumns(tx, &before, map[string]any{"state": models.RateCardDiscarded}); err != nil {
			return err
		}
		return s.auditChange(tx, "pricing.discard", before, map[string]any{"state": before.State},
			map[string]any{"state": models.RateCardDiscarded})
	})
}

// changeCard locks a rate card and calls do, in one transaction. It returns an
// error if the card is not in one of the given states, or if the card no longer has the given row
// version. If the parameter version is anyVersion, the row version is not checked.
func (s *Service) changeCard(
	ctx context.Context, card uuid.UUID, version int, in []models.RateCardState,
	do func(*gorm.DB, models.RateCard) error,
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		before, err := lock(tx, card, version, in)
		if err != nil {
			return err
		}
		return do(tx, before)
	})
}

const anyVersion = -1

func lock(tx *gorm.DB, card uuid.UUID, version int, in []models.RateCardState) (before models.RateCard, err error) {
	found := tx.Where("id = ?", card).Clauses(clause.Locking{Strength: "UPDATE"}).Limit(1).Find(&before)
	switch {
	case found.Error != nil:
		return before, found.Error
	case found.RowsAffected == 0:
		return before, errNoDraft
	}
	for _, state := range in {
		if before.State == state && (version == anyVersion || version == before.RowVersion) {
			return before, nil
		}
	}
	if version != anyVersion && version != before.RowVersion {
		return before, ErrStale
	}
	return before, wrongState(before)
}

func wrongState(card models.RateCard) error {
	text := map[models.RateCardState]string{
		models.RateCardDraft:     "This draft has not been submitted.",
		models.RateCardSubmitted: "This draft is waiting for approval. Withdraw it to change it.",
		models.RateCardScheduled: "This draft is scheduled. Withdraw it to change it.",
		models.RateCardPublished: fmt.Sprintf("This draft was published as version %d and can no longer be changed. To change prices, create a new draft.",
			card.Version),
		models.RateCardSuperseded: fmt.Sprintf("This draft was published as version %d and can no longer be changed. To change prices, create a new draft.",
			card.Version),
		models.RateCardDiscarded: "This draft was discarded. To change prices, create a new draft.",
	}
	return apperr.New(apperr.Conflict, "state", text[card.State])
}

// updateColumns updates columns of a rate card. It also records the user and the time, and increments
// the row version.
func (s *Service) updateColumns(tx *gorm.DB, card *models.RateCard, columns map[string]any) error {
	columns["updated_at"], columns["updated_by"], columns["row_version"] = s.clock.Now(), s.by.Name,
		gorm.Expr("row_version + 1")
	done := tx.Model(&models.RateCard{}).Where("id = ? AND row_version = ?", card.ID, card.RowVersion).Updates(columns)
	if done.Error == nil && done.RowsAffected != 1 {
		return errors.New("rate card changed while locked")
	}
	return done.Error
}

// auditChange adds an audit event to the transaction.
func (s *Service) auditChange(tx *gorm.DB, action string, card models.RateCard, before, after map[string]any) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
		Action: action,
		Kind:   "rate_card",
		Object: ID(card.ID),
		Before: before,
		After:  after,
	})
}

// ExamineCard compiles a rate card, even if it has problems, and caches the result.
func (s *Service) ExamineCard(ctx context.Context, card models.RateCard) (*ExaminedCard, error) {
	key := cacheKey{card.ID, card.RowVersion}
	if known := s.compiled.get(key); known != nil {
		return known, nil
	}
	compiled := &ExaminedCard{}
	var now models.RateCard
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`).Error; err != nil {
			return err
		}
		if err := tx.Where("id = ?", card.ID).Take(&now).Error; err != nil {
			return err
		}
		rows, err := rowsOf(tx, card.ID)
		if err != nil {
			return err
		}
		compiled.Positions = nil
		for _, row := range rows {
			compiled.Positions = append(compiled.Positions, row.Position)
		}
		compiled.Card, err = fromRows(rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	compiled.Table, compiled.Problems = pricingrules.Examine(compiled.Card, s.taxonomy, s.markets)
	// The rows can be newer than the caller's card, so cache the result under their row version.
	s.compiled.put(cacheKey{card.ID, now.RowVersion}, compiled)
	return compiled, nil
}

const maxLine = 200

// checkLine trims text and checks that it is a single line of at most maxLine characters.
func checkLine(name, what, text string) (string, error) {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > maxLine {
		return "", field("text", apperr.TooLong, name, fmt.Sprintf("The %s can have at most %d characters.", what, maxLine))
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return "", field("text", apperr.InvalidValue, name,
			fmt.Sprintf("The %s must not contain line breaks or control characters.", what))
	}
	return text, nil
}
