package partners_test

import (
	"fmt"
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
)

func TestCreate(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, err := o.Create(t.Context(), partners.NewPartner{
		Slug:      " harbour-leads ",
		Name:      " Harbour Leads ",
		LegalName: " Harbour Leads Ltd ",
		Manager:   " jo@example.org ",
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := o.Find(t.Context(), scope.System, "harbour-leads")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []models.Partner{p, found} {
		if p.Slug != "harbour-leads" || p.Name != "Harbour Leads" || p.LegalName != "Harbour Leads Ltd" ||
			p.AccountManager != "jo@example.org" ||
			p.Status != models.PartnerPending || p.SigningMode != models.SigningDefault || !p.SharedBaseURL || p.RowVersion != 1 {
			t.Errorf("created %+v", p)
		}
		if !p.CreatedAt.Equal(o.clock.Now()) || !p.UpdatedAt.Equal(o.clock.Now()) || !id.Time(p.ID).Equal(o.clock.Now()) {
			t.Errorf("created at %s, updated at %s, time in id %s, want %s for all", p.CreatedAt, p.UpdatedAt,
				id.Time(p.ID), o.clock.Now())
		}
	}
}

func TestCreateRejects(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	o.partner(t, "harbour-leads")
	for _, c := range []struct {
		name   string
		new    partners.NewPartner
		code   apperr.Code
		reason string
	}{
		{"a slug similar to one in use", partners.NewPartner{Slug: "harb0ur-leads", Name: "Another"},
			apperr.Conflict, "slug_alike"},
		{"a slug with a Cyrillic letter", partners.NewPartner{
			Slug: "h\u0430rbour-leads",
			Name: "Another",
		}, apperr.Invalid, "slug_form"},
		{"a slug that begins with a hyphen", partners.NewPartner{Slug: "-harbour", Name: "Another"}, apperr.Invalid, "slug_form"},
		{"a manager that is too long", partners.NewPartner{
			Slug:    "another",
			Name:    "Another",
			Manager: strings.Repeat("m", 201),
		}, apperr.Invalid, "text"},
		{"a slug in use", partners.NewPartner{Slug: "harbour-leads", Name: "Another"}, apperr.Conflict, "slug_taken"},
		{"the platform partner's slug", partners.NewPartner{Slug: "platform", Name: "Another"}, apperr.Conflict, "slug_taken"},
		{"no slug, and none for the name", partners.NewPartner{Name: "!"}, apperr.Invalid, "slug_form"},
		{"a slug in upper case", partners.NewPartner{Slug: "Harbour", Name: "Another"}, apperr.Invalid, "slug_form"},
		{"a slug with a slash", partners.NewPartner{Slug: "a/b", Name: "Another"}, apperr.Invalid, "slug_form"},
		{"a slug with 64 characters", partners.NewPartner{
			Slug: strings.Repeat("a", 64),
			Name: "Another",
		}, apperr.Invalid, "slug_form"},
		{"a blank name", partners.NewPartner{Slug: "another", Name: " "}, apperr.Invalid, "name"},
		{"an unknown signing mode", partners.NewPartner{
			Slug:    "another",
			Name:    "Another",
			Signing: "sometimes",
		}, apperr.Invalid, "signing_mode"},
		{"an account's signing mode", partners.NewPartner{
			Slug:    "another",
			Name:    "Another",
			Signing: models.SigningInherit,
		}, apperr.Invalid, "signing_mode"},
		{"a slug with 63 characters", partners.NewPartner{
			Slug:    strings.Repeat("a", 63),
			Name:    "Another",
			Signing: models.SigningReportOnly,
		}, "", ""},
	} {
		_, err := o.Create(t.Context(), c.new)
		wantError(t, c.name, err, c.code, c.reason)
		if f := apperr.As(err); f != nil && (len(f.Fields) != 1 || f.Fields[0].Message != f.Message) {
			t.Errorf("%s: fields %+v", c.name, f.Fields)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	text := id.Format(id.Partner, p.ID)
	for _, by := range []string{"harbour-leads", text, strings.ToLower(text)} {
		for name, sc := range map[string]scope.Scope{
			"the system":  scope.System,
			"the partner": scope.Partners(p.ID),
			"both":        scope.Partners(other.ID, p.ID),
		} {
			if found, err := o.Find(t.Context(), sc, by); err != nil || found.ID != p.ID {
				t.Errorf("%s by %s: %s (%v)", name, by, found.Slug, err)
			}
		}
	}
	// A partner outside the scope gets the same error as an unknown one.
	_, missing := o.Find(t.Context(), scope.System, "no-such-partner")
	wantError(t, "no such partner", missing, apperr.NotFound, "partner")
	for _, sc := range []scope.Scope{scope.Partners(other.ID), scope.Partners(), {}} {
		for _, by := range []string{"harbour-leads", text} {
			if _, err := o.Find(t.Context(), sc, by); err == nil || err.Error() != missing.Error() {
				t.Errorf("out of scope by %s: %v, want %v", by, err, missing)
			}
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	second, first := o.partner(t, "meadow-media"), o.partner(t, "harbour-leads")
	o.account(t, first, "harbour-search")
	o.account(t, first, "harbour-social")
	for range 3 {
		if _, err := o.CreateSecret(t.Context(), scope.System, first, ""); err != nil {
			t.Fatal(err)
		}
	}
	secrets, err := o.Secrets(t.Context(), scope.System, first)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.RevokeSecret(t.Context(), scope.System, first, secrets[0].ID); err != nil {
		t.Fatal(err)
	}
	o.db.Exec(t, `UPDATE signing_secrets SET expires_at = $2 WHERE id = $1`, secrets[1].ID, o.clock.Now()) // expires_at is exclusive
	for _, c := range []struct {
		name  string
		scope scope.Scope
		want  []string
	}{
		{"the system", scope.System, []string{"harbour-leads 2 1", "meadow-media 0 0"}},
		{"one partner", scope.Partners(second.ID), []string{"meadow-media 0 0"}},
		{"platform partner", scope.Partners(models.PlatformIDs.Partner), nil},
		{"empty scope", scope.Scope{}, nil},
		{"unknown partner", scope.Partners(uuid.New()), nil},
	} {
		summaries, err := o.List(t.Context(), c.scope)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range summaries {
			got = append(got, fmt.Sprint(s.Slug, " ", s.Accounts, " ", s.ActiveSecrets))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSetStatus(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	find := func() models.Partner {
		t.Helper()
		found, err := o.Find(t.Context(), scope.System, p.Slug)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	o.clock.Advance(time.Hour)
	wantError(t, "out of scope", o.SetStatus(t.Context(), scope.Partners(other.ID), p.ID, models.PartnerApproved),
		apperr.NotFound, "partner")
	wantError(t, "unknown", o.SetStatus(t.Context(), scope.System, uuid.New(), models.PartnerApproved), apperr.NotFound, "partner")
	if err := o.SetStatus(t.Context(), scope.System, p.ID, "expired"); err == nil {
		t.Error("SetStatus accepted an unknown status")
	}
	if now := find(); now.Status != models.PartnerPending || now.RowVersion != 1 || !now.UpdatedAt.Equal(testkit.StartTime()) {
		t.Errorf("after rejected changes: got %s, version %d, updated at %s", now.Status, now.RowVersion, now.UpdatedAt)
	}
	for i, to := range []models.PartnerStatus{models.PartnerApproved, models.PartnerSuspended, models.PartnerApproved} {
		wantError(t, string(to), o.SetStatus(t.Context(), scope.Partners(p.ID), p.ID, to), "", "")
		if now := find(); now.Status != to || now.RowVersion != i+2 || !now.UpdatedAt.Equal(o.clock.Now()) {
			t.Errorf("%s: got %s, version %d, updated at %s", to, now.Status, now.RowVersion, now.UpdatedAt)
		}
	}
}

// ByIDs returns the partners in the scope. It includes the platform partner if the scope is unlimited.
func TestByIDs(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	var ids []uuid.UUID
	for _, slug := range []string{"harbour-leads", "meadow-media", "zeta"} {
		p, err := o.Create(t.Context(), partners.NewPartner{Slug: slug, Name: slug})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	asked := []uuid.UUID{ids[0], ids[1], models.PlatformIDs.Partner, uuid.New()}
	all, err := o.ByIDs(t.Context(), scope.Everywhere, asked)
	if err != nil || len(all) != 3 || all[ids[1]].Slug != "meadow-media" || all[models.PlatformIDs.Partner].Slug != "platform" {
		t.Errorf("%v, %v", all, err)
	}
	found, err := o.ByIDs(t.Context(), scope.Partners(ids[0], ids[2]), asked)
	if err != nil || len(found) != 1 || found[ids[0]].Slug != "harbour-leads" {
		t.Errorf("%v, %v", found, err)
	}
}
