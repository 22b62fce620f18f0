package audit_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

func TestAuditPages(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Auditor)
	for range 120 {
		if err := h.Options.Audit.LogDone(t.Context(), audit.Operator, audit.Event{Action: "partner.status", Kind: "partner", Object: "pt_1", After: map[string]any{"note": "<script>alert(1)</script>"}}); err != nil {
			t.Fatal(err)
		}
	}
	p := b.Get(t, "/audit?action=partner.")
	if p.Status != http.StatusOK || strings.Contains(p.Body, "<script>alert") || p.Total(t) != 120 {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	seen := statusChanges(p)
	for range 2 {
		older := p.Link("next")
		if !strings.HasPrefix(older, "/audit?action=partner.&after=") {
			t.Fatalf("the link to older events is %q", older)
		}
		p = b.Get(t, older)
		seen += statusChanges(p)
	}
	if seen != 120 || p.Link("next") != "" {
		t.Errorf("got %d events on three pages, want 120", seen)
	}
	for query, want := range map[string]int{
		"outcome=rejected":                    0,
		"object=pt_1&kind=partner":            50,
		"person=the+command+line":             50,
		"person=COMMAND":                      50,
		"person=%25":                          0,
		"person=eve+tan":                      1,
		"person=auditor%40":                   1,
		"person=%00":                          0,
		"from=2026-01-02&to=2026-01-02":       50,
		"to=2026-01-01":                       0,
		"from=tomorrow":                       0,
		"after=x":                             50,
		"after=-5":                            50,
		"action=" + strings.Repeat("x", 4000): 0,
	} {
		p := b.Get(t, "/audit?"+query)
		if got := len(p.Values("data-action")); p.Status != http.StatusOK || got != want {
			t.Errorf("%.60s: got %d with %d events, want %d", query, p.Status, got, want)
		}
	}
	if p := b.Post(t, "/audit/verify", nil); p.Status != http.StatusOK ||
		!slices.Equal(p.Values("data-broken-at"), []string{"0"}) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	h.Exec(t, `ALTER TABLE audit_events DISABLE TRIGGER USER`)
	h.Exec(t, `UPDATE audit_events SET actor = 'eve' WHERE id = 7`)
	if p := b.Post(t, "/audit/verify", nil); p.Status != http.StatusOK ||
		!slices.Equal(p.Values("data-broken-at"), []string{"7"}) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
}

// TestAuditSearch checks that the search text does not appear in any URL, and that the filters still apply.
func TestAuditSearch(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Auditor)
	for i := range 120 {
		e := audit.Event{Action: "partner.status", Kind: "partner", Object: "pt_1", Reason: "asked by Canary"}
		if i == 0 {
			e.Action = "partner.approve"
		}
		if err := h.Options.Audit.LogDone(t.Context(), audit.Operator, e); err != nil {
			t.Fatal(err)
		}
	}
	cafe := h.AddPartner(t, "cafe-grossmann")
	h.Exec(t, `UPDATE partners SET name = 'Café Großmann' WHERE id = $1`, cafe)
	named := testkit.Value[int](t, h.Database, `SELECT count(*) FROM audit_events WHERE partner_id = $1`, cafe)
	// The auditor's address is in two events, because it was recorded both when the user was created and when the user
	// signed in.
	for text, want := range map[string]int{
		"PT_1": 50, "partner.app": 1, "auditor@": 2, "canary": 50, "script": 0, "a\x00": 0, "CAFE": named, "großmann": named,
	} {
		p := b.Post(t, "/audit/find", url.Values{"text": {text}})
		if got := len(p.Values("data-action")); p.Status != http.StatusOK || got != want {
			t.Errorf("%q: got %d with %d events, want %d", text, p.Status, got, want)
		}
	}
	form := url.Values{"text": {"asked by Canary"}}
	p := b.Post(t, "/audit/find?action=partner.status", form)
	seen := len(p.Values("data-action"))
	for range 2 {
		older := p.Link("next")
		if !strings.HasPrefix(older, "/audit/find?action=partner.status&after=") || strings.Contains(older, "anary") {
			t.Fatalf("the form for older events is sent to %q", older)
		}
		p = b.Post(t, older, form)
		seen += len(p.Values("data-action"))
	}
	if seen != 119 || p.Link("next") != "" || p.Link("prev") == "" || p.Total(t) != 119 {
		t.Errorf("got %d events on three pages, want 119", seen)
	}
	if link := regexp.MustCompile(`(href|action|hx-get)="[^"]*[Cc]anary`).FindString(p.Body); link != "" {
		t.Errorf("a URL contains the text: %s", link)
	}
	if !strings.Contains(p.Body, `action="/audit.csv?action=partner.status"`) {
		t.Error("the page has no form for the CSV file")
	}
	file := b.Post(t, "/audit.csv?action=partner.approve", form)
	if n := strings.Count(file.Body, "asked by Canary"); file.Status != http.StatusOK || n != 1 {
		t.Errorf("the export: got %d with %d events, want 1", file.Status, n)
	}
	if n := h.Count(t, "audit_events", "action = 'audit.export' AND after->>'text' = 'true' AND after::text NOT LIKE '%anary%'"); n != 1 {
		t.Errorf("got %d audit events about the export, want 1", n)
	}
	if p := b.Post(t, "/audit/find?action=partner.", url.Values{"text": {" "}}); p.Location() != "/audit?action=partner." {
		t.Errorf("without a text: got %d to %s", p.Status, p.Location())
	}
	if p := h.NewClient(t).Post(t, "/audit/find", form); !strings.HasPrefix(p.Location(), "/login") || strings.Contains(p.Location(), "anary") {
		t.Errorf("signed out: got %d to %s", p.Status, p.Location())
	}
}

