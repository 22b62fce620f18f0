package partners_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func (o *partnerService) approve(t *testing.T, p models.Partner) {
	t.Helper()
	if err := o.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryLookups(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, pending := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	first, second := o.account(t, p, "Harbour-Search"), o.account(t, p, "harbour-social")
	o.approve(t, p)
	d := o.directory(t)

	harbour := d.BySlug("harbour-leads")
	if harbour == nil || harbour != d.ByID(p.ID) || harbour.ID != p.ID || harbour.Slug != p.Slug || !harbour.Active() {
		t.Fatalf("BySlug() = %+v, ByID() = %+v", harbour, d.ByID(p.ID))
	}
	for identifier, want := range map[string]uuid.UUID{first.Identifier: first.ID, second.Identifier: second.ID} {
		a := d.Account(identifier)
		if a == nil || a.ID != want || a.Partner != harbour || !a.Active() || a.Sandbox {
			t.Errorf("%s: %+v", identifier, a)
		}
	}
	if harbour.Default != d.Account(first.Identifier) {
		t.Error("the first account is not the default")
	}
	if none := d.ByID(pending.ID); none.Active() || none.Default != nil || none.Secrets != nil || none.Price != nil {
		t.Errorf("the pending partner is %+v, want no account, secrets or price", none)
	}
	if d.BySlug("Harbour-Leads") != nil || d.BySlug("") != nil || d.ByID(uuid.New()) != nil ||
		d.Account("harbour-search") != nil || d.Account("") != nil {
		t.Error("found an entry for an unknown name or a name in different case")
	}
	if h := d.PlatformAccount(); h.ID != models.PlatformIDs.Account || h.Partner.ID != models.PlatformIDs.Partner ||
		!h.Active() || h.Mode(models.SigningOff) != models.SigningOff {
		t.Errorf("PlatformAccount() = %+v", h)
	}
}

// Only approved partners with a slot can use the shared base URL.
func TestDirectoryShared(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	for _, slug := range []string{"approved", "pending", "suspended"} {
		p := o.partner(t, slug)
		if slug != "pending" {
			o.approve(t, p)
		}
		if slug == "suspended" {
			if err := o.SetStatus(t.Context(), scope.System, p.ID, models.PartnerSuspended); err != nil {
				t.Fatal(err)
			}
		}
	}
	elsewhere, err := o.Create(t.Context(), partners.NewPartner{
		Slug:            "elsewhere",
		Name:            "Elsewhere",
		NoSharedBaseURL: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.approve(t, elsewhere)
	var slugs []string
	for _, p := range o.directory(t).Shared() {
		slugs = append(slugs, p.Slug)
	}
	// Partners that are not active are recognised too (decision 59).
	slices.Sort(slugs)
	if want := []string{"approved", "pending", "suspended"}; !slices.Equal(slugs, want) {
		t.Errorf("Shared() = %v, want %v", slugs, want)
	}
}

func TestAccountIsActiveWithItsPartner(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	a := o.account(t, p, "harbour-search")
	for _, partner := range []models.PartnerStatus{models.PartnerPending, models.PartnerApproved, models.PartnerSuspended} {
		for _, account := range []models.AccountStatus{models.AccountActive, models.AccountSuspended} {
			o.db.Exec(t, `UPDATE partners SET status = $1 WHERE id = $2`, partner, p.ID)
			o.db.Exec(t, `UPDATE accounts SET status = $1 WHERE id = $2`, account, a.ID)
			want := partner == models.PartnerApproved && account == models.AccountActive
			if got := o.directory(t).Account(a.Identifier).Active(); got != want {
				t.Errorf("partner %s, account %s: active is %t", partner, account, got)
			}
		}
	}
}

// The effective mode is the account's, or else the partner's, or else the platform's (decision 14).
func TestSigningModes(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	every := []models.SigningMode{models.SigningRequired, models.SigningReportOnly, models.SigningOff}
	for i, ofPartner := range append([]models.SigningMode{models.SigningDefault}, every...) {
		p, err := o.Create(t.Context(), partners.NewPartner{
			Slug:    fmt.Sprint("partner-", i),
			Name:    "A partner",
			Signing: ofPartner,
		})
		if err != nil {
			t.Fatal(err)
		}
		for j, ofAccount := range append([]models.SigningMode{models.SigningInherit}, every...) {
			if _, err := o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: fmt.Sprint(i, "-", j), Signing: ofAccount}); err != nil {
				t.Fatal(err)
			}
			for _, ofPlatform := range every {
				want := ofPlatform
				if ofPartner != models.SigningDefault {
					want = ofPartner
				}
				if ofAccount != models.SigningInherit {
					want = ofAccount
				}
				if got := o.directory(t).Account(fmt.Sprint(i, "-", j)).Mode(ofPlatform); got != want {
					t.Errorf("account %s, partner %s, platform %s: %s, want %s", ofAccount, ofPartner, ofPlatform, got, want)
				}
			}
		}
	}
}

// claim returns the signature headers of a body signed with a secret.
func claim(t *testing.T, secret string, at time.Time, body []byte) signing.Claim {
	t.Helper()
	c, err := signing.Check(testkit.SignWith(secret, at, body), at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A secret is valid from its start (inclusive) to its expiry (exclusive).
// A secret is recognised for 30 days after it has expired or was revoked. A revoked secret is never valid
// again, even on a node whose clock is behind.
func TestEndedSecrets(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	expired, revoked, valid := o.newSecret(t, p, "expired"), o.newSecret(t, p, "revoked"), o.newSecret(t, p, "valid")
	ended := o.clock.Now().Add(time.Hour)
	if err := o.ExpireSecret(t.Context(), scope.System, p, expired.ID, ended); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Hour)
	if err := o.RevokeSecret(t.Context(), scope.System, p, revoked.ID); err != nil {
		t.Fatal(err)
	}
	d := o.directory(t).ByID(p.ID)
	const days = 24 * time.Hour
	for _, c := range []struct {
		secret partners.CreatedSecret
		after  time.Duration
		active bool
		ended  bool
	}{
		{expired, -time.Microsecond, true, false}, {expired, 0, false, true}, {expired, 30 * days, false, true}, {expired, 30*days + 1, false, false},
		{revoked, -time.Second, false, true}, {revoked, 0, false, true}, {revoked, 30 * days, false, true}, {revoked, 30*days + 1, false, false},
		{valid, 0, true, false}, {valid, 100 * days, true, false},
	} {
		i := slices.IndexFunc(d.Secrets, func(s *partners.Secret) bool { return s.ID == c.secret.ID })
		at := ended.Add(c.after)
		if active, ended := d.Secrets[i].Active(at), d.Secrets[i].RecentlyEnded(at); active != c.active || ended != c.ended {
			t.Errorf("%s after %s: active %t, ended %t", c.secret.Label, c.after, active, ended)
		}
	}
	o.clock.Advance(31 * days)
	if d := o.directory(t).ByID(p.ID); len(d.Secrets) != 1 || d.Secrets[0].ID != valid.ID {
		t.Errorf("got %d secrets after 31 days, want 1", len(d.Secrets))
	}
}

func (o *partnerService) newSecret(t *testing.T, p models.Partner, label string) partners.CreatedSecret {
	t.Helper()
	made, err := o.CreateSecret(t.Context(), scope.System, p, label)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestSecretValidity(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	old, err := o.CreateSecret(t.Context(), scope.System, p, "old")
	if err != nil {
		t.Fatal(err)
	}
	start := o.clock.Now()
	o.clock.Advance(time.Hour)
	fresh, err := o.RotateSecret(t.Context(), scope.System, p, "new", time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := o.CreateSecret(t.Context(), scope.System, p, "revoked")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.RevokeSecret(t.Context(), scope.System, p, gone.ID); err != nil {
		t.Fatal(err)
	}
	partner := o.directory(t).ByID(p.ID)
	if len(partner.Secrets) != 3 { // the revoked one is recognised, but does not verify
		t.Errorf("got %d secrets, want 3", len(partner.Secrets))
	}
	body := []byte(`{"a": 1}`)
	for _, c := range []struct {
		secret partners.CreatedSecret
		after  time.Duration
		want   bool
	}{
		{old, -time.Microsecond, false},
		{old, 0, true},
		{old, 2*time.Hour - time.Microsecond, true},
		{old, 2 * time.Hour, false},
		{fresh, time.Hour - time.Microsecond, false},
		{fresh, time.Hour, true},
		{fresh, 2 * time.Hour, true},
		{fresh, 1000 * time.Hour, true},
		{gone, time.Hour, false},
	} {
		at := start.Add(c.after)
		got := partner.Verify(claim(t, c.secret.Plain, at, body), body, at)
		if (got != nil) != c.want || (got != nil && got.ID != c.secret.ID) {
			t.Errorf("%s after %s: %v, want %t", c.secret.Label, c.after, got, c.want)
		}
		if got != nil && partner.Verify(claim(t, c.secret.Plain, at, body), []byte(`{"a": 2}`), at) != nil {
			t.Error("verified a signature for another body")
		}
	}
}

func TestVerifyIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	made, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	partner, now := o.directory(t).ByID(p.ID), o.clock.Now()
	var all sync.WaitGroup
	for i := range 16 {
		body := []byte(strings.Repeat(strconv.Itoa(i), 100))
		mine := claim(t, made.Plain, now, body)
		all.Go(func() {
			for range 50 {
				if partner.Verify(mine, body, now) == nil || partner.Verify(mine, body[1:], now) != nil {
					t.Error("Verify mixed up two claims")
					return
				}
			}
		})
	}
	all.Wait()
}

func TestPrices(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	for slug, c := range map[string]struct {
		adjustment int
		exclusions string
		limit      any
		want       string
	}{
		"nothing":    {0, `[]`, nil, "<nil>"},
		"adjustment": {-500, `[]`, nil, "&{PartnerPricing:{Adjustment:-500 Exclusions:[]} DailyLeadCap:0 AgreedAt:"},
		"cap":        {0, `[]`, 7, "&{PartnerPricing:{Adjustment:0 Exclusions:[]} DailyLeadCap:7 AgreedAt:"},
		"exclusions": {0, `[{"industry":"plumber","country":"GB"},{"category":"legal-services"}]`, nil,
			"&{PartnerPricing:{Adjustment:0 Exclusions:[industry: plumber, country: GB category: legal-services]} DailyLeadCap:0 AgreedAt:"},
	} {
		p := o.partner(t, slug)
		o.db.Exec(t, `INSERT INTO partner_prices (partner_id, adjustment, exclusions, daily_lead_cap, updated_at) VALUES ($1, $2, $3, $4, now())`,
			p.ID, c.adjustment, c.exclusions, c.limit)
		if got := fmt.Sprintf("%+v", o.directory(t).ByID(p.ID).Price); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", slug, got, c.want)
		}
	}
}

func TestExclusionCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    pricingrules.PartnerExclusion
		want bool
	}{
		{pricingrules.PartnerExclusion{Industry: "plumber"}, true},
		{pricingrules.PartnerExclusion{Category: "home-services"}, true},
		{pricingrules.PartnerExclusion{Country: "GB"}, true},
		{pricingrules.PartnerExclusion{Industry: "plumber", Category: "home-services", Country: "GB"}, true},
		{pricingrules.PartnerExclusion{}, true}, // everything
		{pricingrules.PartnerExclusion{Industry: "roofer"}, false},
		{pricingrules.PartnerExclusion{Category: "legal-services"}, false},
		{pricingrules.PartnerExclusion{Industry: "plumber", Country: "FR"}, false},
		{pricingrules.PartnerExclusion{Industry: "roofer", Country: "GB"}, false},
	} {
		if got := c.e.Covers("plumber", "home-services", "GB"); got != c.want {
			t.Errorf("%+v: %t", c.e, got)
		}
	}
}

