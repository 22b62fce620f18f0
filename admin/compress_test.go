package admin

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// packed requests a page as browsers do, which accept gzip.
func (b *visitor) packed(t testing.TB, method, path string, form url.Values) page {
	t.Helper()
	return b.send(t, method, path, strings.NewReader(withKey(form).Encode()), http.Header{
		"Accept-Encoding": {"gzip, deflate, br, zstd"}, "Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.house.url}, "Sec-Fetch-Site": {"same-origin"},
	})
}

// unpacked is the page's text.
func (p page) unpacked(t testing.TB) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	partner := h.selling(t)
	h.trade(t)
	draft := web.DraftURL(h.fullDraft(t).ID)
	b := h.everywhere(t)
	for _, path := range []string{
		"/", "/partners", partner, partner + "?tab=traffic", partner + "/onboarding", "/pricing", "/pricing/compare", draft, draft + "?tab=preview",
		"/leads", "/payouts", "/payouts/runs", "/reconciliation", "/audit", "/staff", "/account", "/no-such-page",
	} {
		plain := b.send(t, http.MethodGet, path, nil, http.Header{"Accept-Encoding": {"identity"}})
		if plain.header.Get("Content-Encoding") != "" || plain.header.Get("Vary") != "Accept-Encoding" || !strings.HasSuffix(strings.TrimSpace(plain.body), "</html>") {
			t.Errorf("%s for a client without gzip: %v", path, plain.header)
		}
		p := b.packed(t, http.MethodGet, path, nil)
		if p.status != plain.status || p.header.Get("Content-Encoding") != "gzip" || p.header.Get("Vary") != "Accept-Encoding" || p.header.Get("Content-Type") != plain.header.Get("Content-Type") {
			t.Errorf("%s: %d %v", path, p.status, p.header)
			continue
		}
		if text := p.unpacked(t); len(text) != len(plain.body) || 2*len(p.body) > len(text) {
			t.Errorf("%s: %d bytes hold %d, the page has %d", path, len(p.body), len(text), len(plain.body))
		}
		t.Logf("%s: %d bytes, compressed %d", path, len(plain.body), len(p.body))
		if head := b.packed(t, http.MethodHead, path, nil); head.status != p.status || head.body != "" || head.header.Get("Vary") != "Accept-Encoding" || head.header.Get("Content-Type") != p.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d, %d bytes, %v", path, head.status, len(head.body), head.header)
		}
	}
	for _, accepts := range []string{"gzip;q=0", "*;q=0", "br", ""} {
		if p := b.send(t, http.MethodGet, "/staff", nil, http.Header{"Accept-Encoding": {accepts}}); p.header.Get("Content-Encoding") != "" || !strings.Contains(p.body, "</html>") {
			t.Errorf("accepting %q: %v", accepts, p.header)
		}
	}
	if p := b.packed(t, http.MethodGet, h.assetPath(t), nil); p.header.Get("Content-Encoding") != "gzip" || !strings.Contains(p.unpacked(t), "{") {
		t.Errorf("the style sheet: %v", p.header)
	}
}

// Redirects, files and small fragments gain nothing from compression.
func TestWhatIsNotCompressed(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	export := c.post(t, "/payouts/exports", url.Values{"currency": {"GBP"}}).location()
	prices := c.house.as(t, models.PricingManager)
	if p := c.packed(t, http.MethodGet, export+"/live", nil); p.header.Get("Content-Encoding") != "gzip" || !strings.Contains(p.unpacked(t), export) {
		t.Errorf("a fragment of %d bytes: %v", len(p.body), p.header)
	}
	for name, p := range map[string]page{
		"a small fragment": prices.packed(t, http.MethodGet, web.DraftURL(c.fullDraft(t).ID)+"/replay/live", nil),
		"a file":           c.packed(t, http.MethodGet, "/payouts/ledger.csv", nil),
		"a rate card":      prices.packed(t, http.MethodGet, "/pricing/versions/1/export?format=yaml", nil),
		"a redirect":       c.house.visitor(t).packed(t, http.MethodGet, "/staff", nil),
	} {
		if p.header.Get("Content-Encoding") != "" || p.status >= http.StatusBadRequest {
			t.Errorf("%s: %d, %d bytes, %v", name, p.status, len(p.body), p.header)
		}
	}
}

// Another site can make the browser open a page with a text of its choice in the
// address. The size of the answer must not show what else is on the page.
func TestPagesOpenedByOtherSitesAreNotCompressed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.Auditor)
	for site, want := range map[string]string{"": "gzip", "none": "gzip", "same-origin": "gzip", "same-site": "", "cross-site": "", "hostile": ""} {
		header := http.Header{"Accept-Encoding": {"gzip"}}
		if site != "" {
			header.Set("Sec-Fetch-Site", site)
		}
		p := b.send(t, http.MethodGet, "/staff?q=guess", nil, header)
		if p.status != http.StatusOK || p.header.Get("Content-Encoding") != want {
			t.Errorf("%q: %d %v", site, p.status, p.header)
		}
	}
}

// Neither does the size of an answer show anything about a secret in it.
func TestSecretsAreNotCompressed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	partner := web.PartnerURL(h.partner(t, "harbour-leads"))
	b := h.everywhere(t)
	shown := func(name, marker string, p page) page {
		t.Helper()
		if p.status >= http.StatusInternalServerError || p.header.Get("Content-Encoding") != "" || !strings.Contains(p.body, marker) {
			t.Errorf("%s: %d %v %s", name, p.status, p.header, p.text())
		}
		return p
	}
	shown("a new secret", "once-secret", b.packed(t, http.MethodPost, partner+"/secrets/new", url.Values{"label": {"first"}}))
	shown("a rotated secret", "once-secret", b.packed(t, http.MethodPost, partner+"/secrets/rotate", url.Values{"label": {"second"}, "overlap": {"24h"}}))
	shown("a documentation link", "http://api.example/partner/", b.packed(t, http.MethodPost, partner+"/link", nil))
	shown("an invitation", "/invite/", b.packed(t, http.MethodPost, "/staff/invite", url.Values{"name": {"New Person"}, "email": {"new@example.com"}, "role": {"auditor"}}))
	invited := web.StaffURL(testkit.Value[uuid.UUID](t, h.Database, `SELECT id FROM staff WHERE email = 'new@example.com'`))
	shown("another invitation", "/invite/", b.packed(t, http.MethodPost, invited+"/invite", nil))
	enrol := shown("a second factor", "data:image/png", b.packed(t, http.MethodGet, "/account/second-factor", nil))
	seed := secretText.FindStringSubmatch(enrol.body)
	if seed == nil {
		t.Fatal(enrol.text())
	}
	shown("a wrong code", seed[1], b.packed(t, http.MethodPost, "/account/second-factor", url.Values{"code": {"000000"}}))
	shown("recovery codes", "/account/recovery-codes/kept", b.packed(t, http.MethodPost, "/account/second-factor", url.Values{"code": {h.code(t, strings.ReplaceAll(seed[1], " ", ""))}}))
	shown("other recovery codes", "/account/recovery-codes/kept", b.packed(t, http.MethodPost, "/account/recovery-codes", nil))
}