// statusChanges counts the status changes of partners on a page.
func statusChanges(p admintest.Response) (n int) {
	for _, action := range p.Values("data-action") {
		if action == "partner.status" {
			n++
		}
	}
	return n
}

// TestAuditShowsReadableAreas checks that the log shows each role only events about areas that the role may open,
// on all pages with events and in the export.
func TestAuditShowsReadableAreas(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	harbour, other := h.AddPartner(t, "harbour"), h.AddPartner(t, "other")
	h.AddStaff(t, "limited@example.com", models.StaffRole{Role: models.Finance, PartnerID: &harbour})
	h.Reload(t)
	log := func(action, kind string, partner uuid.UUID) {
		t.Helper()
		e := audit.Event{Action: action, Kind: kind, Object: "ob_1", Partner: partner, After: map[string]any{"total": 100339601}}
		by := audit.Actor{Name: "test@example.com", Address: "192.0.2.77"}
		if err := h.Options.Audit.LogDone(t.Context(), by, e); err != nil {
			t.Fatal(err)
		}
	}
	log("payout_run.prepared", "payout_run", uuid.Nil)
	log("ledger.adjust", "adjustment", harbour)
	log("return.accept", "return", other)
	log("privacy_request.export", "privacy_request", uuid.Nil)
	log("partner.prices", "partner", harbour)
	log("partner.status", "partner", harbour)
	log("lead.reveal", "lead", harbour)
	log("lead.export", "lead", harbour)
	log("lead.download", "lead", harbour)
	log("hold.place", "lead", harbour)
	log("staff.roles", "staff", uuid.Nil)
	log("keys.rewrap", "keys", uuid.Nil)
	log("future.action", "future", uuid.Nil)
	everything := []string{
		"future.action", "hold.place", "keys.rewrap", "lead.download", "lead.export", "lead.reveal", "ledger.adjust", "partner.prices",
		"partner.status", "payout_run.prepared", "privacy_request.export", "return.accept", "staff.roles",
	}
	for user, want := range map[string][]string{
		"auditor@example.com":         everything,
		"administrator@example.com":   {"future.action", "keys.rewrap", "partner.status", "staff.roles"},
		"account_manager@example.com": {"lead.reveal", "partner.prices", "partner.status"},
		"pricing_manager@example.com": {"lead.reveal", "partner.prices", "partner.status"},
		"finance@example.com":         {"lead.reveal", "ledger.adjust", "partner.status", "payout_run.prepared", "return.accept"},
		"limited@example.com":         {"lead.reveal", "ledger.adjust", "partner.status"},
	} {
		b := admintest.SignedInAt(t, h.URL, user)
		shown := func(p admintest.Response) (actions []string) {
			for _, action := range p.Values("data-action") {
				if slices.Contains(everything, action) {
					actions = append(actions, action)
				}
			}
			slices.Sort(actions)
			return actions
		}
		p := b.Get(t, "/audit?person=test%40")
		if got := shown(p); !slices.Equal(got, want) || p.Total(t) != len(want) {
			t.Errorf("%s sees %v of %d, want %v", user, got, p.Total(t), want)
		}
		if hidden := slices.Contains(p.Codes(), "events_hidden"); hidden == (user == "auditor@example.com") {
			t.Errorf("%s: the page says that events are hidden: %t", user, hidden)
		}
		mayReadStaff := user == "auditor@example.com" || user == "administrator@example.com"
		if strings.Contains(p.Body, "192.0.2.77") != mayReadStaff {
			t.Errorf("%s sees IP addresses: %t", user, !mayReadStaff)
		}
		var ofPartner []string
		for _, action := range want {
			if slices.Contains([]string{"hold.place", "lead.download", "lead.export", "lead.reveal", "ledger.adjust", "partner.prices", "partner.status"}, action) {
				ofPartner = append(ofPartner, action)
			}
		}
		p = b.Get(t, "/partners/"+id.Format(id.Partner, harbour)+"?tab=audit")
		if got := shown(p); !slices.Equal(got, ofPartner) {
			t.Errorf("%s sees %v on the partner's page, want %v", user, got, ofPartner)
		}
		file := b.Get(t, "/audit.csv?person=test%40")
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file.Body, "\ufeff"))).ReadAll()
		if err != nil || file.Status != http.StatusOK || len(rows) == 0 {
			t.Fatalf("%s exports: %d, %v", user, file.Status, err)
		}
		var exported []string
		for _, row := range rows[1:] {
			exported = append(exported, row[4])
		}
		if slices.Sort(exported); !slices.Equal(exported, want) || strings.Contains(file.Body, "192.0.2.77") != mayReadStaff {
			t.Errorf("%s exports %v, want %v", user, exported, want)
		}
		if n := h.Count(t, "audit_events", "action = 'audit.export' AND actor = $1 AND after->>'person' = 'true'", user); n != 1 {
			t.Errorf("%s: got %d audit events about the export, want 1", user, n)
		}
	}
	b := h.SignedInAs(t, models.Auditor)
	if p := b.Get(t, "/audit?action=payout_run."); !strings.Contains(p.Body, "100339601") {
		t.Errorf("a large amount is not shown in full: %s", p.Text())
	}
	if p := b.Get(t, "/audit.csv?from=tomorrow"); p.Status != http.StatusUnprocessableEntity {
		t.Errorf("an export with an invalid filter: got %d", p.Status)
	}
	h.CheckAuditLog(t)
}