// A row that cannot be read affects only its partner. Other partners are still loaded.
func TestUnreadableRows(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	broken, sound := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	lost, err := o.CreateSecret(t.Context(), scope.System, broken, "")
	if err != nil {
		t.Fatal(err)
	}
	o.db.Exec(t,
		`INSERT INTO partner_prices (partner_id, adjustment, exclusions, updated_at) VALUES ($1, 500, '["none"]', now())`,
		broken.ID)
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2, 1), o.clock)
	kept, err := o.CreateSecret(t.Context(), scope.System, sound, "")
	if err != nil {
		t.Fatal(err)
	}
	o.approve(t, sound)
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2), o.clock) // without the key that the first secret was sealed with
	d, now, body := o.directory(t), o.clock.Now(), []byte(`{}`)
	unreadable(t, d, []string{"the secret " + id.Format(id.Secret, lost.ID) + " of harbour-leads"},
		[]string{"the pricing of harbour-leads"})
	if d.ByID(broken.ID).Verify(claim(t, lost.Plain, now, body), body, now) != nil {
		t.Error("verified a signature with a secret that cannot be decrypted")
	}
	if p := d.ByID(broken.ID).Price; p == nil || len(p.Exclusions) != 1 ||
		!p.Exclusions[0].Covers("plumber", "home-services", "GB") {
		t.Errorf("unreadable pricing was loaded as %+v, want everything excluded", p)
	}
	if p := d.ByID(sound.ID); !p.Active() || p.Verify(claim(t, kept.Plain, now, body), body, now) == nil || p.Price != nil {
		t.Error("another partner is affected")
	}
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2, 1), o.clock)
	unreadable(t, o.directory(t), nil, []string{"the pricing of harbour-leads"})
}

