package retention

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// Periods contains the configured retention periods.
type Periods struct{ Contact, Consent Days }

// Days is a retention period in days after the receipt of a lead, with the countries that have a different
// one. 0 means until erased.
type Days struct {
	Default   int
	ByCountry map[string]int
}

// For returns the period for a country. "" stands for all countries that are not in ByCountry.
func (d Days) For(country string) int {
	if days, ok := d.ByCountry[country]; ok {
		return days
	}
	return d.Default
}

// Categories lists the categories of data whose retention period depends on the country. Contact records
// are erased first.
var Categories = []models.RetentionCategory{models.RetainContact, models.RetainConsent}

func (r Periods) of(c models.RetentionCategory) Days {
	if c == models.RetainConsent {
		return r.Consent
	}
	return r.Contact
}

// longer returns the longer of two periods.
func longer(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// shortens reports whether days is a shorter period than before.
func shortens(before, days int) bool { return longer(before, days) != days }

var errChanged = apperr.New(apperr.Conflict, "retention_changed",
	"The retention periods have changed since you opened this page. Check the numbers again.")

// effectivePeriods is the set of periods in effect.
type effectivePeriods []models.RetentionPeriod

// readPeriods returns the periods in effect, in order. If fresh is true, the database contains no periods
// and no leads.
func readPeriods(tx *gorm.DB) (all effectivePeriods, fresh bool, err error) {
	if err := tx.Order("category, country").Find(&all).Error; err != nil {
		return nil, false, err
	}
	if len(all) == 0 {
		err = tx.Raw(`SELECT NOT EXISTS (SELECT FROM leads)`).Scan(&fresh).Error
	}
	return all, fresh, err
}

// find returns the period for a country. ok is false if the country has none of its own.
func (p effectivePeriods) find(c models.RetentionCategory, country string) (period models.RetentionPeriod, ok bool) {
	i := slices.IndexFunc(p, func(r models.RetentionPeriod) bool { return r.Category == c && r.Country == country })
	if i < 0 {
		return period, false
	}
	return p[i], true
}

// daysFor returns the period for a country, in days. Without periods, nothing is erased.
func (p effectivePeriods) daysFor(c models.RetentionCategory, country string) int {
	period, found := p.find(c, country)
	if !found {
		period, _ = p.find(c, "")
	}
	return period.Days
}

// extend returns the periods, including one for each configured country. Configured periods that are longer replace
// those in effect. Shorter ones do not, unless fresh is true.
func (p effectivePeriods) extend(configured Periods, fresh bool, now time.Time) (all effectivePeriods) {
	for _, c := range Categories {
		days := configured.of(c)
		base, found := p.find(c, "")
		if !found {
			base = models.RetentionPeriod{Category: c, AcceptedAt: now}
			if fresh {
				base.Days = days.Default
			}
		}
		countries := map[string]bool{"": true}
		for country := range days.ByCountry {
			countries[country] = true
		}
		for _, period := range p {
			if period.Category == c {
				countries[period.Country] = true
			}
		}
		for _, country := range slices.Sorted(maps.Keys(countries)) {
			period, found := p.find(c, country)
			if !found {
				period = base
				period.Country = country
			}
			switch want := days.For(country); {
			case fresh:
				period.Days = want
			case want != period.Days && !shortens(period.Days, want):
				period.Days, period.AcceptedAt, period.AcceptedBy, period.AcceptedByID = want, now, "", nil
			}
			all = append(all, period)
		}
	}
	return all
}

// days returns the periods by category and country, as they are written to the audit log.
func (p effectivePeriods) days() map[string]any {
	all := map[string]any{}
	for _, period := range p {
		all[string(period.Category)+" "+cmp.Or(period.Country, "default")] = period.Days
	}
	return all
}

// changed reports whether a period in effect differs.
func changed(before, after effectivePeriods) bool {
	return slices.ContainsFunc(after, func(period models.RetentionPeriod) bool {
		return before.daysFor(period.Category, period.Country) != period.Days
	})
}

// version returns a hash of the periods in effect and the configured ones.
func (p effectivePeriods) version(configured Periods) string {
	text, _ := json.Marshal([]any{p.days(), configured}) // cannot fail: the values are numbers
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:8])
}

// group returns the selection of the leads that a period applies to.
func (p effectivePeriods) group(of models.RetentionPeriod) leads.Due {
	d := leads.Due{Category: of.Category, Countries: []string{of.Country}, After: of.Position, Until: uuid.Max}
	if of.Country == "" {
		d.Countries, d.Others = []string{}, true
		for _, period := range p {
			if period.Category == of.Category && period.Country != "" {
				d.Countries = append(d.Countries, period.Country)
			}
		}
	}
	return d
}

// dueUntil returns an id. For all leads with smaller ids, a period of the given number of days has passed.
func dueUntil(now time.Time, days int) uuid.UUID {
	if days == 0 {
		return uuid.Nil
	}
	return leads.ReceivedBefore(now.AddDate(0, 0, -days))
}

// changePeriods replaces the periods in effect with those that change returns, and records this in the
// audit log.
func (s *Service) changePeriods(
	ctx context.Context, change func(before effectivePeriods, fresh bool) (after effectivePeriods, err error),
) (after effectivePeriods, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Otherwise a run could add an entry for leads whose period becomes longer.
		if err := erasure.Lock(tx); err != nil {
			return err
		}
		before, fresh, err := readPeriods(tx)
		if err != nil {
			return err
		}
		if after, err = change(before, fresh); err != nil {
			return err
		}
		for _, period := range after {
			switch old, found := before.find(period.Category, period.Country); {
			case !found:
				err = tx.Create(&period).Error
			case old.Days != period.Days:
				err = tx.Exec(`UPDATE retention_periods SET days = ?, accepted_at = ?, accepted_by = ?, accepted_by_id = ? WHERE category = ? AND country = ?`,
					period.Days, period.AcceptedAt, period.AcceptedBy, period.AcceptedByID, period.Category, period.Country).Error
			}
			if err != nil {
				return err
			}
		}
		if !changed(before, after) {
			return nil
		}
		return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
			Action: "retention.apply", Kind: "platform", Before: before.days(), After: after.days(),
		})
	})
	return after, err
}

// extendPeriods puts configured periods into effect if they are longer than before.
func (s *Service) extendPeriods(ctx context.Context) (effectivePeriods, error) {
	return s.changePeriods(ctx, func(before effectivePeriods, fresh bool) (effectivePeriods, error) {
		return before.extend(s.configured, fresh, s.clock.Now()), nil
	})
}

// Apply puts the configured periods into effect. The user must have seen the plan with the given
// version.
//
// Errors: Conflict with the reason retention_changed if the plan has another version now.
func (s *Service) Apply(ctx context.Context, version string) error {
	_, err := s.changePeriods(ctx, func(before effectivePeriods, fresh bool) (effectivePeriods, error) {
		now := s.clock.Now()
		after := before.extend(s.configured, fresh, now)
		if after.version(s.configured) != version {
			return nil, errChanged
		}
		for i := range after {
			period := &after[i]
			if want := s.configured.of(period.Category).For(period.Country); want != period.Days {
				period.Days, period.AcceptedAt, period.AcceptedBy, period.AcceptedByID = want, now, s.by.Name, s.by.StaffID()
			}
		}
		return after, nil
	})
	return err
}
