package partners_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

func TestSearchAndResolve(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	harbour, search, plomber := o.partner(t, "harbour"), o.partner(t, "harbour-search"), o.partner(t, "plomber")
	for p, name := range map[uuid.UUID]string{harbour.ID: "Harbour Leads", search.ID: "Harbour Search", plomber.ID: "Plömber Łódź"} {
		o.db.Exec(t, `UPDATE partners SET name = $2 WHERE id = $1`, p, name)
	}
	o.account(t, harbour, "Quay.7")
	cafe := o.account(t, plomber, "cafe-main")
	o.db.Exec(t, `UPDATE accounts SET name = 'Café' WHERE id = $1`, cafe.ID)
	o.account(t, search, "main-2")
	mine := scope.Partners(harbour.ID)

	matches := func(sc scope.Scope, text string) string {
		t.Helper()
		found, err := o.Search(t.Context(), sc, text, 10)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		names := make([]string, len(found))
		for i, m := range found {
			if names[i] = m.Slug; m.Account != uuid.Nil {
				names[i] += "/" + m.Identifier
			}
		}
		return strings.Join(names, " ")
	}
	for text, want := range map[string]string{
		"harbour":    "harbour harbour-search", // the complete slug first
		"HARBOUR l":  "harbour",
		"plomb":      "plomber",
		"PLÖMBER lo": "plomber",
		"lodz":       "plomber",
		" quay.7 ":   "harbour/Quay.7",
		"cafe":       "plomber/cafe-main",
		"main":       "harbour-search/main-2 plomber/cafe-main",
		"platform":   "",
		"%":          "",
		"  ":         "",
		"\xff":       "",
		"a\x00":      "",
	} {
		if got := matches(scope.Everywhere, text); got != want {
			t.Errorf("search for %q: got %q, want %q", text, got, want)
		}
	}
	if got := matches(mine, "h"); got != "harbour" {
		t.Errorf("in the scope of one partner: got %q", got)
	}

	for text, want := range map[string]string{
		"harbour":                         "harbour",
		"harbour leads":                   "harbour",
		"harb":                            "? harbour harbour-search",
		"plomber lodz":                    "plomber",
		"quay":                            "harbour",
		id.Format(id.Partner, search.ID):  "harbour-search",
		id.Format(id.Partner, uuid.New()): "!",
		"nobody":                          "!",
		"platform":                        "!",
		"\xff":                            "!",
		strings.ToUpper("harbour-search"): "harbour-search",
		id.Format(id.Account, cafe.ID):    "!",
		id.Format(id.Partner, models.PlatformIDs.Partner): "!",
	} {
		p, candidates, err := o.Resolve(t.Context(), scope.Everywhere, text)
		if got := outcome(p.Slug, candidates, err); got != want {
			t.Errorf("partner %q: got %q, want %q", text, got, want)
		}
	}
	if _, _, err := o.Resolve(t.Context(), mine, "harbour-search"); !isNotFound(err) {
		t.Errorf("another partner's slug: got %v, want not found", err)
	}

	for _, c := range []struct {
		sc         scope.Scope
		partner    uuid.UUID
		text, want string
	}{
		{scope.Everywhere, uuid.Nil, "QUAY.7", "Quay.7"},
		{scope.Everywhere, uuid.Nil, "caf", "cafe-main"},
		{scope.Everywhere, uuid.Nil, "main", "? harbour-search plomber"},
		{scope.Everywhere, plomber.ID, "main", "cafe-main"},
		{scope.Everywhere, uuid.Nil, "platform", "platform"},
		{scope.Everywhere, uuid.Nil, id.Format(id.Account, cafe.ID), "cafe-main"},
		{scope.Everywhere, uuid.Nil, "harbour leads", "!"},
		{scope.Everywhere, search.ID, "Quay.7", "!"},
		{mine, uuid.Nil, "main", "!"},
		{mine, uuid.Nil, "cafe-main", "!"},
		{mine, plomber.ID, "cafe-main", "!"},
		{mine, uuid.Nil, id.Format(id.Account, cafe.ID), "!"},
	} {
		a, candidates, err := o.ResolveAccount(t.Context(), c.sc, c.partner, c.text)
		if got := outcome(a.Identifier, candidates, err); got != c.want {
			t.Errorf("account %q: got %q, want %q", c.text, got, c.want)
		}
	}
}

// outcome describes the result of resolving a text: a name, "?" and the slugs of the candidates, or "!".
func outcome(name string, candidates []partners.Match, err error) string {
	if err != nil {
		return "!"
	}
	for i, m := range candidates {
		if i == 0 {
			name += "?"
		}
		name += " " + m.Slug
	}
	return name
}

func isNotFound(err error) bool {
	f := apperr.As(err)
	return f != nil && f.Code == apperr.NotFound
}
