package partners

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// MaxDailyLeads is the largest daily cap that can be set. A larger number is probably a typo.
const MaxDailyLeads = 10_000_000

// Pricing is partner pricing with the data that the console needs to edit it.
type Pricing struct {
	Price
	Unread    bool // the exclusions cannot be read; until they are set again, pings get no price
	Version   int  // 0 if the pricing was never set
	ChangedAt time.Time
}

// PriceForm is a Price as text. A field is empty if the partner has no adjustment, cap or
// exclusions. Exclusions contains one exclusion per line.
type PriceForm struct{ Adjustment, DailyLeadCap, Exclusions string }

// Form returns the pricing as text.
func (o Pricing) Form() (f PriceForm) {
	if o.Adjustment != 0 {
		f.Adjustment = strings.TrimSuffix(pricingrules.FormatAdjustment(o.Adjustment), "%")
	}
	f.DailyLeadCap = capText(o.DailyLeadCap)
	if !o.Unread {
		f.Exclusions = exclusionText(o.Exclusions, "\n")
	}
	return f
}

func capText(most int) string {
	if most == 0 {
		return ""
	}
	return strconv.Itoa(most)
}

func exclusionText(list []pricingrules.PartnerExclusion, between string) string {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = e.String()
	}
	return strings.Join(words, between)
}

// Pricing returns a partner's pricing.
func (s *Service) Pricing(ctx context.Context, p models.Partner) (Pricing, error) {
	return ownPrice(s.db.Gorm.WithContext(ctx), p.ID)
}

func ownPrice(db *gorm.DB, partner uuid.UUID) (own Pricing, err error) {
	var row models.PartnerPrice
	found := db.Where("partner_id = ?", partner).Limit(1).Find(&row)
	if found.Error != nil || found.RowsAffected == 0 {
		return own, postgres.Translate(found.Error)
	}
	own.Price, err = priceOf(row)
	own.Version, own.ChangedAt, own.Unread = row.RowVersion, row.UpdatedAt, err != nil
	return own, nil
}

// priceOf converts a database row to a Price. If the exclusions cannot be read, priceOf returns an error
// and a Price that excludes everything, because a missing price is better than a wrong one.
func priceOf(row models.PartnerPrice) (p Price, err error) {
	p.Adjustment, p.AgreedAt = row.Adjustment, row.AgreedAt
	if row.DailyLeadCap != nil {
		p.DailyLeadCap = *row.DailyLeadCap
	}
	if p.Exclusions, err = pricingrules.ParseExclusions([]byte(row.Exclusions)); err != nil {
		p.Exclusions = []pricingrules.PartnerExclusion{{}}
	}
	return p, err
}

// SetPricing replaces a partner's pricing. It fails if version is not the current version. If the
// policy requires approval, SetPricing only proposes the change.
//
// Within a second, all nodes apply the new pricing to pings sent to the partner's own base URL.
// Earlier quotes are still honoured (decision 5).
func (s *Service) SetPricing(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, form PriceForm, tax *pricingrules.Taxonomy,
) error {
	to, err := readPrice(form, tax)
	if err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Lock the partner, because there might be no pricing row to lock yet.
		if _, err := lockPartner(tx, sc, partner); err != nil {
			return err
		}
		before, err := ownPrice(tx, partner)
		switch {
		case err != nil:
			return err
		case before.Version != version:
			return errStalePrices
		}
		switch e := priceEdit(before, to); {
		case len(e.columns) == 0:
			return nil
		case s.policy.RequireApproval:
			return s.propose(tx, partner, version, to, e)
		default:
			return s.replacePrice(tx, partner, before, to, e)
		}
	})
}

var errStalePrices = apperr.New(apperr.Conflict, "changed",
	"Another user has changed this partner's pricing since you opened it. Review the change, then try again.")

func (s *Service) writePrice(tx *gorm.DB, partner uuid.UUID, version int, to Price) error {
	row, err := priceRow(partner, to)
	if err != nil {
		return err
	}
	row.RowVersion, row.UpdatedAt = version+1, s.clock.Now()
	return tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "partner_id"}},
		DoUpdates: clause.AssignmentColumns([]string{"adjustment", "exclusions", "daily_lead_cap", "agreed_at",
			"row_version", "updated_at"}),
	}).Create(&row).Error
}

func priceRow(partner uuid.UUID, p Price) (row models.PartnerPrice, err error) {
	text, err := json.Marshal(append([]pricingrules.PartnerExclusion{}, p.Exclusions...)) // encodes nil as an empty list, not as null
	row = models.PartnerPrice{
		PartnerID:  partner,
		Adjustment: p.Adjustment,
		Exclusions: string(text),
		AgreedAt:   p.AgreedAt,
	}
	if p.DailyLeadCap > 0 {
		row.DailyLeadCap = &p.DailyLeadCap
	}
	return row, err
}

var errDailyLeadCap = invalid("cap", apperr.InvalidValue, "cap",
	fmt.Sprintf("Enter the daily cap as a whole number from 1 to %d million, or leave it empty for no cap.", MaxDailyLeads/1_000_000))

// readPrice parses a form. If the form has several problems, the error contains all of them.
func readPrice(form PriceForm, tax *pricingrules.Taxonomy) (p Price, err error) {
	var problems []*apperr.Error
	if p.Adjustment, err = pricingrules.ParseAdjustment(form.Adjustment); err != nil {
		problems = append(problems,
			invalid("adjustment", apperr.InvalidValue, "adjustment", "The adjustment "+err.Error()+"."))
	}
	if text := strings.TrimSpace(form.DailyLeadCap); text != "" {
		// Atoi accepts a leading plus sign, so check for it separately.
		if p.DailyLeadCap, err = strconv.Atoi(text); err != nil || p.DailyLeadCap < 1 ||
			p.DailyLeadCap > MaxDailyLeads || text[0] == '+' {
			problems = append(problems, errDailyLeadCap)
		}
	}
	var more []*apperr.Error
	p.Exclusions, more = readExclusions(form.Exclusions, tax)
	return p, joinProblems(append(problems, more...)...)
}

// readExclusions parses one exclusion per line. It skips empty lines and duplicates.
func readExclusions(
	text string, tax *pricingrules.Taxonomy,
) (list []pricingrules.PartnerExclusion, problems []*apperr.Error) {
	report := func(kind apperr.FieldCode, message string) {
		problems = append(problems, invalid("exclusions", kind, "exclusions", message))
	}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(list)+len(problems) == pricingrules.MaxExclusions {
			report(apperr.TooManyItems,
				fmt.Sprintf("A partner can have at most %d exclusions. To use fewer, exclude whole categories.",
					pricingrules.MaxExclusions))
			break
		}
		e, err := pricingrules.ParseExclusion(line, tax)
		if err != nil {
			report(apperr.InvalidValue, fmt.Sprintf("Line %d of the exclusions: %v.", i+1, err))
		} else if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list, problems
}
