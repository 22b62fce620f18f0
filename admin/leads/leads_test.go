package leads_test

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	leadpages "github.com/pingpost/pingpost/admin/leads"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

func TestLeadsList(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	first := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	trial := s.AddLead(t, s.Harbour, admintest.SamContact,
		func(l *models.Lead) { l.AccountID, l.Sandbox = s.Harbour.Trial.ID, true })
	others := s.AddLead(t, s.Other, admintest.SamContact, func(l *models.Lead) {
		l.Industry, l.Country, l.PartnerReference, l.SubID = "roofer", "DE", "click-<7>", "mail"
	})
	b := s.SignedInAs(t, models.Finance)
	all := map[string]models.Lead{"first": first, "trial": trial, "others": others}
	for query, want := range map[string]string{
		"":                      "first trial others",
		"partner=harbour-leads": "first trial",
		"partner=" + id.Format(id.Partner, s.Other.ID): "others",
		"account=harbour-leads-trial":                  "trial",
		"partner=Harbour-LEADS":                        "first trial",
		"partner=harb":                                 "first trial",
		"account=TRIAL&partner=harb":                   "trial",
		"industry=roofer":                              "others",
		"country=de":                                   "others",
		"country=uk":                                   "first trial",
		"country=Deutschland":                          "",
		"country=germany":                              "others",
		"state=sandbox":                                "trial",
		"reference=click-%3C7%3E":                      "others",
		"reference=click":                              "",
		"sub_id=+mail":                                 "others",
		"sub_id=mail&partner=harbour-leads":            "",
		"state=delivered":                              "first others",
		"state=returned":                               "",
		"industry=zebra":                               "",
		"from=2026-01-02&to=2026-01-02":                "first trial others",
		"from=2026-01-03":                              "",
		"to=2026-01-01":                                "",
		"partner=harbour-leads&account=meadow-media-main": "",
		"state=nonsense":   "",
		"partner=unknown":  "",
		"account=unknown":  "",
		"from=yesterday":   "",
		"before=x&after=y": "first trial others",
		"partner=%00":      "",
	} {
		p := b.Get(t, "/leads?"+query)
		got := ""
		for _, name := range []string{"first", "trial", "others"} {
			if strings.Contains(p.Body, admintest.LeadIDOf(all[name])) {
				got = strings.TrimSpace(got + " " + name)
			}
		}
		if p.Status != http.StatusOK || got != want {
			t.Errorf("%s: got status %d and leads %q, want %q: %s", query, p.Status, got, want, p.Text())
		}
		empty := "filtered"
		if len(p.Codes()) > 0 {
			empty = "invalid"
		}
		if want == "" && query != "" && !slices.Equal(p.Values("data-empty"), []string{empty}) {
			t.Errorf("%s: the page does not say why no lead is listed", query)
		}
		admintest.ExpectNoPersonalData(t, query, p.Body)
	}
	b.Get(t, "/leads?partner=harbour-leads").Expect(t, "totals", http.StatusOK, "data-sums", "2 leads",
		`href="/leads.csv?partner=harbour-leads"`)
	file := b.Get(t, "/leads.csv")
	if lines := strings.Count(file.Body, "\n"); file.Status != http.StatusOK || lines != 4 || !strings.Contains(file.Body, ",45.60,GBP,") ||
		strings.Contains(file.Body, "click-") || strings.Contains(file.Body, first.TransactionID) {
		t.Errorf("export: got status %d and %d lines: %s", file.Status, lines, file.Body)
	}
	admintest.ExpectNoPersonalData(t, "the export", file.Body)
	b.Get(t, "/leads.csv?partner=unknown").Expect(t, "export with an unknown partner", http.StatusUnprocessableEntity)
	b.Get(t, "/leads.csv?reference=click-%3C7%3E").Expect(t, "export of a reference", http.StatusOK, admintest.LeadIDOf(others))
	if n := s.Count(t, "audit_events", `action = 'leads.export' AND role = 'finance' AND after::text NOT LIKE '%click-%'`); n != 2 {
		t.Errorf("got %d events of exports, want 2", n)
	}
	s.SignedInAs(t, models.PricingManager).Get(t, "/leads.csv").Expect(t, "export without permission", http.StatusForbidden)
	for query, want := range map[string]string{
		"partner=unknown":               "no_partner",
		"account=unknown":               "no_account",
		"partner=ea":                    "several_partners", // Harbour-leads, Meadow-media
		"from=yesterday":                "date",
		"from=2026-01-03&to=2026-01-02": "date",
		"country=Germny":                "country",
		"country=any+other+country":     "country",
		"country=%00":                   "country",
	} {
		if p := b.Get(t, "/leads?"+query); !slices.Equal(p.Codes(), []string{want}) {
			t.Errorf("%s: want a notice with code %s: %s", query, want, p.Text())
		}
	}
	for _, path := range []string{"/leads", web.LeadURL(others.ID)} {
		b.Get(t, path).Expect(t, path, http.StatusOK, "click-&lt;7&gt;", "mail")
	}
	if p := b.Get(t, web.PartnerURL(s.Harbour.ID)); !strings.Contains(p.Body, `href="/leads?partner=`+s.Harbour.Slug+`"`) {
		t.Error("the partner's page does not link to its leads")
	}
	if p := admintest.NewConsoleWithLeads(t).SignedInAs(t, models.Finance).Get(t, "/leads"); !slices.Equal(p.Values("data-empty"), []string{"none"}) {
		t.Errorf("without leads: want an empty state: %s", p.Text())
	}
}