// TestAuditRows checks the link and the name of objects, and the old and new values.
func TestAuditRows(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	harbour, at := h.AddPartner(t, "harbour"), h.Options.Clock.Now()
	partner, staff := id.Format(id.Partner, harbour), h.StaffID(models.Finance)
	card := h.AddFullDraft(t)
	lead, account, secret := id.Format(id.Lead, id.New(at)), id.Format(id.Account, id.New(at)), id.Format(id.Secret, id.New(at))
	after := map[string]any{"mode": "required", "kept": "", "fact": "new"}
	for _, e := range []audit.Event{
		{Kind: "partner", Object: partner, Partner: harbour, Before: map[string]any{"mode": "off", "kept": ""}, After: after},
		{Kind: "account", Object: account, Partner: harbour},
		{Kind: "secret", Object: secret, Partner: harbour},
		{Kind: "lead", Object: lead, Partner: harbour},
		{Kind: "adjustment", Object: "ad_1", Partner: harbour},
		{Kind: "rate_card", Object: id.Format(id.RateCard, card.ID)},
		{Kind: "staff", Object: staff},
	} {
		e.Action = "test." + e.Kind
		if err := h.Options.Audit.LogDone(t.Context(), audit.Operator, e); err != nil {
			t.Fatal(err)
		}
	}
	p := h.SignedInAs(t, models.Auditor).Get(t, "/audit?action=test.")
	for _, link := range []string{
		"/partners/" + partner, "/partners/" + partner + "?tab=accounts", "/partners/" + partner + "?tab=secrets", "/leads/" + lead,
		"/payouts/adjustments/ad_1", "/pricing/drafts/" + id.Format(id.RateCard, card.ID), "/staff/" + staff,
	} {
		if !strings.Contains(p.Body, `href="`+link+`"`) {
			t.Errorf("no link to %s", link)
		}
	}
	for _, name := range []string{">harbour<", ">" + card.Title + "<", "finance@example.com"} {
		if !strings.Contains(p.Body, name) {
			t.Errorf("the names do not include %s", name)
		}
	}
	if !strings.Contains(p.Body, ">mode: off → required<") || strings.Contains(p.Body, "→ new") {
		t.Error("the old and new values are not shown")
	}
	p = h.SignedInAs(t, models.AccountManager).Get(t, "/audit?action=test.partner")
	if path := "/partners/" + partner; !strings.Contains(p.Body, `href="`+path+`"`) || strings.Contains(p.Body, "/staff/") {
		t.Error("the account manager's links are wrong")
	}
}

// TestAreasOfKinds checks that each kind of object in the filter has an area.
func TestAreasOfKinds(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	p := h.SignedInAs(t, models.Auditor).Get(t, "/audit")
	_, options, _ := strings.Cut(p.Body, `name="kind"`)
	options, _, _ = strings.Cut(options, "</select>")
	kinds := 0
	for _, option := range strings.Split(options, `<option value="`)[1:] {
		if kind, _, _ := strings.Cut(option, `"`); kind != "" && kind != "keys" && kind != "platform" {
			if kinds++; audit.AreaOf(kind, "") == audit.Unknown {
				t.Errorf("%s has no area", kind)
			}
		}
	}
	if kinds < 15 {
		t.Errorf("found only %d kinds", kinds)
	}
}
