package ratecard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// editRules calls do with a copy of a draft's rules, and saves the changes as an
// edit that can be undone. It returns the number of changed rules.
func (s *Service) editRules(
	ctx context.Context, card uuid.UUID, version int, what string, do func(models.RateCard, *draftRules) error,
) (rules int, err error) {
	err = s.changeCard(ctx, card, version, editable, func(tx *gorm.DB, before models.RateCard) error {
		rules, err = s.editLocked(tx, before, what, nil, do)
		return err
	})
	return rules, err
}

func (s *Service) editLocked(
	tx *gorm.DB, before models.RateCard, what string, columns map[string]any, do func(models.RateCard, *draftRules) error,
) (int, error) {
	p, err := s.patchBy(tx, before, do)
	if err != nil || len(p) == 0 && len(columns) == 0 {
		return 0, err
	}
	if err := s.saveEdit(tx, before, what, columns, p); err != nil {
		return 0, err
	}
	return len(p), s.auditEdit(tx, before, what, p)
}

// patchBy calls the function do with a copy of a draft's rules, checks the result and returns the
// changes.
func (s *Service) patchBy(
	tx *gorm.DB, row models.RateCard, do func(models.RateCard, *draftRules) error,
) (patch, error) {
	rows, err := rowsOf(tx, row.ID)
	if err != nil {
		return nil, err
	}
	before, err := newDraftRules(rows)
	if err != nil {
		return nil, err
	}
	after := before.clone()
	if err := do(row, after); err != nil {
		return nil, err
	}
	p := before.diff(after)
	if len(p) == 0 {
		return nil, nil
	}
	return p, s.check(after)
}

// editUndo contains what is needed to undo an edit: the changed rules, and the version that the
// draft was based on before the edit.
type editUndo struct {
	Rules   patch `json:"rules"`
	BasedOn int   `json:"based_on"`
}

func (s *Service) saveEdit(tx *gorm.DB, before models.RateCard, what string, columns map[string]any, p patch) error {
	text, err := json.Marshal(editUndo{p, before.BasedOn})
	if err != nil {
		return err
	}
	if err := p.write(tx, before.ID); err != nil {
		return err
	}
	row := models.RateCardEdit{
		RateCardID: before.ID,
		At:         s.clock.Now(),
		Editor:     s.by.Name,
		Summary:    what,
		Rules:      len(p),
		Patch:      string(text),
	}
	if err := tx.Create(&row).Error; err != nil {
		return err
	}
	if columns == nil {
		columns = map[string]any{}
	}
	return s.updateColumns(tx, &before, columns)
}

// auditEdit records an edit with the old and new effects of the rules that it changed.
func (s *Service) auditEdit(tx *gorm.DB, card models.RateCard, what string, p patch) error {
	before, after := p.effects()
	after["edit"], after["changed_rules"] = what, len(p)
	return s.auditChange(tx, "pricing.edit", card, before, after)
}

// SetBase changes a target's own base price. The parameter old is the previous base price, and the parameter
// minor is the new one, both in minor units. An amount of 0 means that the target inherits its base
// price. If the old base price is not the current one, another user has changed it. In this case,
// SetBase returns a conflict that states the current base price.
func (s *Service) SetBase(ctx context.Context, card uuid.UUID, target pricingrules.Target, old, minor int64) error {
	market, err := s.marketOf(target)
	if err != nil {
		return err
	}
	if err := checkBase(minor); err != nil {
		return err
	}
	_, err = s.editRules(ctx, card, anyVersion, baseText(target, market.Currency, minor), func(_ models.RateCard, sh *draftRules) error {
		if has := sh.base(target, market.Currency); has != old {
			theirs := "inherited"
			if has != 0 {
				theirs = money.Amount{Minor: has, Currency: market.Currency}.String()
			}
			return apperr.New(apperr.Conflict, "cell_changed",
				fmt.Sprintf("Another user changed the base price for %s. It is now %s. Your change was not saved.", target, theirs))
		}
		sh.setBase(target, market.Currency, minor)
		return nil
	})
	return err
}

