package partners_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// leadsTo checks whose page a token shows; nil wants nobody's.
func (o *partnerService) leadsTo(t *testing.T, what, token string, want *models.Partner) {
	t.Helper()
	p, accounts, err := o.ByLink(t.Context(), token)
	if want == nil {
		if isFault(t, what, err, apperr.NotFound, "not_found"); p.ID != uuid.Nil || accounts != nil {
			t.Errorf("%s: shows %v with %d accounts", what, p.ID, len(accounts))
		}
		return
	}
	if isFault(t, what, err, "", ""); p.ID != want.ID || len(accounts) != 2 || accounts[0].Identifier != want.Slug+"-main" {
		t.Errorf("%s: shows %v with %v", what, p.ID, accounts)
	}
}

func (o *partnerService) link(t *testing.T, p models.Partner) string {
	t.Helper()
	link, err := o.NewLink(t.Context(), everybody, p)
	if err != nil || link.PartnerID != p.ID || !link.CreatedAt.Equal(o.clock.Now()) || link.RevokedAt != nil {
		t.Fatalf("made %+v: %v", link, err)
	}
	return link.Token
}

func (o *partnerService) seller(t *testing.T, slug string) models.Partner {
	t.Helper()
	p := o.partner(t, slug)
	o.account(t, p, slug+"-main")
	o.account(t, p, slug+"-second")
	return p
}

