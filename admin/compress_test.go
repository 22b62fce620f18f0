package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := h.AddSellingPartner(t)
	h.AddMonthOfTraffic(t)
	draft := web.DraftURL(h.AddFullDraft(t).ID)
	b := h.SignedInEverywhere(t)
	for _, path := range []string{
		"/", "/partners", partner, partner + "?tab=traffic", partner + "/onboarding", "/pricing", "/pricing/compare", draft, draft + "?tab=preview",
		"/leads", "/payouts", "/payouts/runs", "/reconciliation", "/audit", "/staff", "/account", "/no-such-page",
	} {
		plain := b.Send(t, http.MethodGet, path, nil, http.Header{"Accept-Encoding": {"identity"}})
		if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "Accept-Encoding" ||
			!strings.HasSuffix(strings.TrimSpace(plain.Body), "</html>") {
			t.Errorf("%s for a client without gzip: got %v", path, plain.Header)
		}
		p := b.RequestCompressed(t, http.MethodGet, path, nil)
		if p.Status != plain.Status || p.Header.Get("Content-Encoding") != "gzip" ||
			p.Header.Get("Vary") != "Accept-Encoding" || p.Header.Get("Content-Type") != plain.Header.Get("Content-Type") {
			t.Errorf("%s: %d %v", path, p.Status, p.Header)
			continue
		}
		if text := p.Decompressed(t); len(text) != len(plain.Body) || 2*len(p.Body) > len(text) {
			t.Errorf("%s: got %d bytes that decompress to %d, want a page of %d", path, len(p.Body), len(text), len(plain.Body))
		}
		t.Logf("%s: %d bytes, %d compressed", path, len(plain.Body), len(p.Body))
		if head := b.RequestCompressed(t, http.MethodHead, path, nil); head.Status != p.Status || head.Body != "" ||
			head.Header.Get("Vary") != "Accept-Encoding" || head.Header.Get("Content-Type") != p.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d, %d bytes, %v", path, head.Status, len(head.Body), head.Header)
		}
	}
	for _, accepts := range []string{"gzip;q=0", "*;q=0", "br", ""} {
		if p := b.Send(t, http.MethodGet, "/staff", nil, http.Header{"Accept-Encoding": {accepts}}); p.Header.Get("Content-Encoding") != "" || !strings.Contains(p.Body, "</html>") {
			t.Errorf("Accept-Encoding %q: got %v", accepts, p.Header)
		}
	}
	if p := b.RequestCompressed(t, http.MethodGet, assetPath(h, t), nil); p.Header.Get("Content-Encoding") != "gzip" ||
		!strings.Contains(p.Decompressed(t), "{") {
		t.Errorf("style sheet: got %v", p.Header)
	}
}

// TestUncompressedResponses checks that redirects, files and small fragments are not compressed.
func TestUncompressedResponses(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	export := c.Post(t, "/payouts/exports", url.Values{"currency": {"GBP"}}).Location()
	prices := c.Console.SignedInAs(t, models.PricingManager)
	if p := c.RequestCompressed(t, http.MethodGet, export+"/live", nil); p.Header.Get("Content-Encoding") != "gzip" ||
		!strings.Contains(p.Decompressed(t), export) {
		t.Errorf("fragment of %d bytes: got %v", len(p.Body), p.Header)
	}
	for name, p := range map[string]admintest.Response{
		"a small fragment": prices.RequestCompressed(t, http.MethodGet, web.DraftURL(c.AddFullDraft(t).ID)+"/replay/live", nil),
		"a file":           c.RequestCompressed(t, http.MethodGet, "/payouts/ledger.csv", nil),
		"a rate card":      prices.RequestCompressed(t, http.MethodGet, "/pricing/versions/1/export?format=yaml", nil),
		"a redirect":       c.Console.NewClient(t).RequestCompressed(t, http.MethodGet, "/staff", nil),
	} {
		if p.Header.Get("Content-Encoding") != "" || p.Status >= http.StatusBadRequest {
			t.Errorf("%s: %d, %d bytes, %v", name, p.Status, len(p.Body), p.Header)
		}
	}
}

// TestPagesOpenedByOtherSitesAreNotCompressed prevents an attack: another site can open a page with any text
// in its address, and the size of the compressed response would reveal other text on the page.
func TestPagesOpenedByOtherSitesAreNotCompressed(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Auditor)
	for site, want := range map[string]string{
		"":            "gzip",
		"none":        "gzip",
		"same-origin": "gzip",
		"same-site":   "",
		"cross-site":  "",
		"hostile":     "",
	} {
		header := http.Header{"Accept-Encoding": {"gzip"}}
		if site != "" {
			header.Set("Sec-Fetch-Site", site)
		}
		p := b.Send(t, http.MethodGet, "/staff?q=guess", nil, header)
		if p.Status != http.StatusOK || p.Header.Get("Content-Encoding") != want {
			t.Errorf("%q: %d %v", site, p.Status, p.Header)
		}
	}
}

// TestSecretsAreNotCompressed checks that responses with secrets are not compressed, so that their size does
// not reveal the secret.
func TestSecretsAreNotCompressed(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := web.PartnerURL(h.AddPartner(t, "harbour-leads"))
	b := h.SignedInEverywhere(t)
	shown := func(name, marker string, p admintest.Response) admintest.Response {
		t.Helper()
		if p.Status >= http.StatusInternalServerError || p.Header.Get("Content-Encoding") != "" ||
			!strings.Contains(p.Body, marker) {
			t.Errorf("%s: %d %v %s", name, p.Status, p.Header, p.Text())
		}
		return p
	}
	shown("a new secret", "once-secret", b.RequestCompressed(t, http.MethodPost, partner+"/secrets/new", url.Values{"label": {"first"}}))
	shown("a rotated secret", "once-secret",
		b.RequestCompressed(t, http.MethodPost, partner+"/secrets/rotate", url.Values{"label": {"second"}, "overlap": {"24h"}}))
	shown("a documentation link", "http://api.example/partner/", b.RequestCompressed(t, http.MethodPost, partner+"/link", nil))
	shown("an invitation", "/invite/", b.RequestCompressed(t, http.MethodPost, "/staff/invite", url.Values{
		"name":  {"New Person"},
		"email": {"new@example.com"},
		"role":  {"auditor"},
	}))
	invited := web.StaffURL(testkit.Value[uuid.UUID](t, h.Database, `SELECT id FROM staff WHERE email = 'new@example.com'`))
	shown("another invitation", "/invite/", b.RequestCompressed(t, http.MethodPost, invited+"/invite", nil))
	enrol := shown("a second factor", "data:image/png", b.RequestCompressed(t, http.MethodGet, "/account/second-factor", nil))
	seed := admintest.SecretText.FindStringSubmatch(enrol.Body)
	if seed == nil {
		t.Fatal(enrol.Text())
	}
	secret := strings.ReplaceAll(seed[1], " ", "")
	shown("a wrong code", seed[1],
		b.RequestCompressed(t, http.MethodPost, "/account/second-factor", url.Values{"code": {h.WrongCodeOf(t, secret)}}))
	shown("recovery codes", "/account/recovery-codes/kept",
		b.RequestCompressed(t, http.MethodPost, "/account/second-factor",
			url.Values{"code": {h.CodeOf(t, secret)}}))
	shown("other recovery codes", "/account/recovery-codes/kept", b.RequestCompressed(t, http.MethodPost, "/account/recovery-codes", nil))
}
