package ratecard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// edit runs do on a copy of a draft's rules, and keeps what it changed with the way
// back. It returns how many rules that were.
func (s *Service) edit(
	ctx context.Context, card uuid.UUID, version int, what string, do func(models.RateCard, *draftRules) error,
) (rules int, err error) {
	err = s.change(ctx, card, version, []models.RateCardState{models.RateCardDraft}, func(tx *gorm.DB, had models.RateCard) error {
		rules, err = s.editLocked(tx, had, what, nil, do)
		return err
	})
	return rules, err
}

func (s *Service) editLocked(
	tx *gorm.DB, had models.RateCard, what string, columns map[string]any, do func(models.RateCard, *draftRules) error,
) (int, error) {
	p, err := s.patchBy(tx, had, do)
	if err != nil || len(p) == 0 && len(columns) == 0 {
		return 0, err
	}
	if err := s.keep(tx, had, what, columns, p); err != nil {
		return 0, err
	}
	return len(p), s.auditEdit(tx, had, what, p)
}

// patchBy is what do makes of a draft's rules, which may hold what comes out.
func (s *Service) patchBy(tx *gorm.DB, had models.RateCard, do func(models.RateCard, *draftRules) error) (patch, error) {
	rows, err := rowsOf(tx, had.ID)
	if err != nil {
		return nil, err
	}
	before, err := newDraftRules(rows)
	if err != nil {
		return nil, err
	}
	after := before.clone()
	if err := do(had, after); err != nil {
		return nil, err
	}
	p := before.diff(after)
	if len(p) == 0 {
		return nil, nil
	}
	return p, s.check(after)
}

// editUndo is what an edit keeps for the way back: what it did to the rules, and what the
// draft was based on before.
type editUndo struct {
	Rules   patch `json:"rules"`
	BasedOn int   `json:"based_on"`
}

// keep writes a patch, the edit that tells of it, and the card's columns.
func (s *Service) keep(tx *gorm.DB, had models.RateCard, what string, columns map[string]any, p patch) error {
	text, err := json.Marshal(editUndo{p, had.BasedOn})
	if err != nil {
		return err
	}
	if err := p.write(tx, had.ID); err != nil {
		return err
	}
	row := models.RateCardEdit{
		RateCardID: had.ID,
		At:         s.clock.Now(),
		Editor:     s.by.Name,
		What:       what,
		Rules:      len(p),
		Patch:      string(text),
	}
	if err := tx.Create(&row).Error; err != nil {
		return err
	}
	if columns == nil {
		columns = map[string]any{}
	}
	return s.set(tx, &had, columns)
}

func (s *Service) auditEdit(tx *gorm.DB, card models.RateCard, what string, p patch) error {
	return s.auditChange(tx, "pricing.edit", card, nil, map[string]any{"what": what, "rules": len(p)})
}

// SetBase gives a target its own base, 0 to inherit again. was is what the target had
// of its own when the person decided; where somebody else changed that meanwhile, the
// error is a conflict and holds theirs.
func (s *Service) SetBase(ctx context.Context, card uuid.UUID, target pricingrules.Target, was, minor int64) error {
	market, err := s.marketOf(target)
	if err != nil {
		return err
	}
	if err := checkBase(minor); err != nil {
		return err
	}
	_, err = s.edit(ctx, card, anyVersion, baseText(target, market.Currency, minor), func(_ models.RateCard, sh *draftRules) error {
		if has := sh.base(target, market.Currency); has != was {
			theirs := "inherits its base"
			if has != 0 {
				theirs = "is " + money.Amount{Minor: has, Currency: market.Currency}.String()
			}
			return apperr.New(apperr.Conflict, "cell_changed",
				fmt.Sprintf("Somebody else changed %s meanwhile: it %s now. Nothing was overwritten.", target, theirs))
		}
		sh.setBase(target, market.Currency, minor)
		return nil
	})
	return err
}

// BaseChange is a new base for a target; 0 to inherit again.
type BaseChange struct {
	Target pricingrules.Target
	Minor  int64
}

// SetBases changes many, all or none. version is the draft's that they were decided on.
func (s *Service) SetBases(
	ctx context.Context, card uuid.UUID, version int, what string, changes []BaseChange,
) (rules int, err error) {
	do, err := s.setBases(changes)
	if err != nil {
		return 0, err
	}
	return s.edit(ctx, card, version, what, do)
}

func (s *Service) setBases(changes []BaseChange) (func(models.RateCard, *draftRules) error, error) {
	for _, one := range changes {
		if _, err := s.marketOf(one.Target); err != nil {
			return nil, err
		}
		if err := checkBase(one.Minor); err != nil {
			return nil, apperr.New(apperr.Invalid, "amount", one.Target.String()+": "+apperr.As(err).Message)
		}
	}
	return func(_ models.RateCard, sh *draftRules) error {
		for _, one := range changes {
			market, _ := s.marketOf(one.Target)
			sh.setBase(one.Target, market.Currency, one.Minor)
		}
		return nil
	}, nil
}

// marketOf is the market of a target that names one; its industry and urgency are known.
func (s *Service) marketOf(t pricingrules.Target) (market pricingrules.Market, err error) {
	at, ok := s.markets.ByCode(t.Country)
	if !ok {
		return market, field("country", apperr.InvalidValue, "country",
			fmt.Sprintf("There is no market %q: countries without prices of their own are %q together.", t.Country,
				pricingrules.OtherMarket))
	}
	if _, ok := s.taxonomy.BySlug(t.Industry); t.Industry != "" && !ok {
		return market, field("industry", apperr.InvalidValue, "industry",
			fmt.Sprintf("There is no industry %q: see the taxonomy for the slugs.", t.Industry))
	}
	if _, ok := pricingrules.ParseClass(t.Urgency); t.Urgency != "" && !ok {
		return market, field("urgency", apperr.InvalidValue, "urgency",
			fmt.Sprintf("There is no urgency %q: it is one of %s.", t.Urgency, strings.Join(slices.Collect(Classes()), ", ")))
	}
	return s.markets.At(at), nil
}