func TestLeadsPages(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	for range leadpages.LeadsPage + 2 {
		s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	}
	b := s.SignedInAs(t, models.Finance)
	older := b.Get(t, "/leads?state=delivered").Link("next")
	p := b.Get(t, older)
	if n := strings.Count(p.Body, `data-copy="ld_`); n != 2 || !strings.Contains(older, "state=delivered") {
		t.Fatalf("%s: got %d leads, want 2: %s", older, n, p.Text())
	}
	newer := p.Link("prev")
	if p := b.Get(t, newer); strings.Count(p.Body, `data-copy="ld_`) != leadpages.LeadsPage {
		t.Errorf("%s: want a full page: %s", newer, p.Text())
	}
}

func TestLeadPage(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	lead := s.AddLead(t, s.Harbour, admintest.JoContact, func(l *models.Lead) { l.PhoneFlagged = true })
	mispriced := s.AddLead(t, s.Harbour, admintest.SamContact, func(l *models.Lead) { l.PriceMinor++ })
	page := "/leads/" + admintest.LeadIDOf(lead)
	secret := testkit.Value[string](t, s.Database,
		`SELECT prefix || '…' || last_four FROM signing_secrets WHERE id = $1`, lead.SecretID)
	always := []string{admintest.LeadIDOf(lead), lead.TransactionID, "harbour-leads-main", "45.60",
		`data-event="posted"`, "“live”", secret, "rq_1", "I agree to be called about my request.", "local",
		`data-bytes="16"`, `data-contact="sealed"`, `data-state="phone_flagged"`}
	noSteps, entries, back := `data-steps="0"`, `id="money"`, "/payouts/returns/new?lead="+admintest.LeadIDOf(lead)
	for role, c := range map[models.Role]struct{ has, lacks []string }{
		models.Finance:        {[]string{entries, back, `data-run="none"`, noSteps}, nil},
		models.Auditor:        {[]string{entries}, []string{back, noSteps}},
		models.AccountManager: {[]string{"<span class=\"main\">Base price</span>", `href="/pricing/versions/1"`}, []string{entries, back, noSteps}},
		models.PricingManager: {nil, []string{entries, back, noSteps, "/leads/find"}},
	} {
		p := s.SignedInAs(t, role).Get(t, page)
		if p.Status != http.StatusOK {
			t.Fatalf("%s: got status %d: %s", role, p.Status, p.Text())
		}
		for _, want := range append(c.has, always...) {
			if !strings.Contains(p.Body, want) {
				t.Errorf("%s: the page does not contain %q", role, want)
			}
		}
		for _, not := range append(c.lacks, "data-differs") {
			if strings.Contains(p.Body, not) {
				t.Errorf("%s: the page contains %q", role, not)
			}
		}
		admintest.ExpectNoPersonalData(t, string(role), p.Body)
	}
	// The page uses the pricing at the time of the quote.
	s.Time.Advance(time.Minute)
	if err := s.Options.Partners.SetPricing(t.Context(), scope.System, s.Harbour.ID, 0,
		partners.PriceForm{Adjustment: "5"}, s.Options.Prices.Taxonomy()); err != nil {
		t.Fatal(err)
	}
	b := s.SignedInAs(t, models.Auditor)
	if p := b.Get(t, page); strings.Contains(p.Body, "data-differs") || !strings.Contains(p.Body, "Base price") {
		t.Errorf("after a change: %s", p.Text())
	}
	if p := b.Get(t, web.LeadURL(mispriced.ID)); !strings.Contains(p.Body, "data-differs") {
		t.Errorf("the page does not report that the pricing of the quote is unknown: %s", p.Text())
	}
}

