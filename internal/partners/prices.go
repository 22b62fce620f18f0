package partners

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/store"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// MaxDailyLeads bounds a partner's cap: beyond it somebody mistyped.
const MaxDailyLeads = 10_000_000

// OwnPrice is what a partner has of its own, as the console changes it.
type OwnPrice struct {
	Price
	Version int // 0 where nothing was ever set
}

// OwnPrice reads what a partner has of its own.
func (s *Service) OwnPrice(ctx context.Context, p models.Partner) (OwnPrice, error) {
	return ownPrice(s.db.Gorm.WithContext(ctx), p.ID)
}

func ownPrice(db *gorm.DB, partner uuid.UUID) (own OwnPrice, err error) {
	var row models.PartnerPrice
	found := db.Where("partner_id = ?", partner).Limit(1).Find(&row)
	if found.Error != nil || found.RowsAffected == 0 {
		return own, store.Translate(found.Error)
	}
	own.Version, own.Adjustment = row.RowVersion, row.Adjustment
	if row.DailyLeadCap != nil {
		own.DailyLeadCap = *row.DailyLeadCap
	}
	own.Exclusions, err = pricingrules.ParseExclusions([]byte(row.Exclusions))
	return own, err
}

// SetOwnPrice replaces what a partner has of its own; in force on every node within a
// second. It holds on the partner's own base URL, and a quote that was given before is
// honoured (D5).
func (s *Service) SetOwnPrice(ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, to Price, tax *pricingrules.Taxonomy) error {
	to.Exclusions = slices.DeleteFunc(slices.Clone(to.Exclusions), func(e pricingrules.OwnExclusion) bool { return e == pricingrules.OwnExclusion{} })
	if err := checkPrice(to, tax); err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var p models.Partner
		// The partner's row stands for its price, which may not be there yet.
		found := restrict(tx, sc, "id").Where("id = ? AND id <> ?", partner, models.House.Partner).
			Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Limit(1).Find(&p)
		if found.Error != nil || found.RowsAffected == 0 {
			return orNoPartner(found.Error)
		}
		had, err := ownPrice(tx, partner)
		if err != nil {
			return err
		}
		if had.Version != version {
			return fault.New(fault.Conflict, "changed", "Somebody else changed the prices of this partner meanwhile: look at the change, then decide again.")
		}
		before, after := priceWords(had.Price), priceWords(to)
		for name, value := range after {
			if before[name] == value {
				delete(before, name)
				delete(after, name)
			}
		}
		if len(after) == 0 {
			return nil
		}
		if err := s.writePrice(tx, partner, version, to); err != nil {
			return err
		}
		return s.tell(tx, "partner.prices", "partner", id.Format(id.Partner, partner), partner, before, after)
	})
}

func orNoPartner(err error) error {
	if err == nil {
		return errNoPartner
	}
	return err
}

func (s *Service) writePrice(tx *gorm.DB, partner uuid.UUID, version int, to Price) error {
	text, err := json.Marshal(append([]pricingrules.OwnExclusion{}, to.Exclusions...)) // an empty list, and not null
	if err != nil {
		return err
	}
	row := models.PartnerPrice{PartnerID: partner, Adjustment: to.Adjustment, Exclusions: string(text), RowVersion: version + 1, UpdatedAt: s.clock.Now()}
	if to.DailyLeadCap > 0 {
		row.DailyLeadCap = &to.DailyLeadCap
	}
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "partner_id"}},
		DoUpdates: clause.AssignmentColumns([]string{"adjustment", "exclusions", "daily_lead_cap", "row_version", "updated_at"}),
	}).Create(&row).Error
}

// priceWords says what a partner has of its own, for the audit trail.
func priceWords(p Price) map[string]any {
	words := map[string]any{"adjustment": pricingrules.FormatAdjustment(p.Adjustment), "daily_cap": "none", "exclusions": "none"}
	if p.DailyLeadCap > 0 {
		words["daily_cap"] = fmt.Sprint(p.DailyLeadCap)
	}
	if text, err := json.Marshal(p.Exclusions); err == nil && len(p.Exclusions) > 0 {
		words["exclusions"] = string(text)
	}
	return words
}

func checkPrice(p Price, tax *pricingrules.Taxonomy) error {
	var problems []*fault.Error
	if p.Adjustment < pricingrules.MinAdjustment || p.Adjustment > pricingrules.MaxAdjustment {
		problems = append(problems, invalid("adjustment", fault.InvalidValue, "adjustment", "A price adjustment is between -90 % and +900 %."))
	}
	if p.DailyLeadCap < 0 || p.DailyLeadCap > MaxDailyLeads {
		problems = append(problems, invalid("cap", fault.InvalidValue, "cap", fmt.Sprintf("A daily cap is 1 to %d leads; leave it empty for none.", MaxDailyLeads)))
	}
	if len(p.Exclusions) > pricingrules.MaxExclusions {
		problems = append(problems, invalid("exclusions", fault.TooManyItems, "exclusions", fmt.Sprintf("A partner has at most %d exclusions: exclude a category at once.", pricingrules.MaxExclusions)))
	}
	for i, e := range p.Exclusions {
		if message := exclusionProblem(e, tax); message != "" {
			problems = append(problems, invalid("exclusions", fault.InvalidValue, "exclusions", fmt.Sprintf("Line %d: %s", i+1, message)))
		}
	}
	return together(problems...)
}

func exclusionProblem(e pricingrules.OwnExclusion, tax *pricingrules.Taxonomy) string {
	at, known := tax.BySlug(e.Industry)
	switch {
	case e.Industry != "" && !known:
		return "there is no industry of this name."
	case e.Category != "" && !slices.ContainsFunc(tax.Categories(), func(c pricingrules.Category) bool { return c.Slug == e.Category }):
		return "there is no category of this name."
	case e.Industry != "" && e.Category != "" && tax.At(at).Category != e.Category:
		return "the industry is not of that category: name one of the two."
	case e.Country != "" && !isCountry(e.Country):
		return "a country is two upper-case letters."
	}
	return ""
}

func isCountry(code string) bool {
	return len(code) == 2 && code[0] >= 'A' && code[0] <= 'Z' && code[1] >= 'A' && code[1] <= 'Z'
}

// LeadsToday is how many leads of a partner's count towards its cap: stored in the UTC
// day so far, no sandbox's.
func (s *Service) LeadsToday(ctx context.Context, partner uuid.UUID) (n int, err error) {
	err = s.db.Pool.QueryRow(ctx, `SELECT count(*) FROM leads WHERE partner_id = $1 AND id >= $2 AND NOT sandbox`,
		partner, firstOf(dayOf(s.clock.Now()))).Scan(&n)
	return n, store.Translate(err)
}