// BaseChange is a new base price for a target, in minor units. If Minor is 0, the target inherits its
// base price.
type BaseChange struct {
	Target pricingrules.Target
	Minor  int64
}

// SetBases changes many base prices. If any change is not valid, none are saved. The parameter version
// is the row version of the draft that the user saw.
func (s *Service) SetBases(
	ctx context.Context, card uuid.UUID, version int, what string, changes []BaseChange,
) (rules int, err error) {
	do, err := s.setBases(changes)
	if err != nil {
		return 0, err
	}
	return s.editRules(ctx, card, version, what, do)
}

func (s *Service) setBases(changes []BaseChange) (func(models.RateCard, *draftRules) error, error) {
	for _, change := range changes {
		if _, err := s.marketOf(change.Target); err != nil {
			return nil, err
		}
		if err := checkBase(change.Minor); err != nil {
			return nil, apperr.New(apperr.Invalid, "amount", "“"+change.Target.String()+"”: "+apperr.As(err).Message)
		}
	}
	return func(_ models.RateCard, sh *draftRules) error {
		for _, change := range changes {
			market, _ := s.marketOf(change.Target)
			sh.setBase(change.Target, market.Currency, change.Minor)
		}
		return nil
	}, nil
}

// PreviewBases returns the prices of a rate card after changes to its base prices. It changes nothing.
func (s *Service) PreviewBases(sheet *ExaminedCard, changes []BaseChange) (*pricingrules.Table, error) {
	do, err := s.setBases(changes)
	if err != nil {
		return nil, err
	}
	rules := draftRulesOf(sheet.Card, sheet.Positions)
	if err := do(models.RateCard{}, rules); err != nil {
		return nil, err
	}
	table, _ := pricingrules.Examine(rules.card(), s.taxonomy, s.markets)
	return table, nil
}

// marketOf returns a target's market. It returns an error if the market, the industry or the
// urgency is unknown.
func (s *Service) marketOf(t pricingrules.Target) (market pricingrules.Market, err error) {
	at, ok := s.markets.ByCode(t.Country)
	if !ok {
		return market, field("country", apperr.InvalidValue, "country",
			fmt.Sprintf("There is no market %q. ", t.Country)+didYouMean(s.markets.Suggest(t.Country),
				fmt.Sprintf("Use %q for countries without their own prices.", pricingrules.OtherMarket)))
	}
	if _, ok := s.taxonomy.BySlug(t.Industry); t.Industry != "" && !ok {
		return market, field("industry", apperr.InvalidValue, "industry",
			fmt.Sprintf("There is no industry %q. ", t.Industry)+
				didYouMean(s.taxonomy.Suggest(t.Industry), "Use a slug from the taxonomy."))
	}
	if _, ok := pricingrules.ParseClass(t.Urgency); t.Urgency != "" && !ok {
		return market, field("urgency", apperr.InvalidValue, "urgency",
			fmt.Sprintf("There is no urgency %q. Use one of %s.", t.Urgency, strings.Join(slices.Collect(Classes()), ", ")))
	}
	return s.markets.At(at), nil
}

func checkBase(minor int64) error {
	if minor < 0 || minor > pricingrules.MaxAmount {
		return field("amount", apperr.InvalidValue, "base",
			"The base price must be above 0 and at most "+string(money.AppendDecimal(nil, pricingrules.MaxAmount))+".")
	}
	return nil
}

func baseText(t pricingrules.Target, c money.Currency, minor int64) string {
	if minor == 0 {
		return "Removed the base price of “" + t.String() + "”"
	}
	return "Set the base price of “" + t.String() + "” to " + money.Amount{Minor: minor, Currency: c}.String()
}

// PutRule replaces the rule at a position. If the parameter position is 0, PutRule adds a rule.
func (s *Service) PutRule(ctx context.Context, card uuid.UUID, version, position int, rule pricingrules.Rule) error {
	rule.Line = 0
	what := "Added the rule “" + rule.Selector() + "”"
	if position != 0 {
		what = "Changed the rule “" + rule.Selector() + "”"
	}
	_, err := s.editRules(ctx, card, version, what, func(_ models.RateCard, sh *draftRules) error {
		if position == 0 {
			sh.add(rule)
			return nil
		}
		if _, ok := sh.rules[position]; !ok {
			return apperr.New(apperr.NotFound, "rule", "This rule is no longer in the draft.")
		}
		sh.put(position, rule)
		return nil
	})
	return err
}

