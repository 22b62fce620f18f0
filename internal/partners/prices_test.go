package partners_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func taxonomy(t *testing.T) *pricingrules.Taxonomy {
	t.Helper()
	tax, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func (o *partnerService) ownPrice(t *testing.T, p models.Partner) partners.Pricing {
	t.Helper()
	own, err := o.Pricing(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// SetPricing writes the pricing and an audit event. The directory contains the new pricing.
func TestSetPricing(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	set := func(sc scope.Scope, partner uuid.UUID, version int, f partners.PriceForm) error {
		return o.SetPricing(t.Context(), sc, partner, version, f, tax)
	}
	all := partners.PriceForm{
		Adjustment:   "+5.25",
		DailyLeadCap: "40",
		Exclusions:   "industry plumber, country FR\r\n\r\n  category legal-services \r\ncategory legal-services",
	}
	wantError(t, "out of scope", set(scope.Partners(other.ID), p.ID, 0, all), apperr.NotFound, "partner")
	wantError(t, "unknown", set(scope.System, uuid.New(), 0, all), apperr.NotFound, "partner")
	wantError(t, "platform partner", set(scope.System, models.PlatformIDs.Partner, 0, all), apperr.NotFound, "partner")
	wantError(t, "stale", set(scope.System, p.ID, 3, all), apperr.Conflict, "changed")
	if n := testkit.Value[int](t, o.db, `SELECT count(*) FROM partner_prices`); n != 0 {
		t.Fatalf("got %d rows after rejected changes, want 0", n)
	}
	_, _, _, events := o.lastEvent(t)
	wantError(t, "no pricing to no pricing", set(scope.System, p.ID, 0, partners.PriceForm{Adjustment: "0"}), "", "")
	if _, _, _, n := o.lastEvent(t); n != events {
		t.Error("an update without changes wrote an audit event")
	}

	wantError(t, "all fields", set(scope.Partners(p.ID), p.ID, 0, all), "", "")
	e, before, after, _ := o.lastEvent(t)
	if e.Action != "partner.prices" || e.ObjectID != id.Format(id.Partner, p.ID) || *e.PartnerID != p.ID ||
		!maps.Equal(before, map[string]any{"adjustment": "+0%", "daily_cap": "", "exclusions": ""}) ||
		!maps.Equal(after, map[string]any{"adjustment": "+5.25%", "daily_cap": "40", "exclusions": "industry: plumber, country: FR; category: legal-services"}) {
		t.Errorf("audit event %s of %s: %v → %v", e.Action, e.ObjectID, before, after)
	}
	const want = "&{PartnerPricing:{Adjustment:525 Exclusions:[industry: plumber, country: FR category: legal-services]} DailyLeadCap:40 AgreedAt:"
	if got := fmt.Sprintf("%+v", o.directory(t).ByID(p.ID).Price); !strings.HasPrefix(got, want) {
		t.Errorf("the directory contains %s, want %s", got, want)
	}
	own := o.ownPrice(t, p)
	if own.Version != 1 || own.Unread || !own.ChangedAt.Equal(o.clock.Now()) {
		t.Errorf("got %+v", own)
	}
	if f := own.Form(); f != (partners.PriceForm{Adjustment: "+5.25", DailyLeadCap: "40", Exclusions: "industry: plumber, country: FR\ncategory: legal-services"}) {
		t.Errorf("Form() = %+v", f)
	}
	wantError(t, "no change", set(scope.System, p.ID, 1, own.Form()), "", "")
	if now := o.ownPrice(t, p); now.Version != 1 {
		t.Errorf("an update without changes wrote version %d", now.Version)
	}

	wantError(t, "only the cap", set(scope.System, p.ID, 1, partners.PriceForm{
		Adjustment: "5.25 %",
		Exclusions: own.Form().Exclusions,
	}), "", "")
	if _, before, after, _ := o.lastEvent(t); !maps.Equal(before, map[string]any{"daily_cap": "40"}) ||
		!maps.Equal(after, map[string]any{"daily_cap": ""}) {
		t.Errorf("audit event %v → %v", before, after)
	}
	wantError(t, "remove all", set(scope.System, p.ID, 2, partners.PriceForm{}), "", "")
	if d := o.directory(t); d.ByID(p.ID).Price != nil || d.ByID(other.ID).Price != nil {
		t.Error("the directory still contains partner pricing")
	}
	if own := o.ownPrice(t, p); own.Version != 3 || own.Form() != (partners.PriceForm{}) {
		t.Errorf("got %+v", own)
	}
	if own := o.ownPrice(t, other); own.Version != 0 || own.Form() != (partners.PriceForm{}) {
		t.Errorf("the other partner's pricing is %+v", own)
	}
}

// AgreedAt is set when a partner without pricing gets pricing. Later changes keep it. Pricing that is
// removed and added again gets a new AgreedAt (decision 5).
func TestAgreedAt(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p := o.partner(t, "harbour-leads")
	began := o.clock.Now()
	set := func(version int, f partners.PriceForm, agreed time.Time) {
		t.Helper()
		if err := o.SetPricing(t.Context(), scope.System, p.ID, version, f, tax); err != nil {
			t.Fatal(err)
		}
		if got := o.ownPrice(t, p).AgreedAt; agreed != (time.Time{}) && !got.Equal(agreed) {
			t.Errorf("version %d: AgreedAt is %s, want %s", version+1, got, agreed)
		}
		o.clock.Advance(time.Minute)
	}
	set(0, partners.PriceForm{DailyLeadCap: "1"}, began)
	set(1, partners.PriceForm{DailyLeadCap: "1", Adjustment: "-5"}, began)
	set(2, partners.PriceForm{Adjustment: "-5", Exclusions: "country FR"}, began)
	set(3, partners.PriceForm{Exclusions: "country FR"}, began)
	set(4, partners.PriceForm{}, time.Time{})
	again := o.clock.Now()
	set(5, partners.PriceForm{Exclusions: "country FR"}, again)
	set(6, partners.PriceForm{Adjustment: "3"}, again)

	price := o.directory(t).ByID(p.ID).Price
	for after, inEffect := range map[time.Duration]bool{
		-time.Hour:         false,
		0:                  false,
		10 * time.Second:   false,
		10*time.Second + 1: true,
		time.Hour:          true,
	} {
		if price.InEffect(again.Add(after)) != inEffect {
			t.Errorf("InEffect(%s after AgreedAt) is %t, want %t", after, !inEffect, inEffect)
		}
	}
	if (*partners.Price)(nil).InEffect(again.Add(time.Hour)) {
		t.Error("a nil price is in effect")
	}
}

// AdjustmentsAt returns the adjustment at the time of a quote. Near a change, it also returns the other one.
func TestAdjustmentsAt(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	began := o.clock.Now()
	for version, form := range []partners.PriceForm{
		{DailyLeadCap: "1"}, {Adjustment: "5"}, {Adjustment: "-2.5"}, {Adjustment: "-2.5", Exclusions: "country FR"}, {},
	} {
		o.clock.Set(began.Add(time.Duration(version) * time.Hour))
		if err := o.SetPricing(t.Context(), scope.System, p.ID, version, form, tax); err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[time.Duration][]int{
		-24 * time.Hour:              {0},
		time.Hour - 11*time.Second:   {0},
		time.Hour - 2*time.Second:    {0, 500},
		time.Hour:                    {500, 0},
		time.Hour + 9*time.Second:    {500, 0},
		time.Hour + 10*time.Second:   {500},
		2*time.Hour - 11*time.Second: {500},
		2*time.Hour + time.Second:    {-250, 500},
		3 * time.Hour:                {-250},
		5 * time.Hour:                {0},
	} {
		got, err := o.AdjustmentsAt(t.Context(), scope.Partners(p.ID), p.ID, began.Add(after))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s after the start: got %v, %v, want %v", after, got, err, want)
		}
	}
	_, err := o.AdjustmentsAt(t.Context(), scope.Partners(other.ID), p.ID, began)
	wantError(t, "out of scope", err, apperr.NotFound, "partner")
}

// All problems are reported at once, with the line number of each exclusion.
func TestSetPricingReportsAllProblems(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p := o.partner(t, "harbour-leads")
	err := o.SetPricing(t.Context(), scope.System, p.ID, 0, partners.PriceForm{
		Adjustment:   "-90.01",
		DailyLeadCap: "0",
		Exclusions:   "industry plumber\n\nindustry plumbr\nindustry plumber, category legal-services\ncountry France",
	}, tax)
	if got := errorFields(err); !slices.Equal(got, []string{"adjustment invalid_value", "cap invalid_value", "exclusions invalid_value", "exclusions invalid_value", "exclusions invalid_value"}) {
		t.Errorf("got field errors %q", got)
	}
	for i, want := range map[int]string{0: `"-90.01"`, 2: `"plumbr"`, 3: "home-services", 4: "5"} {
		if got := apperr.As(err).Fields[i].Message; !strings.Contains(got, want) {
			t.Errorf("message %q does not contain %q", got, want)
		}
	}
	for most, ok := range map[string]bool{
		"1":                    true,
		" 10000000 ":           true,
		"10000001":             false,
		"-1":                   false,
		"+5":                   false,
		"1,000":                false,
		"1.5":                  false,
		"ten":                  false,
		"99999999999999999999": false,
		"１":                    false,
	} {
		version := o.ownPrice(t, p).Version
		if err := o.SetPricing(t.Context(), scope.System, p.ID, version, partners.PriceForm{DailyLeadCap: most}, tax); (err == nil) != ok {
			t.Errorf("a cap of %q: %v", most, err)
		}
	}
	var many []string
	for _, industry := range tax.Industries()[:pricingrules.MaxExclusions] {
		many = append(many, "industry "+industry.Slug)
	}
	most := partners.PriceForm{Adjustment: "900", Exclusions: strings.Join(many, "\n")}
	wantError(t, "maximum number of exclusions", o.SetPricing(t.Context(), scope.System, p.ID, o.ownPrice(t, p).Version, most, tax), "", "")
	if d := o.directory(t).ByID(p.ID).Price; len(d.Exclusions) != pricingrules.MaxExclusions ||
		d.Adjustment != pricingrules.MaxAdjustment {
		t.Errorf("got %d exclusions, adjustment %d", len(d.Exclusions), d.Adjustment)
	}
	most.Exclusions += "\ncountry FR"
	wantError(t, "one exclusion too many", o.SetPricing(t.Context(), scope.System, p.ID, o.ownPrice(t, p).Version, most, tax),
		apperr.Invalid, "exclusions")
	nonsense := partners.PriceForm{Exclusions: strings.Repeat("nonsense\n", 100_000)}
	if err := o.SetPricing(t.Context(), scope.System, p.ID, o.ownPrice(t, p).Version, nonsense, tax); len(errorFields(err)) != pricingrules.MaxExclusions+1 {
		t.Errorf("got %d problems, want %d", len(errorFields(err)), pricingrules.MaxExclusions+1)
	}
}

// If several concurrent changes pass the same version, one succeeds and the others get a conflict.
func TestConcurrentSetPricing(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p := o.partner(t, "harbour-leads")
	for version := range 3 { // at version 0 there is no row to lock
		errs := atOnce(8, func(i int) error {
			return o.SetPricing(t.Context(), scope.System, p.ID, version,
				partners.PriceForm{DailyLeadCap: fmt.Sprint(10*version + i + 1)}, tax)
		})
		if n := succeeded(errs); n != 1 {
			t.Fatalf("%d of 8 changes succeeded, want 1: %v", n, errs)
		}
		for _, err := range errs {
			if err != nil {
				wantError(t, "the others", err, apperr.Conflict, "changed")
			}
		}
		if got := o.ownPrice(t, p); got.Version != version+1 || o.directory(t).ByID(p.ID).Price.DailyLeadCap != got.DailyLeadCap {
			t.Errorf("got %+v", got)
		}
	}
	if n := testkit.Value[int](t, o.db, `SELECT count(*) FROM audit_events WHERE action = 'partner.prices'`); n != 3 {
		t.Errorf("got %d audit events, want 3", n)
	}
}

// If the exclusions cannot be read, everything is excluded until they are set again.
func TestUnreadableExclusions(t *testing.T) {
	t.Parallel()
	o, tax := newPartnerService(t), taxonomy(t)
	p := o.partner(t, "harbour-leads")
	o.db.Exec(t,
		`INSERT INTO partner_prices (partner_id, adjustment, exclusions, updated_at) VALUES ($1, 500, '["none"]', now())`,
		p.ID)
	own := o.ownPrice(t, p)
	if !own.Unread || own.Version != 1 || own.Form() != (partners.PriceForm{Adjustment: "+5"}) || !own.Excludes(tax.At(0), "GB") {
		t.Errorf("got %+v", own)
	}
	wantError(t, "save the form", o.SetPricing(t.Context(), scope.System, p.ID, 1, own.Form(), tax), "", "")
	if _, before, after, _ := o.lastEvent(t); !maps.Equal(before, map[string]any{"exclusions": "every lead"}) ||
		!maps.Equal(after, map[string]any{"exclusions": ""}) {
		t.Errorf("audit event %v → %v", before, after)
	}
	if own := o.ownPrice(t, p); own.Unread || own.Excludes(tax.At(0), "GB") || own.Adjustment != 500 {
		t.Errorf("got %+v", own)
	}
}

// Like caps, LeadsToday counts the leads of the current UTC day, excluding sandbox leads.
func TestLeadsToday(t *testing.T) {
	t.Parallel()
	c := openCaps(t, testkit.NewDatabase(t))
	p, other := c.partner(t, "harbour-leads"), c.partner(t, "meadow-media")
	midnight := testkit.StartTime().Truncate(24 * time.Hour)
	c.lead(t, p, midnight.Add(-time.Millisecond), false)
	c.lead(t, p, midnight, false)
	c.lead(t, p, midnight.Add(time.Hour), false)
	c.lead(t, p, midnight.Add(time.Hour), true)
	c.lead(t, other, midnight.Add(time.Hour), false)
	if n, err := c.LeadsToday(t.Context(), p); err != nil || n != 2 {
		t.Errorf("LeadsToday() = %d, %v, want 2", n, err)
	}
	c.clock.Set(midnight.Add(24 * time.Hour))
	if n, err := c.LeadsToday(t.Context(), p); err != nil || n != 0 {
		t.Errorf("on the next day: LeadsToday() = %d, %v, want 0", n, err)
	}
}