func checkBase(minor int64) error {
	if minor < 0 || minor > pricingrules.MaxAmount {
		return field("amount", apperr.InvalidValue, "base",
			"A base is above 0 and at most "+string(money.AppendDecimal(nil, pricingrules.MaxAmount))+".")
	}
	return nil
}

func baseText(t pricingrules.Target, c money.Currency, minor int64) string {
	if minor == 0 {
		return t.String() + ": base inherited again"
	}
	return t.String() + ": base " + money.Amount{Minor: minor, Currency: c}.String()
}

// PutRule changes the rule at a position, or with 0 adds one.
func (s *Service) PutRule(ctx context.Context, card uuid.UUID, version, position int, rule pricingrules.Rule) error {
	rule.Line = 0
	what := "Added a rule for " + rule.Selector()
	if position != 0 {
		what = "Changed the rule for " + rule.Selector()
	}
	_, err := s.edit(ctx, card, version, what, func(_ models.RateCard, sh *draftRules) error {
		if position == 0 {
			sh.add(rule)
			return nil
		}
		if _, ok := sh.rules[position]; !ok {
			return apperr.New(apperr.NotFound, "rule", "The draft has no such rule any more.")
		}
		sh.put(position, rule)
		return nil
	})
	return err
}

// DropRule takes a rule out.
func (s *Service) DropRule(ctx context.Context, card uuid.UUID, version, position int) error {
	_, err := s.edit(ctx, card, version, "Took out a rule", func(_ models.RateCard, sh *draftRules) error {
		if _, ok := sh.rules[position]; !ok {
			return apperr.New(apperr.NotFound, "rule", "The draft has no such rule any more.")
		}
		sh.drop(position)
		return nil
	})
	return err
}

// Replace makes a draft's rules those of another card. Rules that are in both keep
// their positions. The card was loaded: every cell of it has a price or is excluded.
func (s *Service) Replace(
	ctx context.Context, card uuid.UUID, version int, what string, with pricingrules.Card,
) (rules int, err error) {
	return s.edit(ctx, card, version, what, func(_ models.RateCard, sh *draftRules) error {
		sh.replace(with)
		return nil
	})
}

func (s *draftRules) replace(with pricingrules.Card) {
	kept := map[pricingrules.Rule][]int{}
	for _, at := range s.positions() {
		kept[s.rules[at]] = append(kept[s.rules[at]], at)
	}
	var added []pricingrules.Rule
	for _, rule := range with.Rules {
		rule.Line = 0
		if at := kept[rule]; len(at) > 0 {
			kept[rule] = at[1:]
			continue
		}
		added = append(added, rule)
	}
	for _, gone := range kept {
		for _, at := range gone {
			s.drop(at)
		}
	}
	for _, rule := range added {
		s.add(rule)
	}
}

// Edits lists what was done to a draft, the newest first, undone edits included.
func (s *Service) Edits(
	ctx context.Context, card uuid.UUID, p postgres.Page,
) (rows []models.RateCardEdit, newer, older bool, err error) {
	q := s.db.Gorm.WithContext(ctx).Omit("patch").Where("rate_card_id = ?", card)
	if err := p.Apply(q).Find(&rows).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	rows, newer, older = postgres.SplitPage(p, rows)
	return rows, newer, older, nil
}

// LastEdit is the edit that Undo would take back.
func (s *Service) LastEdit(ctx context.Context, card uuid.UUID) (last models.RateCardEdit, there bool, err error) {
	found := lastEdit(s.db.Gorm.WithContext(ctx).Omit("patch"), card, &last)
	return last, found.RowsAffected > 0, postgres.Translate(found.Error)
}

func lastEdit(db *gorm.DB, card uuid.UUID, into *models.RateCardEdit) *gorm.DB {
	return db.Where("rate_card_id = ? AND undone_at IS NULL", card).Order("id DESC").Limit(1).Find(into)
}

// Undo takes back the last edit of a draft that was not taken back, which is the one
// that the person saw: any other is a conflict.
func (s *Service) Undo(ctx context.Context, card uuid.UUID, edit int64) error {
	return s.change(ctx, card, anyVersion, []models.RateCardState{models.RateCardDraft}, func(tx *gorm.DB, had models.RateCard) error {
		var last models.RateCardEdit
		found := lastEdit(tx, card, &last)
		switch {
		case found.Error != nil:
			return found.Error
		case found.RowsAffected == 0:
			return apperr.New(apperr.Conflict, "undone", "There is nothing to undo.")
		case last.ID != edit:
			return apperr.New(apperr.Conflict, "changed",
				fmt.Sprintf("The last edit is another one now, by %s: %s. Nothing was undone.", last.Editor, last.What))
		}
		var back editUndo
		if err := json.Unmarshal([]byte(last.Patch), &back); err != nil {
			return err
		}
		if err := back.Rules.inverse().write(tx, card); err != nil {
			return err
		}
		now := s.clock.Now()
		if err := tx.Model(&last).Updates(map[string]any{"undone_at": now, "undone_by": s.by.Name}).Error; err != nil {
			return err
		}
		if err := s.set(tx, &had, map[string]any{"based_on": back.BasedOn}); err != nil {
			return err
		}
		return s.auditChange(tx, "pricing.undo", had, nil, map[string]any{"what": last.What, "rules": last.Rules})
	})
}