// DropRule removes the rule at a position.
func (s *Service) DropRule(ctx context.Context, card uuid.UUID, version, position int) error {
	_, err := s.editRules(ctx, card, version, "Removed a rule", func(_ models.RateCard, sh *draftRules) error {
		if _, ok := sh.rules[position]; !ok {
			return apperr.New(apperr.NotFound, "rule", "This rule is no longer in the draft.")
		}
		sh.drop(position)
		return nil
	})
	return err
}

// Replace replaces a draft's rules. Rules that the draft already contains keep their positions.
// Replace does not check that each cell either has a price or is excluded.
func (s *Service) Replace(
	ctx context.Context, card uuid.UUID, version int, what string, with pricingrules.Card,
) (rules int, err error) {
	return s.editRules(ctx, card, version, what, func(_ models.RateCard, sh *draftRules) error {
		sh.replace(with)
		return nil
	})
}

func (s *draftRules) replace(with pricingrules.Card) {
	unmatched := map[pricingrules.Rule][]int{}
	for _, at := range s.positions() {
		unmatched[s.rules[at]] = append(unmatched[s.rules[at]], at)
	}
	var added []pricingrules.Rule
	for _, rule := range with.Rules {
		rule.Line = 0
		if at := unmatched[rule]; len(at) > 0 {
			unmatched[rule] = at[1:]
			continue
		}
		added = append(added, rule)
	}
	for _, positions := range unmatched {
		for _, at := range positions {
			s.drop(at)
		}
	}
	for _, rule := range added {
		s.add(rule)
	}
}

// Edits lists the edits of a draft, newest first, including undone edits.
func (s *Service) Edits(
	ctx context.Context, card uuid.UUID, p postgres.Page[int64],
) (rows []models.RateCardEdit, newer, older bool, err error) {
	q := s.db.Gorm.WithContext(ctx).Omit("patch").Where("rate_card_id = ?", card)
	if err := p.Apply(q, "id").Find(&rows).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	rows, newer, older = postgres.SplitPage(p, rows)
	return rows, newer, older, nil
}

// LastEdit returns the edit that Undo would undo, and whether there is one.
func (s *Service) LastEdit(ctx context.Context, card uuid.UUID) (last models.RateCardEdit, there bool, err error) {
	found := lastEdit(s.db.Gorm.WithContext(ctx).Omit("patch"), card, &last)
	return last, found.RowsAffected > 0, postgres.Translate(found.Error)
}

func lastEdit(db *gorm.DB, card uuid.UUID, into *models.RateCardEdit) *gorm.DB {
	return db.Where("rate_card_id = ? AND undone_at IS NULL", card).Order("id DESC").Limit(1).Find(into)
}

// Undo undoes a draft's latest edit, ignoring edits that have already been undone. The parameter edit
// is the ID of the edit that the user wants to undo. If this edit is not the latest one, Undo returns a
// conflict.
func (s *Service) Undo(ctx context.Context, card uuid.UUID, edit int64) error {
	return s.changeCard(ctx, card, anyVersion, editable, func(tx *gorm.DB, before models.RateCard) error {
		var last models.RateCardEdit
		found := lastEdit(tx, card, &last)
		switch {
		case found.Error != nil:
			return found.Error
		case found.RowsAffected == 0:
			return apperr.New(apperr.Conflict, "undone", "There is no edit to undo.")
		case last.ID != edit:
			return apperr.New(apperr.Conflict, "changed",
				fmt.Sprintf("%s has since made another edit: %s. Nothing was undone.", last.Editor, last.Summary))
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
		if err := s.updateColumns(tx, &before, map[string]any{"based_on": back.BasedOn}); err != nil {
			return err
		}
		after := map[string]any{"edit": last.Summary, "changed_rules": last.Rules}
		return s.auditChange(tx, "pricing.undo", before, nil, after)
	})
}
