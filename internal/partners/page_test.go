package partners_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// insertFigures inserts the figures of a partner.
func (o *partnerService) insertFigures(t *testing.T, p models.Partner, leads int64, payouts string, seen *time.Time) {
	t.Helper()
	o.db.Exec(t, `INSERT INTO partner_figures VALUES ($1, $2, $3, $4)`, p.ID, leads, payouts, seen)
}

func (o *partnerService) page(t *testing.T, sc scope.Scope, q partners.Query) (page partners.Page, slugs string) {
	t.Helper()
	if q.Page.Size == 0 {
		q.Page.Size = 100
	}
	page, err := o.Page(t.Context(), sc, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	for _, r := range page.Rows {
		slugs += r.Slug
	}
	return page, slugs
}

func TestPageShowsPartnersWithTheirFigures(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	a, b := o.partner(t, "a"), o.partner(t, "b")
	seen := testkit.StartTime().Truncate(time.Minute)
	o.insertFigures(t, a, 3, `[{"currency": "EUR", "minor": 1}, {"currency": "GBP", "minor": 4560}]`, &seen)
	o.db.Exec(t, `UPDATE partner_figures SET posts = 36, rejected_posts = 30, rejected_before = 11 WHERE partner_id = $1`,
		a.ID)
	o.db.Exec(t,
		`INSERT INTO partner_figures_state (added_until, whole_before) VALUES ($1::timestamptz, $1::timestamptz)`,
		testkit.StartTime())

	page, slugs := o.page(t, scope.System, partners.Query{Sort: "name"})
	if slugs != "ab" || page.Count != 2 || page.More || page.Newer != "" || page.Older != "" ||
		!page.AsOf.Equal(testkit.StartTime()) {
		t.Fatalf("%s: %+v", slugs, page)
	}
	payouts := []money.Amount{{Minor: 1, Currency: money.EUR}, {Minor: 4560, Currency: money.GBP}}
	if r := page.Rows[0]; r.ID != a.ID || r.Status != models.PartnerPending || r.Leads != 3 ||
		!slices.Equal(r.Payouts, payouts) || r.Posts != (partners.PostFigures{36, 30, 11}) || r.Posts.Change() != 28 ||
		!r.LastTraffic.Equal(seen) {
		t.Errorf("a is %+v", r)
	}
	if r := page.Rows[1]; r.ID != b.ID || r.Leads != 0 || r.Payouts != nil || !r.LastTraffic.IsZero() {
		t.Errorf("b is %+v", r)
	}
}

// Partners without posts come last when the list is sorted by the share of accepted posts.
func TestPageSortsByRejectedPosts(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	for i, posts := range [][2]int{{100, 30}, {36, 29}, {0, 0}, {5, 1}} {
		p := o.partner(t, string(rune('a'+i)))
		o.db.Exec(t, `INSERT INTO partner_figures (partner_id, leads, payouts, posts, rejected_posts) VALUES ($1, 0, '[]', $2, $3)`,
			p.ID, posts[0], posts[1])
	}
	o.partner(t, "e") // has no figures yet
	for sort, want := range map[string]string{"-rejected": "abd", "accepted": "bad", "-accepted": "dab"} {
		first, slugs := o.page(t, scope.System, partners.Query{Sort: sort, Page: postgres.Page[string]{Size: 2}})
		_, two := o.page(t, scope.System, partners.Query{Sort: sort, Page: postgres.Page[string]{After: first.Older}})
		if !strings.HasPrefix(slugs+two, want) || len(slugs+two) != 5 {
			t.Errorf("sorted by %s: %s, then %s, want %s, then the other two", sort, slugs, two, want)
		}
	}
}

func TestPageSortsByPayout(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	for i, payouts := range []string{
		`[{"currency": "GBP", "minor": 900}, {"currency": "EUR", "minor": 1}]`,
		`[{"currency": "EUR", "minor": 10000}]`,
		`[{"currency": "GBP", "minor": 1000}]`,
		`[]`,
	} {
		o.insertFigures(t, o.partner(t, string(rune('a'+i))), 1, payouts, nil)
		o.clock.Advance(time.Second) // so that partners without payouts are in the order of their creation
	}
	o.partner(t, "e") // has no figures yet
	for sort, want := range map[string]string{"payout": "debac", "-payout": "cabed"} {
		first, slugs := o.page(t, scope.System, partners.Query{Sort: sort, Page: postgres.Page[string]{Size: 3}})
		if _, two := o.page(t, scope.System, partners.Query{Sort: sort, Page: postgres.Page[string]{After: first.Older}}); slugs+two != want {
			t.Errorf("sorted by %s: %s, then %s, want %s", sort, slugs, two, want)
		}
	}
}

func TestPageFilters(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	for i, slug := range []string{"a", "b", "c", "d"} {
		p := o.partner(t, slug)
		o.db.Exec(t, `UPDATE partners SET name = $2, legal_name = $3, account_manager = $4, signing_mode = $5, status = $6 WHERE id = $1`, p.ID,
			[]string{"Northgate", "100% Leads", "Ärzte_Netz", `Back\slash`}[i],
			[]string{"Holding One", "", "", "Holding Two"}[i],
			[]string{"ada", "ada", "bob", ""}[i], []string{"off", "required", "default", "off"}[i], []string{"approved", "approved", "pending", "suspended"}[i])
		if slug == "b" {
			o.account(t, p, "AFF-77")
			o.account(t, p, "AFF-78")
		}
	}
	a, b := find(t, o, "a"), find(t, o, "b")
	account, err := o.Accounts(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sc   scope.Scope
		q    partners.Query
		want string
	}{
		"no filter":               {scope.System, partners.Query{}, "abcd"},
		"part of a name":          {scope.System, partners.Query{Search: "rthGA"}, "a"},
		"not ASCII":               {scope.System, partners.Query{Search: "äRZ"}, "c"},
		"outer spaces":            {scope.System, partners.Query{Search: "  north "}, "a"},
		"a legal name":            {scope.System, partners.Query{Search: "holding"}, "ad"},
		"a slug":                  {scope.System, partners.Query{Search: "d"}, "abd"}, // Holding, Leads
		"an account's identifier": {scope.System, partners.Query{Search: "aff-7"}, "b"},
		"a percent sign":          {scope.System, partners.Query{Search: "%"}, "b"},
		"an underscore":           {scope.System, partners.Query{Search: "_"}, "c"},
		"a backslash":             {scope.System, partners.Query{Search: `\`}, "d"},
		"no match":                {scope.System, partners.Query{Search: "no such"}, ""},
		"platform partner":        {scope.System, partners.Query{Search: "platform"}, ""},
		"NUL":                     {scope.System, partners.Query{Search: "a\x00"}, ""},
		"not UTF-8":               {scope.System, partners.Query{Manager: "\xff"}, ""},
		"a partner's id":          {scope.System, partners.Query{Search: strings.ToLower(id.Format(id.Partner, a.ID))}, "a"},
		"an account's id":         {scope.System, partners.Query{Search: id.Format(id.Account, account[0].ID)}, "b"},
		"an unknown id":           {scope.System, partners.Query{Search: id.Format(id.Account, uuid.New())}, ""},
		"platform partner's id": {
			scope.System, partners.Query{Search: id.Format(id.Partner, models.PlatformIDs.Partner)}, "",
		},
		"a status":          {scope.System, partners.Query{Status: "approved"}, "ab"},
		"an unknown status": {scope.System, partners.Query{Status: "nothing"}, ""},
		"a manager":         {scope.System, partners.Query{Manager: "ada"}, "ab"},
		"a signing mode":    {scope.System, partners.Query{Signing: "off"}, "ad"},
		"all filters": {scope.System, partners.Query{
			Search:  "o",
			Status:  "approved",
			Manager: "ada",
			Signing: "off",
		}, "a"},
		"within the scope":          {scope.Partners(a.ID), partners.Query{}, "a"},
		"outside the scope":         {scope.Partners(a.ID), partners.Query{Search: "AFF-77"}, ""},
		"outside the scope, by id":  {scope.Partners(a.ID), partners.Query{Search: id.Format(id.Account, account[0].ID)}, ""},
		"empty scope":               {scope.Scope{}, partners.Query{}, ""},
		"platform partner in scope": {scope.Partners(models.PlatformIDs.Partner), partners.Query{}, ""},
	} {
		page, slugs := o.page(t, c.sc, c.q)
		found := strings.Split(slugs, "")
		slices.Sort(found)
		if got := strings.Join(found, ""); got != c.want || page.Count != int64(len(c.want)) {
			t.Errorf("%s: %q, counted %d, want %q", name, got, page.Count, c.want)
		}
	}
	for sc, want := range map[*scope.Scope]string{
		new(scope.System):         "ada bob",
		new(scope.Partners(a.ID)): "ada",
		new(scope.Scope{}):        "",
	} {
		if got, err := o.Managers(t.Context(), *sc); err != nil || strings.Join(got, " ") != want {
			t.Errorf("managers %v (%v), want %q", got, err, want)
		}
	}
}

func find(t *testing.T, o *partnerService, slug string) models.Partner {
	t.Helper()
	p, err := o.Find(t.Context(), scope.System, slug)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In each order, paging forwards and backwards returns every partner once, even if several have the
// same key.
func TestPageByPage(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	for i := range 10 {
		slug := string(rune('a' + i))
		p := o.partner(t, slug)
		o.clock.Advance(time.Second)
		o.db.Exec(t, `UPDATE partners SET name = $2 WHERE id = $1`, p.ID, []string{"Same", "same", slug}[i%3])
		if i%4 > 0 {
			seen := testkit.StartTime().Truncate(time.Minute).Add(time.Duration(i/5) * time.Minute)
			o.insertFigures(t, p, int64(i/3), `[]`, &seen)
		}
	}
	for sort, whole := range map[string]string{
		"":       "jihgfedcba",
		"name":   "cfiabdeghj",
		"-name":  "jhgedbaifc",
		"leads":  "abceidfghj",
		"-leads": "jhgfdiecba",
		"seen":   "aeibcdfghj",
		"-seen":  "jhgfdcbiea",
		"junk":   "jihgfedcba",
	} {
		q := partners.Query{Sort: sort, Page: postgres.Page[string]{Size: 3}}
		var pages []string
		var last partners.Page
		for {
			page, slugs := o.page(t, scope.System, q)
			if page.Count != 10 {
				t.Errorf("sorted by %q: counted %d", sort, page.Count)
			}
			pages, last = append(pages, slugs), page
			if q.Page.After = page.Older; page.Older == "" {
				break
			}
		}
		if got := strings.Join(pages, ""); got != whole || len(pages) != 4 {
			t.Errorf("sorted by %q: %s in %d pages, want %s", sort, got, len(pages), whole)
		}
		q.Page.After = ""
		for i := len(pages) - 2; i >= 0; i-- {
			if q.Page.Before = last.Newer; q.Page.Before == "" {
				t.Fatalf("sorted by %q: no cursor to page %d", sort, i)
			}
			page, slugs := o.page(t, scope.System, q)
			if slugs != pages[i] || page.Older == "" || (page.Newer == "") != (i == 0) {
				t.Errorf("sorted by %q, back to page %d: %q, want %q; newer %q, older %q", sort, i, slugs, pages[i],
					page.Newer, page.Older)
			}
			last = page
		}
		for _, foreign := range []string{
			"junk", "bnVsbA", last.Older + "A", strings.ToUpper(last.Older), forged("other", "1"),
			forged(strings.TrimPrefix(sort, "-"), "\x00"),
		} {
			if _, slugs := o.page(t, scope.System, partners.Query{Sort: sort, Page: postgres.Page[string]{Size: 3, After: foreign}}); slugs != whole[:3] {
				t.Errorf("sorted by %q after %q: %q, want the first page", sort, foreign, slugs)
			}
		}
	}
}

func forged(sort, key string) string {
	text, _ := json.Marshal([]string{sort, key, uuid.NewString()})
	return base64.RawURLEncoding.EncodeToString(text)
}
