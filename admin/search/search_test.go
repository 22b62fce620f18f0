package search_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

func TestJump(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	person, mine := h.StaffID(models.Auditor), h.AddPartner(t, "mine")
	for q, want := range map[string]string{
		person:                              "/staff/" + person,
		" " + strings.ToLower(person) + " ": "/staff/" + person,
		id.Format(id.Partner, mine):         web.PartnerURL(mine),
	} {
		if p := b.Get(t, "/jump?q="+url.QueryEscape(q)); p.Location() != want {
			t.Errorf("%q: got %d to %q, want %q", q, p.Status, p.Location(), want)
		}
	}
	for _, q := range []string{"x", "st_", "pt_00000000000000000000000001",
		"ld_00000000000000000000000001", "rc_00000000000000000000000001", "rq_00000000000000000000000001",
		"//evil", "<script>alert(1)</script>", strings.Repeat("y", 9000)} {
		if p := b.Get(t, "/jump?q="+url.QueryEscape(q)); p.Status != http.StatusNotFound ||
			strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%.30q: got %d", q, p.Status)
		}
	}
	// The id of a rate card redirects to the draft, or to the version if it has been published.
	draft, err := h.Options.Prices.CreateDraft(t.Context(), "Spring", 0)
	if err != nil {
		t.Fatal(err)
	}
	published, err := h.Options.Prices.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pricing, manager := h.SignedInAs(t, models.PricingManager), h.SignedInAs(t, models.AccountManager)
	for card, want := range map[string]string{
		ratecard.ID(draft.ID):                      web.DraftURL(draft.ID),
		strings.ToLower(ratecard.ID(published.ID)): "/pricing/versions/1",
	} {
		for _, b := range []*admintest.Client{pricing, manager} {
			if p := b.Get(t, "/jump?q="+card); p.Location() != want {
				t.Errorf("%s: got %d to %q, want %q", card, p.Status, p.Location(), want)
			}
		}
	}
	// For a user without access to an object's page and events, the object seems not to exist.
	if p := b.Get(t, "/jump?q="+ratecard.ID(draft.ID)); p.Status != http.StatusNotFound {
		t.Errorf("user without pricing.read: got %d to %q", p.Status, p.Location())
	}
	revoked := id.New(h.Time.Now())
	e := audit.Event{Action: "secret.revoke", Kind: "secret", Object: id.Format(id.Secret, revoked), Partner: mine}
	if err := h.Options.Audit.LogDone(t.Context(), audit.Actor{Name: "ada@example.com"}, e); err != nil {
		t.Fatal(err)
	}
	if p := b.Get(t, "/jump?q="+e.Object); p.Location() != "/audit?object="+e.Object {
		t.Errorf("an object with events, but without a page: got %d to %q", p.Status, p.Location())
	}
	if p := h.SignedInAs(t, models.Finance).Get(t, "/jump?q="+person); p.Status == http.StatusSeeOther &&
		strings.HasPrefix(p.Location(), "/staff") {
		t.Error("finance is redirected to a page that finance cannot see")
	}
}

