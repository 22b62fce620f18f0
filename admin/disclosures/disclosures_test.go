package disclosures_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const list = "/privacy/disclosures"

// privacyOf returns a client of a user with the role privacy for one partner.
func privacyOf(t *testing.T, c *admintest.ConsoleWithLeads, by admintest.Seller) *admintest.Client {
	t.Helper()
	email := by.Slug + "-privacy@example.com"
	c.AddStaff(t, email, models.StaffRole{Role: models.Privacy, PartnerID: &by.ID})
	c.Reload(t)
	b := c.NewClient(t)
	b.SignIn(t, email)
	return b
}

func idIn(page string) string { return strings.TrimPrefix(page, list+"/") }

func TestDisclosureList(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLeads(t)
	b, auditor := c.SignedInAs(t, models.Privacy), c.SignedInAs(t, models.Auditor)
	harbour, other := privacyOf(t, c, c.Harbour), privacyOf(t, c, c.Other)
	for _, query := range []string{"", "?kind=standard", "?kind=replaced", "?kind=unknown", "?before=x&after=y"} {
		if p := b.Get(t, list+query); p.Status != http.StatusOK || !slices.Equal(p.Values("data-empty"), []string{"none"}) {
			t.Errorf("%s: got %d: %s", query, p.Status, p.Text())
		}
	}
	for _, role := range []models.Role{models.Finance, models.Administrator, models.AccountManager, models.PricingManager} {
		c.SignedInAs(t, role).Get(t, list).Expect(t, string(role), http.StatusForbidden)
	}

	_, first := c.AddLeadWithText(t, c.Harbour, "I, Jo Bloggs,\n agree to <b>"+strings.Repeat("a lot ", 100))
	c.AddLeadWithText(t, c.Other, "I, Jo Bloggs,\n agree to <b>"+strings.Repeat("a lot ", 100))
	_, blank := c.AddLeadWithText(t, c.Other, " \n")
	p := b.Get(t, list)
	if got := p.Values("data-disclosure"); !slices.Equal(got, []string{idIn(blank), idIn(first)}) {
		t.Errorf("got %q: %s", got, p.Text())
	}
	p.Expect(t, "the list", http.StatusOK, "I, Jo Bloggs, agree to &lt;b&gt;a lot", "…", "2 leads", `data-state="original"`, ">"+idIn(blank)+"<", c.Harbour.Name)
	if got := auditor.Get(t, list).Values("data-disclosure"); len(got) != 2 {
		t.Errorf("auditor: got %q", got)
	}
	for name, v := range map[string]struct {
		user *admintest.Client
		want string
	}{"harbour": {harbour, first}, "other": {other, blank}} {
		if p := v.user.Get(t, list); !slices.Equal(p.Values("data-disclosure"), []string{idIn(v.want)}) || strings.Contains(p.Body, "2 leads") {
			t.Errorf("%s: got %s", name, p.Text())
		}
	}
	c.Exec(t, `UPDATE disclosures SET standard = true WHERE partner_id = $1`, c.Harbour.ID)
	for query, want := range map[string][]string{"": {idIn(blank)}, "?kind=standard": {idIn(first)}, "?kind=replaced": nil} {
		if got := b.Get(t, list+query).Values("data-disclosure"); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}

	c.Time.Advance(time.Minute)
	c.Exec(t, `INSERT INTO disclosures (digest, text, partner_id, first_used_at) SELECT sha256(n::text::bytea), n, $1, $2 FROM generate_series(1, 50) n`, c.Other.ID, c.Time.Now())
	p = b.Get(t, list)
	shown, next := p.Values("data-disclosure"), p.Link("next")
	if p = b.Get(t, next); len(shown) != 50 || next == "" || !slices.Equal(p.Values("data-disclosure"), []string{idIn(blank)}) {
		t.Errorf("second page: got %s", p.Text())
	}
	if p = b.Get(t, p.Link("prev")); !slices.Equal(p.Values("data-disclosure"), shown) {
		t.Errorf("first page: got %s", p.Text())
	}
	c.CheckAuditLog(t)
}