func unreadable(t *testing.T, d *partners.Directory, secrets, prices []string) {
	t.Helper()
	if !slices.Equal(d.UnreadableSecrets(), secrets) || !slices.Equal(d.UnreadablePrices(), prices) {
		t.Errorf("unreadable: got %q and %q, want %q and %q", d.UnreadableSecrets(), d.UnreadablePrices(), secrets, prices)
	}
}

// LoadDirectory reads one snapshot, so that it finds each account's partner even while rows are
// being added.
func TestDirectoryIsConsistent(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 30 {
			p, err := o.Create(t.Context(), partners.NewPartner{Slug: fmt.Sprint("partner-", i), Name: "A partner"})
			if err == nil {
				_, err = o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: fmt.Sprint("account-", i)})
			}
			if err == nil {
				_, err = o.CreateSecret(t.Context(), scope.System, p, "")
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	all.Go(func() {
		for range 60 {
			if _, err := o.LoadDirectory(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	all.Wait()
}

// BenchmarkFindAccount finds one of 10,000 accounts by its identifier, and then its signing mode.
func BenchmarkFindAccount(b *testing.B) {
	const count = 10_000
	rows, accounts, identifiers := make([]models.Partner, count), make([]models.Account, count), make([]string, count)
	for i := range count {
		name := fmt.Sprint("partner-", i)
		rows[i] = models.Partner{ID: uuid.New(), Slug: name, Status: models.PartnerApproved, SigningMode: "default"}
		accounts[i] = models.Account{
			ID: uuid.New(), PartnerID: rows[i].ID, Identifier: name, IsDefault: true,
			Status: models.AccountActive, SigningMode: "inherit",
		}
		identifiers[i] = fmt.Sprint("partner-", i*7919%count)
	}
	directory := partners.NewDirectory(rows, accounts)
	for i := 0; b.Loop(); i++ {
		a := directory.Account(identifiers[i%len(identifiers)])
		if a == nil || !a.Active() || a.Mode(models.SigningRequired) != models.SigningRequired {
			b.Fatal("the account is not found")
		}
	}
}