// The page shows the time of consent as sent, and whether it may be wrong.
func TestLeadPageMarksDoubtfulConsentTimes(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	lead := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	root := testkit.Connect(t, s.RootURL)
	if _, err := root.Exec(t.Context(), `SET session_replication_role = replica`); err != nil { // consents cannot be changed
		t.Fatal(err)
	}
	b := s.SignedInAs(t, models.Auditor)
	const withoutOffset, implausible = `data-state="consent_time_without_offset"`, `data-state="consent_time_implausible"`
	for _, c := range []struct {
		text, at  any
		has, lack []string
	}{
		{nil, nil, nil, []string{withoutOffset, implausible, "Sent as"}},
		{nil, lead.QuotedAt, nil, []string{withoutOffset, implausible, "Sent as"}},
		{"20260102T0304+01", lead.QuotedAt, []string{"Sent as 20260102T0304+01"}, []string{withoutOffset, implausible}},
		{"2026-01-02T03:04", nil, []string{withoutOffset, "2026-01-02T03:04"}, []string{implausible, "Sent as"}},
		{"1999-01-02T03:04Z", time.Date(1999, 1, 2, 3, 4, 0, 0, time.UTC), []string{implausible, "Sent as 1999"}, []string{withoutOffset}},
		{nil, lead.QuotedAt.Add(24*time.Hour + time.Second), []string{implausible}, []string{withoutOffset, "Sent as"}},
	} {
		if _, err := root.Exec(t.Context(), `UPDATE consents SET acknowledged_text = $1, acknowledged_at = $2 WHERE lead_id = $3`, c.text, c.at, lead.ID); err != nil {
			t.Fatal(err)
		}
		p := b.Get(t, "/leads/"+admintest.LeadIDOf(lead))
		for _, want := range c.has {
			if !strings.Contains(p.Body, want) {
				t.Errorf("%v, %v: the page does not contain %q", c.text, c.at, want)
			}
		}
		for _, not := range c.lack {
			if strings.Contains(p.Body, not) {
				t.Errorf("%v, %v: the page contains %q", c.text, c.at, not)
			}
		}
	}
}