func TestDisclosurePage(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLeads(t)
	b, auditor := c.SignedInAs(t, models.Privacy), c.SignedInAs(t, models.Auditor)
	harbour, other := privacyOf(t, c, c.Harbour), privacyOf(t, c, c.Other)
	const text = "I, Jo Bloggs,\n\tagree."
	mine, page := c.AddLeadWithText(t, c.Harbour, text)
	theirs, _ := c.AddLeadWithText(t, c.Other, text)
	both := []string{"/leads/" + admintest.LeadIDOf(theirs), "/leads/" + admintest.LeadIDOf(mine)}

	p := b.Get(t, page)
	p.Expect(t, "the page", http.StatusOK, `data-text>`+text+"</pre>", `data-leads="2 leads"`, page+"/replace", both[0], both[1], c.Other.Name,
		testkit.Value[string](t, c.Database, `SELECT encode(sha256($1), 'hex')`, []byte(text)))
	if p := auditor.Get(t, page); p.Status != http.StatusOK || strings.Contains(p.Body, page+"/replace") {
		t.Errorf("auditor: got %d: %s", p.Status, p.Text())
	}
	if p := harbour.Get(t, page); p.Status != http.StatusOK || !strings.Contains(p.Body, both[1]) || strings.Contains(p.Body, both[0]) || strings.Contains(p.Body, c.Other.Name) ||
		!strings.Contains(p.Body, `data-leads="1 lead"`) || strings.Contains(p.Body, page+"/replace") {
		t.Errorf("user for one partner: got %d: %s", p.Status, p.Text())
	}
	for name, path := range map[string]string{"page": page, "form": page + "/replace", "no such text": list + "/" + id.Format(id.Disclosure, c.Harbour.ID), "not an ID": list + "/x"} {
		other.Get(t, path).Expect(t, name, http.StatusNotFound)
	}
	for v, found := range map[*admintest.Client]bool{b: true, harbour: true, other: false, c.SignedInAs(t, models.Finance): false} {
		if p := v.Get(t, "/jump?q="+idIn(page)); (p.Location() == page) != found {
			t.Errorf("search: got %d to %q, want found: %t", p.Status, p.Location(), found)
		}
	}

	// The lead's page links to the text if the user may see it.
	for v, linked := range map[*admintest.Client]bool{b: true, auditor: true, other: false, c.SignedInAs(t, models.Finance): false} {
		if p := v.Get(t, both[0]); p.Status != http.StatusOK || strings.Contains(p.Body, page) != linked || !strings.Contains(p.Body, "agree.") {
			t.Errorf("the lead's page: got %d, want a link: %t: %s", p.Status, linked, p.Text())
		}
	}

	c.Exec(t, `INSERT INTO disclosure_uses SELECT $1::uuid, digest FROM disclosures ON CONFLICT DO NOTHING`, mine.ID)
	c.Exec(t, `UPDATE disclosures SET standard = true`)
	if p := b.Get(t, page); p.Status != http.StatusOK || strings.Contains(p.Body, both[0]) || !strings.Contains(p.Body, page+"/replace") {
		t.Errorf("standard: got %d: %s", p.Status, p.Text())
	}
}