// TestSearchByName checks that the search finds the partners, accounts, users and pages that the user may open.
func TestSearchByName(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	quay, other := h.AddPartner(t, "quay-leads"), h.AddPartner(t, "quay-search")
	h.Exec(t, `UPDATE partners SET name = 'Plömber' WHERE id = $1`, quay)
	row, err := h.Options.Partners.Find(t.Context(), scope.Everywhere, "quay-leads")
	if err == nil {
		_, err = h.Options.Partners.CreateAccount(t.Context(), scope.Everywhere, row,
			partners.NewAccount{Identifier: "Harbour.Main"})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.AddStaff(t, "scoped@example.com", models.StaffRole{Role: models.AccountManager, PartnerID: &quay})
	h.Reload(t)
	scoped := h.NewClient(t)
	scoped.SignIn(t, "scoped@example.com")
	administrator, finance := h.SignedInAs(t, models.Administrator), h.SignedInAs(t, models.Finance)
	post := func(b *admintest.Client, text string) admintest.Response {
		t.Helper()
		p := b.Post(t, "/jump", url.Values{"q": {text}})
		if strings.Contains(p.Location(), "q=") {
			t.Errorf("%q: the text is in the URL %s", text, p.Location())
		}
		return p
	}
	for _, c := range []struct {
		by         *admintest.Client
		text, want string // URL, or kinds of results, or state of the page
	}{
		{administrator, "plom", web.PartnerURL(quay)},
		{administrator, "quay-search", web.PartnerURL(other)},
		{administrator, " harbour.m ", web.PartnerURL(quay) + "?tab=accounts"},
		{administrator, "quay", "Partner Partner"},
		{administrator, h.People[models.Auditor].Email, web.StaffURL(h.People[models.Auditor].ID)},
		{administrator, "invite", "/staff/invite"},
		{administrator, "payout runs", "name"},
		{administrator, "nobody", "name"},
		{administrator, "ld_nothing", "denied"},
		{administrator, "tx_nothing", "denied"},
		{administrator, "pt_nothing", "id"},
		{finance, "ld_nothing", "id"},
		{finance, "tx_nothing", "token"},
		{finance, "payout runs", "/payouts/runs"},
		{finance, "balances", "/payouts/balances"},
		{finance, "invite", "name"},
		{finance, h.People[models.Auditor].Name, "name"},
		{scoped, "quay", web.PartnerURL(quay)},
		{scoped, "quay-search", "name"},
	} {
		p := post(c.by, c.text)
		got := p.Location()
		if got == "" {
			got = strings.Join(p.Values("data-result"), " ") + strings.Join(p.Values("data-search-state"), "")
		}
		if got != c.want {
			t.Errorf("%q: got status %d and %q, want %q", c.text, p.Status, got, c.want)
		}
	}
	suggest := func(b *admintest.Client, kind, text string) string {
		t.Helper()
		p := b.Send(t, http.MethodPost, "/suggest/"+kind, strings.NewReader(url.Values{"field": {text}}.Encode()),
			http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Hx-Trigger-Name": {"field"}})
		return strings.Join(p.Values("value"), "|")
	}
	for _, c := range []struct {
		by               *admintest.Client
		kind, text, want string
	}{
		{administrator, "partners", "quay", "quay-leads|quay-search"},
		{administrator, "partners", "harbour", "quay-leads"},
		{administrator, "partners", "quay-search, plom", "quay-search, quay-leads"},
		{administrator, "accounts", "main", "Harbour.Main"},
		{administrator, "all", "plom", "quay-leads"},
		{finance, "all", "payout run", "Payout runs|New payout run"},
		{scoped, "partners", "quay", "quay-leads"},
		{h.SignedInAs(t, models.Privacy), "partners", "plom", "quay-leads"}, // may read leads
		{administrator, "all", "", ""},
	} {
		if got := suggest(c.by, c.kind, c.text); got != c.want {
			t.Errorf("suggestions of %s for %q: got %q, want %q", c.kind, c.text, got, c.want)
		}
	}
}

// TestPagesOpen checks that users can open each page that the search offers them, and that its title is the one
// that they search for.
func TestPagesOpen(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	mine := h.AddPartner(t, "mine")
	clients := map[string]*admintest.Client{}
	for _, role := range models.Roles {
		clients[string(role)] = h.SignedInAs(t, role)
		if role != models.Administrator {
			email := "one-" + string(role) + "@example.com"
			h.AddStaff(t, email, models.StaffRole{Role: role, PartnerID: &mine})
			h.Reload(t)
			clients[email] = h.NewClient(t)
			clients[email].SignIn(t, email)
		}
	}
	opened := map[string]bool{}
	for name, b := range clients {
		for _, r := range admin.Routes(h.Options) {
			if r.Page == "" {
				continue
			}
			p := b.Post(t, "/jump", url.Values{"q": {r.Page}})
			path := strings.TrimSuffix(r.Path, "{$}")
			if p.Location() != path {
				continue // the user may not open it
			}
			opened[path] = true
			if p := b.Get(t, path); p.Status != http.StatusOK || !strings.Contains(p.Body, "<h1>"+r.Page+"</h1>") {
				t.Errorf("%s: %s: got status %d, want a page with the title %q", name, path, p.Status, r.Page)
			}
		}
	}
	if len(opened) < 20 {
		t.Errorf("opened only %d pages", len(opened))
	}
}