func TestLinks(t *testing.T) {
	o := newPartnerService(t)
	p, other := o.seller(t, "harbour-leads"), o.seller(t, "meadow-media")
	if _, ok, err := o.Link(t.Context(), everybody, p); ok || err != nil {
		t.Errorf("a link before one was made: %t, %v", ok, err)
	}
	isFault(t, "revoking none", o.RevokeLink(t.Context(), everybody, p), apperr.NotFound, "link")
	first, others := o.link(t, p), o.link(t, other)
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`).MatchString(first) || first == others {
		t.Errorf("tokens %q, %q", first, others)
	}
	o.leadsTo(t, "the link", first, &p)
	o.leadsTo(t, "the other's", others, &other)

	second := o.link(t, p)
	o.leadsTo(t, "a replaced link", first, nil)
	o.leadsTo(t, "its replacement", second, &p)
	if live, ok, err := o.Link(t.Context(), everybody, p); !live.CreatedAt.Equal(o.clock.Now()) || !ok || err != nil {
		t.Errorf("the live link is of %s, %t: %v", live.CreatedAt, ok, err)
	}
	isFault(t, "suspending", o.SetStatus(t.Context(), everybody, p.ID, models.PartnerSuspended), "", "")
	o.leadsTo(t, "a suspended partner's", second, nil)
	isFault(t, "approving", o.SetStatus(t.Context(), everybody, p.ID, models.PartnerApproved), "", "")
	o.leadsTo(t, "an approved partner's", second, &p)

	isFault(t, "revoking", o.RevokeLink(t.Context(), everybody, p), "", "")
	o.leadsTo(t, "a revoked link", second, nil)
	if _, ok, err := o.Link(t.Context(), everybody, p); ok || err != nil {
		t.Errorf("a link after it was revoked: %t, %v", ok, err)
	}
	isFault(t, "revoking again", o.RevokeLink(t.Context(), everybody, p), apperr.NotFound, "link")
	o.leadsTo(t, "the other's, still", others, &other)
}

// What no link could be is refused before the database is asked: this one is gone.
func TestMalformedTokensCostNoQuery(t *testing.T) {
	o := newPartnerService(t)
	token := o.link(t, o.seller(t, "harbour-leads"))
	o.db.Close()
	for name, malformed := range map[string]string{
		"empty":             "",
		"short":             token[1:],
		"long":              token + "A",
		"a dot":             token[:42] + ".",
		"standard base64":   token[:41] + "+/",
		"padded":            token + "=",
		"a line break":      token[:20] + "\n" + token[21:],
		"a line break more": token + "\n",
		"not canonical":     token[:42] + "B",
		"not ASCII":         token[:41] + "é",
		"very long":         strings.Repeat("A", 1<<20),
	} {
		o.leadsTo(t, name, malformed, nil)
	}
	_, _, err := o.ByLink(t.Context(), token)
	isFault(t, "without a database", err, apperr.Unavailable, "database")
	if f := apperr.As(err); f != nil && f.RetryAfter == 0 {
		t.Error("it does not say when to come back")
	}
}

func TestLinksKeepToTheScope(t *testing.T) {
	o := newPartnerService(t)
	p, other := o.seller(t, "harbour-leads"), o.seller(t, "meadow-media")
	token := o.link(t, p)
	for name, sc := range map[string]scope.Scope{"nobody": {}, "another partner": scope.Partners(other.ID)} {
		_, err := o.NewLink(t.Context(), sc, p)
		isFault(t, name+" makes one", err, apperr.NotFound, "partner")
		isFault(t, name+" revokes it", o.RevokeLink(t.Context(), sc, p), apperr.NotFound, "partner")
		if link, ok, err := o.Link(t.Context(), sc, p); ok || err != nil || link.Digest != nil {
			t.Errorf("%s sees %+v: %v", name, link, err)
		}
	}
	o.leadsTo(t, "the link", token, &p)
	if _, ok, err := o.Link(t.Context(), scope.Partners(p.ID), p); !ok || err != nil {
		t.Errorf("the partner's own scope does not see it: %v", err)
	}
	_, err := o.NewLink(t.Context(), everybody, models.Partner{ID: models.PlatformIDs.Partner})
	isFault(t, "the house", err, apperr.NotFound, "partner")
}

func TestLinksMadeAtOnce(t *testing.T) {
	o := newPartnerService(t)
	p := o.seller(t, "harbour-leads")
	const n = 8
	tokens := make([]string, n)
	if made := succeeded(atOnce(n, func(i int) error {
		link, err := o.NewLink(t.Context(), everybody, p)
		tokens[i] = link.Token
		return err
	})); made != n {
		t.Fatalf("%d of %d were made", made, n)
	}
	live := 0
	for _, token := range tokens {
		if _, _, err := o.ByLink(t.Context(), token); err == nil {
			live++
		}
	}
	if live != 1 {
		t.Errorf("%d links are live, want 1", live)
	}
}

// The audit trail tells of links without their tokens.
func TestLinksInTheAuditTrail(t *testing.T) {
	o := newPartnerService(t)
	p := o.seller(t, "harbour-leads")
	tokens := []string{o.link(t, p), o.link(t, p)}
	isFault(t, "revoking", o.RevokeLink(t.Context(), everybody, p), "", "")
	var events []models.AuditEvent
	if err := o.db.Gorm.Where("action LIKE 'link.%'").Order("id").Find(&events).Error; err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range events {
		after := ""
		if e.After != nil {
			after = *e.After
		}
		told = append(told, e.Action+" "+after)
		if e.ObjectKind != "partner" || e.ObjectID != id.Format(id.Partner, p.ID) || e.PartnerID == nil || *e.PartnerID != p.ID {
			t.Errorf("an event of %s %s", e.ObjectKind, e.ObjectID)
		}
		for _, token := range tokens {
			if strings.Contains(after, token) {
				t.Error("a token is in the audit trail")
			}
		}
	}
	if got, want := strings.Join(told, "; "), `link.create {"replaced":false}; link.create {"replaced":true}; link.revoke `; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

func TestModeInForce(t *testing.T) {
	for _, c := range []struct{ account, partner, want models.SigningMode }{
		{models.SigningInherit, models.SigningDefault, models.SigningRequired},
		{models.SigningInherit, models.SigningOff, models.SigningOff},
		{models.SigningReportOnly, models.SigningOff, models.SigningReportOnly},
		{models.SigningReportOnly, models.SigningDefault, models.SigningReportOnly},
	} {
		if got := partners.EffectiveMode(c.account, c.partner, models.SigningRequired); got != c.want {
			t.Errorf("%s at a partner's %s: %s", c.account, c.partner, got)
		}
	}
}

// A database that does not answer is not waited for without end.
func TestLinkWhileTheNetworkIsGone(t *testing.T) {
	db, proxy := testkit.NewDatabaseBehind(t)
	o := partners.NewService(db.DB, testkit.PlatformKeys(t, 1), nil)
	proxy.Down()
	_, _, err := o.ByLink(t.Context(), strings.Repeat("A", 43))
	isFault(t, "without a network", err, apperr.Unavailable, "database")
}