func TestLeadPageShowsReturnsAndErasure(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	lead := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	trial := s.AddLead(t, s.Harbour, admintest.SamContact,
		func(l *models.Lead) { l.AccountID, l.Sandbox = s.Harbour.Trial.ID, true })
	b := s.SignedInAs(t, models.Finance)
	expect := func(l models.Lead, wants ...string) {
		t.Helper()
		p := b.Get(t, web.LeadURL(l.ID))
		for _, want := range wants {
			not := strings.HasPrefix(want, "!")
			if strings.Contains(p.Body, strings.TrimPrefix(want, "!")) == not {
				t.Errorf("want %s: %s", want, p.Text())
			}
		}
	}
	const returnForm, returned = "/payouts/returns/new?lead=", `data-state="returned"`
	expect(trial, `data-state="sandbox"`, `data-empty="sandbox"`, "!"+returnForm)
	r, err := s.Options.Payouts.RequestReturn(t.Context(), scope.Everywhere, lead.ID, models.Fraud,
		"No one with this name lives there.")
	if err != nil {
		t.Fatal(err)
	}
	expect(lead, "!"+returnForm, "/payouts/returns/"+id.Format(id.Return, r.ID), `data-state="open"`, `data-reason="fraud"`, "!"+returned)
	if err := s.Options.Payouts.AcceptReturn(t.Context(), scope.Everywhere, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	expect(lead, returned, `data-event="returned" data-reason="fraud"`, "−45.60", "!"+returnForm)
	s.Exec(t,
		`WITH gone AS (DELETE FROM lead_keys WHERE lead_id = $1) UPDATE leads SET state = 'erased', ciphertext = NULL, iv = NULL, auth_tag = NULL, email_digest = NULL, phone_digest = NULL WHERE id = $1`,
		lead.ID)
	expect(lead, `data-contact="erased"`, `data-state="erased"`, `data-bytes="0"`, "I agree to be called about my request.")
	late := s.AddLead(t, s.Harbour, admintest.SamContact, nil)
	expect(late, returnForm)
	s.Exec(t, `DELETE FROM lead_keys WHERE lead_id = $1`, late.ID) // the keys were not restored from a backup
	expect(late, returnForm, `data-contact="key_missing"`, "!/reveal?", "!erased")
	s.Time.Advance(s.Options.Payouts.Policy().ReturnWindow + time.Second)
	b = s.SignedInAs(t, models.Finance)
	expect(late, "!"+returnForm)
}

// A user who is limited to one partner sees no leads of other partners.
func TestLeadsScope(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	own, others := s.AddLead(t, s.Harbour, admintest.JoContact, nil), s.AddLead(t, s.Other, admintest.JoContact, nil)
	s.AddStaff(t, "own@example.com", models.StaffRole{Role: models.Finance, PartnerID: &s.Harbour.ID})
	s.Reload(t)
	b := s.NewClient(t)
	b.SignIn(t, "own@example.com")
	absent, theirs := b.Get(t, web.LeadURL(uuid.New())), b.Get(t, web.LeadURL(others.ID))
	if absent.Status != http.StatusNotFound || theirs.Status != http.StatusNotFound ||
		!bytes.Equal([]byte(absent.Body), []byte(theirs.Body)) {
		t.Errorf("got status %d for an unknown lead and %d for another partner's, want the same 404 page", absent.Status, theirs.Status)
	}
	for what, p := range map[string]admintest.Response{
		"the list":                  b.Get(t, "/leads"),
		"another partner's list":    b.Get(t, "/leads?partner=meadow-media"),
		"another partner's account": b.Get(t, "/leads?account=meadow-media-main"),
		"a jump":                    b.Get(t, "/jump?q="+others.TransactionID),
		"a search by id":            b.Post(t, "/leads/find", url.Values{"q": {others.TransactionID}}),
	} {
		if strings.Contains(p.Body, admintest.LeadIDOf(others)) ||
			strings.Contains(p.Location(), admintest.LeadIDOf(others)) || strings.Contains(p.Body, "Meadow-media") {
			t.Errorf("%s shows another partner's lead: got status %d: %s", what, p.Status, p.Text())
		}
	}
	if p := b.Post(t, "/leads/find", url.Values{"q": {"jo.bloggs@example.com"}}); p.Location() != web.LeadURL(own.ID) {
		t.Errorf("a search by email: got status %d and location %q", p.Status, p.Location())
	}
}

// The lead's page shows how long the post took for as long as the post is in the request log.
func TestLeadShowsDuration(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	request, err := id.Parse(id.Request, testkit.Value[string](t, b.Database, `SELECT detail->>'request_id' FROM lead_events WHERE kind = 'delivered'`))
	if err != nil {
		t.Fatal(err)
	}
	b.Exec(t, `DELETE FROM post_durations`)
	if p := b.Get(t, "/leads/"+lead); p.Status != http.StatusOK || strings.Contains(p.Body, "12.3 ms") {
		t.Errorf("unknown: got %d: %s", p.Status, p.Text())
	}
	b.Exec(t, `INSERT INTO post_durations VALUES ($1, 12300)`, request)
	b.Get(t, "/leads/"+lead).Expect(t, "known", http.StatusOK,
		`data-copy="`+id.Format(id.Request, request)+`"`, "Took 12.3 ms")
}
