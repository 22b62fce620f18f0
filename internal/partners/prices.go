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

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// MaxDailyLeads bounds a partner's cap: beyond it somebody mistyped.
const MaxDailyLeads = 10_000_000

// Pricing is a partner's own pricing, as the console changes it.
type Pricing struct {
	Price
	Unread    bool // its exclusions are not understood: no price is given until they are set anew
	Version   int  // 0 where nothing was ever set
	ChangedAt time.Time
}

// PriceForm is a Price as a person writes it; what is empty is none. Exclusions stand
// one a line.
type PriceForm struct{ Adjustment, DailyLeadCap, Exclusions string }

// Form is the price as the form shows it.
func (o Pricing) Form() (f PriceForm) {
	if o.Adjustment != 0 {
		f.Adjustment = strings.TrimSuffix(pricingrules.FormatAdjustment(o.Adjustment), " %")
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

// Pricing reads a partner's own pricing.
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

// priceOf reads a row. Where its exclusions are not understood everything is excluded:
// no price is better than a wrong one.
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

// SetPricing replaces what a partner has of its own; in force on every node within a
// second. It holds on the partner's own base URL, and a quote that was given before is
// honoured (decision 5). version is the pricing's that the change was decided on. Under a
// policy with a second person it proposes the change instead.
func (s *Service) SetPricing(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, form PriceForm, tax *pricingrules.Taxonomy,
) error {
	to, err := readPrice(form, tax)
	if err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// The partner's row stands for its price, which may not be there yet.
		if _, err := lockPartner(tx, sc, partner); err != nil {
			return err
		}
		had, err := ownPrice(tx, partner)
		switch {
		case err != nil:
			return err
		case had.Version != version:
			return errStalePrices
		}
		switch e := priceEdit(had, to); {
		case len(e.columns) == 0:
			return nil
		case s.policy.SecondPerson:
			return s.propose(tx, partner, version, to, e)
		default:
			return s.replacePrice(tx, partner, had, to, e)
		}
	})
}

var errStalePrices = apperr.New(apperr.Conflict, "changed",
	"Somebody else changed the prices of this partner meanwhile: look at the change, then decide again.")

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

// priceRow is a price as the database holds it.
func priceRow(partner uuid.UUID, p Price) (row models.PartnerPrice, err error) {
	text, err := json.Marshal(append([]pricingrules.PartnerExclusion{}, p.Exclusions...)) // an empty list, and not null
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
	fmt.Sprintf("A daily cap is a whole number, 1 to %d, in digits alone; leave it empty for none.", MaxDailyLeads))

// readPrice reads the form; all that is wrong with it is told at once.
func readPrice(form PriceForm, tax *pricingrules.Taxonomy) (p Price, err error) {
	var problems []*apperr.Error
	if p.Adjustment, err = pricingrules.ParseAdjustment(form.Adjustment); err != nil {
		problems = append(problems, invalid("adjustment", apperr.InvalidValue, "adjustment", "The adjustment "+err.Error()+"."))
	}
	if text := strings.TrimSpace(form.DailyLeadCap); text != "" {
		// Only digits: Atoi would take a sign.
		if p.DailyLeadCap, err = strconv.Atoi(text); err != nil || p.DailyLeadCap < 1 ||
			p.DailyLeadCap > MaxDailyLeads || text[0] == '+' {
			problems = append(problems, errDailyLeadCap)
		}
	}
	var more []*apperr.Error
	p.Exclusions, more = readExclusions(form.Exclusions, tax)
	return p, joinProblems(append(problems, more...)...)
}

// readExclusions reads one a line; empty lines and lines that are there twice are passed over.
func readExclusions(text string, tax *pricingrules.Taxonomy) (list []pricingrules.PartnerExclusion, problems []*apperr.Error) {
	tell := func(kind apperr.FieldCode, message string) {
		problems = append(problems, invalid("exclusions", kind, "exclusions", message))
	}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(list)+len(problems) == pricingrules.MaxExclusions {
			tell(apperr.TooManyItems,
				fmt.Sprintf("A partner has at most %d exclusions: exclude a whole category with one.",
					pricingrules.MaxExclusions))
			break
		}
		e, err := pricingrules.ParseExclusion(line, tax)
		if err != nil {
			tell(apperr.InvalidValue, fmt.Sprintf("Line %d of the exclusions: %v.", i+1, err))
		} else if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list, problems
}
