package browser_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

// everyPublishingPage checks the pages for publishing a draft in each of the draft's states. It
// also approves and publishes a draft with scripts turned off.
func everyPublishingPage(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{Policy: ratecard.Policy{RequireApproval: true}})
	withoutApproval := *h
	withoutApproval.Options.Prices = h.Options.Prices.WithPolicy(ratecard.Policy{})
	h.AddStaff(t, "colleague@example.com", models.StaffRole{Role: models.PricingManager})
	h.Reload(t)
	h.AddRecordedTraffic(t)
	full, behind, good := web.DraftURL(h.AddFullDraft(t).ID), h.AddDraft(t, "Summer", admintest.PlumbersIn("GB", money.GBP, 5000)), h.AddDraft(t,
		"Plumbers", admintest.PlumbersIn("GB", money.GBP, 5200), admintest.PlumbersIn("IE", money.EUR, 9900))
	if _, err := withoutApproval.PricingManagerPrices().Publish(t.Context(), good.ID, 3, "Plumbers are scarce in all of Britain and Ireland, and other platforms pay more for these leads", time.Time{}); err != nil {
		t.Fatal(err)
	}
	same, sent := h.AddDraft(t, "Nothing yet"), h.AddDraft(t, "Autumn", admintest.PlumbersIn("FR", money.EUR, 5000))
	if _, err := h.PricingManagerPrices().Publish(t.Context(), sent.ID, 2, "As agreed with finance",
		h.Time.Now().Add(50*time.Hour)); err != nil {
		t.Fatal(err)
	}
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "pricing_manager@example.com")
	pages := []address{
		{"draft-preview", full + "?tab=preview"},
		{"draft-preview-none", web.DraftURL(same.ID) + "?tab=preview"},
		{"draft-preview-no-match", full + "?tab=preview&q=zebra"},
		{"draft-replay-none", full + "?tab=replay"},
		{"draft-publish-blocked", full + "?tab=publish"},
		{"draft-publish", web.DraftURL(same.ID) + "?tab=publish"},
		{"draft-behind", web.DraftURL(behind.ID) + "?tab=publish"},
		{"draft-submitted", web.DraftURL(sent.ID) + "?tab=publish"},
		{"draft-published", web.DraftURL(good.ID) + "?tab=publish"},
		{"versions", "/pricing/versions"},
		{"version", "/pricing/versions/2"},
		{"version-first", "/pricing/versions/1"},
		{"compare", "/pricing/compare?a=1&b=2"},
		{"compare-mistake", "/pricing/compare?a=1&b=77"},
		{"explain", "/pricing/explain?industry=plumber&country=GB&urgency=emergency&partner=harbour-leads&history=show"},
		{"explain-mistakes", "/pricing/explain?industry=plumbing&partner=nobody"},
	}
	for _, page := range pages {
		p.Open(h.URL + page.path)
		check(p, page.name)
	}
	replayInBrowser(t, h, p, full)
	p.Open(h.URL + web.DraftURL(behind.ID) + "?tab=publish")
	p.Submit(`form[action$="/update"] button`)
	check(p, "draft-kept")
	expectOnlyStatusErrors(t, p)
	approveWithoutScript(t, h, chromium, sent, func() {
		p.Open(h.URL + "/pricing")
		check(p, "pricing-scheduled")
		p.Submit(`a[href$="/rollback"]`)
		if !has(p, "[data-withdraws]") {
			t.Error(p.Text("main"))
		}
		check(p, "rollback-scheduled")
	})
	checkLongNames(t, h, p, pages)
	expectOnlyStatusErrors(t, p)
}

// replayInBrowser starts a replay and waits until the page shows its result.
func replayInBrowser(t *testing.T, h *admintest.Console, p *browser.Page, draft string) {
	t.Helper()
	p.Open(h.URL + draft + "?tab=replay")
	p.Submit(`form[action$="/replay"] button`)
	check(p, "draft-replay-waiting")
	h.RunReplay(t, testkit.Value[uuid.UUID](t, h.Database, `SELECT object_id FROM jobs WHERE kind = 'replay'`))
	p.Wait(`document.querySelector("#replay [data-state=done]")`)
	check(p, "draft-replay")
}

// approveWithoutScript approves a draft as another user, withdraws it, and submits it again. Scripts are
// turned off. It calls scheduled after the approval.
func approveWithoutScript(
	t *testing.T, h *admintest.Console, chromium *browser.Browser, sent models.RateCard, scheduled func(),
) {
	t.Helper()
	p := chromium.Page(t, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	signIn(h, p, "colleague@example.com")
	p.Open(h.URL + web.DraftURL(sent.ID) + "?tab=preview&q=plumber")
	p.CheckNoOverflow()
	p.Open(h.URL + web.DraftURL(sent.ID) + "?tab=publish")
	p.Submit(`form[action$="/approve"] button`)
	if !has(p, "main [data-state=scheduled]") {
		t.Error(p.Text("main"))
	}
	scheduled()
	p.Submit(`form[action$="/take-back"] button`)
	if !has(p, "main [data-state=draft]") || !has(p, "form[action$='/publish'][data-approval]") {
		t.Error(p.Text("main"))
	}
	p.Type(`input[name="note"]`, "As agreed, publish now")
	p.Submit(`form[action$="/publish"] button`)
	if !has(p, "main [data-state=submitted]") || has(p, "form[action$='/approve']") {
		t.Error(p.Text("main"))
	}
	p.CheckNoOverflow()
}