func TestReplaceDisclosure(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLeads(t)
	b, auditor, harbour, other := c.SignedInAs(t, models.Privacy), c.SignedInAs(t, models.Auditor), privacyOf(t, c, c.Harbour), privacyOf(t, c, c.Other)
	c.AddStaff(t, "ann@example.com", models.StaffRole{Role: models.Privacy})
	c.Reload(t)
	ann := c.NewClient(t)
	ann.SignIn(t, "ann@example.com")
	lead, page := c.AddLeadWithText(t, c.Harbour, "\nI, Jo Bloggs, agree.")
	at := page + "/replace"
	form := b.Get(t, at)
	form.Expect(t, "the form", http.StatusOK, `name="proof"`, ">\n\nI, Jo Bloggs, agree.</textarea>", "1 lead")
	version := admintest.VersionAt(t, form)
	send := func(v *admintest.Client, version, text, note, proof string) admintest.Response {
		t.Helper()
		return v.Post(t, at, url.Values{"version": {version}, "text": {text}, "note": {note}, "proof": {proof}})
	}
	stored := func() string { return testkit.Value[string](t, c.Database, `SELECT text FROM disclosures`) }

	for name, p := range map[string]admintest.Response{
		"wrong password": send(b, version, "New text", "case 7", "wrong"),
		"no text":        send(b, version, "\r\n", "case 7", admintest.Password),
		"long text":      send(b, version, strings.Repeat("x", 10_001), "case 7", admintest.Password),
		"U+0000":         send(b, version, "a\x00", "case 7", admintest.Password),
		"same text":      send(b, version, "\r\nI, Jo Bloggs, agree.", "case 7", admintest.Password),
		"no note":        send(b, version, "New text", " ", admintest.Password),
	} {
		if p.Status != http.StatusUnprocessableEntity || len(p.Errors()) == 0 || admintest.VersionAt(t, p) != version || strings.Contains(p.Body, admintest.Password) {
			t.Errorf("%s: got %d: %s", name, p.Status, p.Text())
		}
	}
	send(auditor, version, "New text", "case 7", admintest.Password).Expect(t, "auditor", http.StatusForbidden)
	auditor.Get(t, at).Expect(t, "auditor opens the form", http.StatusForbidden)
	for name, v := range map[string]*admintest.Client{"the partner": harbour, "another partner": other} {
		send(v, version, "New text", "case 7", admintest.Password).Expect(t, "user for "+name, http.StatusNotFound)
		v.Get(t, at).Expect(t, "form for user for "+name, http.StatusNotFound)
	}
	if stored() != "\nI, Jo Bloggs, agree." {
		t.Fatalf("got %q", stored())
	}

	if p := b.Post(t, "/leads/"+admintest.LeadIDOf(lead)+"/hold", url.Values{"person": {"no"}, "reason": {"case 7"}}); p.Status != http.StatusSeeOther {
		t.Fatalf("got %d: %s", p.Status, p.Text())
	}
	if p := send(b, version, "New text", "case 7", admintest.Password); p.Status != http.StatusConflict || !slices.Equal(p.Codes(), []string{"legal_hold"}) || admintest.VersionAt(t, p) != version || !strings.Contains(p.Body, "New text") {
		t.Errorf("legal hold: got %d: %s", p.Status, p.Text())
	}
	hold := testkit.Value[uuid.UUID](t, c.Database, `SELECT id FROM legal_holds`)
	if p := b.Post(t, "/leads/"+admintest.LeadIDOf(lead)+"/release", url.Values{"hold": {id.Format(id.Hold, hold)}, "proof": {admintest.Password}}); p.Status != http.StatusSeeOther {
		t.Fatalf("got %d: %s", p.Status, p.Text())
	}

	if p := send(ann, version, "I, [name], agree.\r\nAlways.", "case 7", admintest.Password); p.Status != http.StatusSeeOther || p.Location() != page || stored() != "I, [name], agree.\nAlways." {
		t.Fatalf("got %d to %q, stored %q: %s", p.Status, p.Location(), stored(), p.Text())
	}
	b.Get(t, page).Expect(t, "the page", http.StatusOK, `data-state="replaced"`, "ann@example.com", "I, [name], agree.\nAlways.")
	if got := b.Get(t, list+"?kind=replaced").Values("data-disclosure"); !slices.Equal(got, []string{idIn(page)}) {
		t.Errorf("got %q", got)
	}
	for _, role := range []models.Role{models.Finance, models.Privacy} {
		if p := c.SignedInAs(t, role).Get(t, "/leads/"+admintest.LeadIDOf(lead)); len(p.Values("data-replaced")) != 1 || !strings.Contains(p.Body, "[name]") {
			t.Errorf("the lead's page for %s: %s", role, p.Text())
		}
	}

	// Another user opened the form before. The entries are not lost, and can be submitted again.
	p := send(b, version, "My <text>", "case 8", admintest.Password)
	p.Expect(t, "conflict", http.StatusConflict, `data-conflict="changed"`, "My &lt;text&gt;", "case 8", "data-text>I, [name], agree.", "ann@example.com")
	if now := admintest.VersionAt(t, p); now == version || stored() != "I, [name], agree.\nAlways." {
		t.Errorf("got version %s, stored %q", now, stored())
	} else if p := send(b, now, "My <text>", "case 8", admintest.Password); p.Status != http.StatusSeeOther || stored() != "My <text>" {
		t.Errorf("got %d, stored %q", p.Status, stored())
	}
	p = auditor.Get(t, "/audit?action=disclosures.")
	p.Expect(t, "the audit log", http.StatusOK, "case 7", "case 8", `href="`+page+`"`)
	for _, text := range []string{"Bloggs", "[name]", "My "} {
		if strings.Contains(p.Body, text) {
			t.Errorf("the audit log contains %q", text)
		}
	}
	c.CheckAuditLog(t)
}
