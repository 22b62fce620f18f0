package partners_test

import (
	"regexp"
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

// leadsTo checks that a token belongs to the partner want. If want is nil, the token must not be
// found.
func (o *partnerService) leadsTo(t *testing.T, what, token string, want *models.Partner) {
	t.Helper()
	l, err := o.ByLink(t.Context(), token)
	p, accounts := l.Partner, l.Accounts
	if want == nil {
		if wantError(t, what, err, apperr.NotFound, "not_found"); p.ID != uuid.Nil || accounts != nil {
			t.Errorf("%s: got partner %v with %d accounts, want none", what, p.ID, len(accounts))
		}
		return
	}
	if wantError(t, what, err, "", ""); p.ID != want.ID || len(accounts) != 2 || accounts[0].Identifier != want.Slug+"-main" {
		t.Errorf("%s: got partner %v with accounts %v", what, p.ID, accounts)
	}
}

func (o *partnerService) link(t *testing.T, p models.Partner) string {
	t.Helper()
	link, err := o.NewLink(t.Context(), everyPartner, p)
	if err != nil || link.PartnerID != p.ID || !link.CreatedAt.Equal(o.clock.Now()) || link.RevokedAt != nil {
		t.Fatalf("NewLink() = %+v, %v", link, err)
	}
	return link.Token
}

func (o *partnerService) partnerWithAccounts(t *testing.T, slug string) models.Partner {
	t.Helper()
	p := o.partner(t, slug)
	o.account(t, p, slug+"-main")
	o.account(t, p, slug+"-second")
	return p
}

func TestLinks(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partnerWithAccounts(t, "harbour-leads"), o.partnerWithAccounts(t, "meadow-media")
	if _, ok, err := o.Link(t.Context(), everyPartner, p); ok || err != nil {
		t.Errorf("before NewLink: got ok %t, %v", ok, err)
	}
	wantError(t, "revoking without a link", o.RevokeLink(t.Context(), everyPartner, p), apperr.NotFound, "link")
	first, others := o.link(t, p), o.link(t, other)
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`).MatchString(first) || first == others {
		t.Errorf("got tokens %q and %q, want two different ones with 43 characters", first, others)
	}
	o.leadsTo(t, "first link", first, &p)
	o.leadsTo(t, "other partner's link", others, &other)

	second := o.link(t, p)
	o.leadsTo(t, "replaced link", first, nil)
	o.leadsTo(t, "replacement", second, &p)
	if live, ok, err := o.Link(t.Context(), everyPartner, p); !live.CreatedAt.Equal(o.clock.Now()) || !ok || err != nil {
		t.Errorf("Link() = %+v, %t, %v", live, ok, err)
	}
	wantError(t, "suspending", o.SetStatus(t.Context(), everyPartner, p.ID, models.PartnerSuspended), "", "")
	suspended := p
	suspended.Status = models.PartnerSuspended
	o.leadsTo(t, "suspended partner's link", second, &suspended)
	wantError(t, "approving", o.SetStatus(t.Context(), everyPartner, p.ID, models.PartnerApproved), "", "")
	o.leadsTo(t, "approved partner's link", second, &p)

	wantError(t, "revoking", o.RevokeLink(t.Context(), everyPartner, p), "", "")
	o.leadsTo(t, "revoked link", second, nil)
	if _, ok, err := o.Link(t.Context(), everyPartner, p); ok || err != nil {
		t.Errorf("after RevokeLink: got ok %t, %v", ok, err)
	}
	wantError(t, "revoking again", o.RevokeLink(t.Context(), everyPartner, p), apperr.NotFound, "link")
	o.leadsTo(t, "other partner's link after revoking", others, &other)
}

// ByLink returns the partner's own agreement, the leads that count towards its cap, and its secrets that have an
// expiry, but no data of other partners.
func TestByLinkReturnsTheAgreement(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partnerWithAccounts(t, "harbour-leads"), o.partnerWithAccounts(t, "meadow-media")
	mine, theirs := o.link(t, p), o.link(t, other)
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	form := partners.PriceForm{Adjustment: "+5", DailyLeadCap: "9", Exclusions: "country DE"}
	wantError(t, "pricing", o.SetPricing(t.Context(), everyPartner, p.ID, 0, form, taxonomy), "", "")
	old, err := o.CreateSecret(t.Context(), scope.System, p, "old")
	if err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Hour)
	if _, err := o.RotateSecret(t.Context(), scope.System, p, "new", 2*time.Hour, false); err != nil {
		t.Fatal(err)
	}
	get := func(token string) partners.Linked {
		t.Helper()
		l, err := o.ByLink(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := get(mine)
	if l.Pricing.Form() != (partners.PriceForm{Adjustment: "+5", DailyLeadCap: "9", Exclusions: "country: DE"}) || l.LeadsToday != 0 ||
		len(l.Expiring) != 1 || l.Expiring[0].ID != old.ID || !l.Expiring[0].ExpiresAt.Equal(o.clock.Now().Add(2*time.Hour)) {
		t.Errorf("got %+v, %d leads, secrets %v", l.Pricing, l.LeadsToday, l.Expiring)
	}
	if l := get(theirs); l.Pricing.Form() != (partners.PriceForm{}) || len(l.Expiring) != 0 {
		t.Errorf("other partner: got %+v, secrets %v", l.Pricing, l.Expiring)
	}
	o.clock.Advance(2 * time.Hour)
	if l := get(mine); len(l.Expiring) != 0 {
		t.Errorf("after the expiry: got secrets %v", l.Expiring)
	}
}

// Malformed tokens are rejected even if the database is closed.
func TestMalformedTokensNeedNoQuery(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	token := o.link(t, o.partnerWithAccounts(t, "harbour-leads"))
	o.db.Close()
	for name, malformed := range map[string]string{
		"empty":              "",
		"short":              token[1:],
		"long":               token + "A",
		"a dot":              token[:42] + ".",
		"standard base64":    token[:41] + "+/",
		"padded":             token + "=",
		"a line break":       token[:20] + "\n" + token[21:],
		"a final line break": token + "\n",
		"not canonical":      token[:42] + "B",
		"not ASCII":          token[:41] + "é",
		"very long":          strings.Repeat("A", 1<<20),
	} {
		o.leadsTo(t, name, malformed, nil)
	}
	_, err := o.ByLink(t.Context(), token)
	wantError(t, "without a database", err, apperr.Unavailable, "database")
	if f := apperr.As(err); f != nil && f.RetryAfter == 0 {
		t.Error("RetryAfter is not set")
	}
}

func TestLinksRespectTheScope(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partnerWithAccounts(t, "harbour-leads"), o.partnerWithAccounts(t, "meadow-media")
	token := o.link(t, p)
	for name, sc := range map[string]scope.Scope{"empty scope": {}, "other partner": scope.Partners(other.ID)} {
		_, err := o.NewLink(t.Context(), sc, p)
		wantError(t, name+": create", err, apperr.NotFound, "partner")
		wantError(t, name+": revoke", o.RevokeLink(t.Context(), sc, p), apperr.NotFound, "partner")
		if link, ok, err := o.Link(t.Context(), sc, p); ok || err != nil || link.Digest != nil {
			t.Errorf("%s: Link() = %+v, %v, want no link", name, link, err)
		}
	}
	o.leadsTo(t, "link", token, &p)
	if _, ok, err := o.Link(t.Context(), scope.Partners(p.ID), p); !ok || err != nil {
		t.Errorf("Link() found no link in the partner's own scope: %v", err)
	}
	_, err := o.NewLink(t.Context(), everyPartner, models.Partner{ID: models.PlatformIDs.Partner})
	wantError(t, "platform partner", err, apperr.NotFound, "partner")
}

func TestConcurrentNewLinks(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partnerWithAccounts(t, "harbour-leads")
	const n = 8
	tokens := make([]string, n)
	if made := succeeded(atOnce(n, func(i int) error {
		link, err := o.NewLink(t.Context(), everyPartner, p)
		tokens[i] = link.Token
		return err
	})); made != n {
		t.Fatalf("%d of %d links were created", made, n)
	}
	live := 0
	for _, token := range tokens {
		if _, err := o.ByLink(t.Context(), token); err == nil {
			live++
		}
	}
	if live != 1 {
		t.Errorf("got %d valid links, want 1", live)
	}
}

// The audit log records links without their tokens.
func TestLinksInTheAuditLog(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partnerWithAccounts(t, "harbour-leads")
	tokens := []string{o.link(t, p), o.link(t, p)}
	wantError(t, "revoking", o.RevokeLink(t.Context(), everyPartner, p), "", "")
	var events []models.AuditEvent
	if err := o.db.Gorm.Where("action LIKE 'link.%'").Order("id").Find(&events).Error; err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range events {
		after := ""
		if e.After != nil {
			after = *e.After
		}
		actions = append(actions, e.Action+" "+after)
		if e.ObjectKind != "partner" || e.ObjectID != id.Format(id.Partner, p.ID) || e.PartnerID == nil || *e.PartnerID != p.ID {
			t.Errorf("got an event for %s %s", e.ObjectKind, e.ObjectID)
		}
		for _, token := range tokens {
			if strings.Contains(after, token) {
				t.Error("the audit log contains a token")
			}
		}
	}
	if got, want := strings.Join(actions, "; "), `link.create {"replaced":false}; link.create {"replaced":true}; link.revoke `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEffectiveMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ account, partner, want models.SigningMode }{
		{models.SigningInherit, models.SigningDefault, models.SigningRequired},
		{models.SigningInherit, models.SigningOff, models.SigningOff},
		{models.SigningReportOnly, models.SigningOff, models.SigningReportOnly},
		{models.SigningReportOnly, models.SigningDefault, models.SigningReportOnly},
	} {
		if got := partners.EffectiveMode(c.account, c.partner, models.SigningRequired); got != c.want {
			t.Errorf("account %s, partner %s: got %s, want %s", c.account, c.partner, got, c.want)
		}
	}
}

func TestByLinkTimesOutIfTheNetworkFails(t *testing.T) {
	t.Parallel()
	db, proxy := testkit.NewDatabaseBehind(t)
	o := partners.NewService(db.DB, testkit.PlatformKeys(t, 1), nil)
	proxy.Down()
	_, err := o.ByLink(t.Context(), strings.Repeat("A", 43))
	wantError(t, "without a network", err, apperr.Unavailable, "database")
}
