package browser_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/browser"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// everyPayoutPage looks at the payouts while a return is decided, a run goes from one
// person to another and to the bank, and a large export is written.
func everyPayoutPage(t *testing.T, chromium *browser.Browser) {
	c := admintest.NewConsoleWithLedger(t)
	p, fay := chromium.Page(t, browser.Emulation{}), chromium.Page(t, browser.Emulation{})
	signIn(c.Console, p, "finance@example.com")
	signIn(c.Console, fay, "fay@example.com")
	open := func(name, path string) {
		t.Helper()
		p.Open(c.URL + path)
		see(p, name)
	}
	open("payout-runs-none", "/payouts/runs")
	open("returns-none", "/payouts/returns")
	open("work-none", "/work")
	returned := returnsInBrowser(c, t, p, fay)
	adjustsInBrowser(c, p)
	exported := exportsInBrowser(c, p)
	run := runInBrowser(c, t, p, fay)
	pages := []address{
		{"ledger", "/payouts"},
		{"ledger-partner", "/payouts?partner=harbour-leads"},
		{"ledger-no-match", "/payouts?lead=x"},
		{"balances", "/payouts/balances"},
		{"adjust", "/payouts/adjust"},
		{"returns", "/payouts/returns"},
		{"return-new", "/payouts/returns/new"},
		{"return-accepted", returned},
		{"payout-runs", "/payouts/runs"},
		{"run-new", "/payouts/runs/new"},
		{"export", exported},
		{"work", "/work"},
		{"overview-payouts", "/"},
		{"run", run},
		{"statement", run + "/statements/" + id.Format(id.Partner, c.Harbour.ID)},
	}
	for _, one := range pages {
		open(one.name, one.path)
	}
	printsStatement(c, t, p, run)
	unbroken(t, c.Console, p, pages)
	quiet(t, p)
	quiet(t, fay)
}

// returnsInBrowser has one person ask for a return, and another accept it.
func returnsInBrowser(c *admintest.ConsoleWithLedger, t *testing.T, p, fay *browser.Page) (address string) {
	t.Helper()
	p.Open(c.URL + "/payouts/returns/new?lead=" + admintest.LeadID(c.Leads[1]))
	p.Click(`input[name="reason"][value="duplicate"]`)
	see(p, "return-new-lead")
	p.Click(`form[method="post"][action="/payouts/returns/new"] button[type="submit"]`)
	p.Wait(`document.querySelector("#f-evidence:invalid")`) // the browser asks for it, and sends nothing
	p.Type(`textarea[name="evidence"]`, "The same person asked on Monday")
	p.Submit(`form[method="post"][action="/payouts/returns/new"] button[type="submit"]`)
	see(p, "return-open")
	address = strings.TrimPrefix(p.Address(), c.URL)
	fay.Open(c.URL + "/")
	fay.Submit(`.needs a[href="/payouts/returns?state=open"]`)
	fay.Submit(`#list a[href="` + address + `"]`)
	fay.Submit(`button[formaction$="/reject"]`)
	see(fay, "return-refused-without-a-word")
	fay.Type(`textarea[name="answer"]`, "Agreed: we take it back")
	fay.Submit(`form[action$="/accept"] button.button-primary`)
	if text := fay.Text("main"); !has(fay, "main [data-state=accepted]") || !strings.Contains(text, "Agreed: we take it back") {
		t.Error(text)
	}
	return address
}

// adjustsInBrowser corrects a balance, after a slip.
func adjustsInBrowser(c *admintest.ConsoleWithLedger, p *browser.Page) {
	p.Open(c.URL + "/payouts/adjust")
	p.Type(`input[name="partner"]`, "meadow-media")
	p.Submit(`form[action="/payouts/adjust"] button[type="submit"]`)
	p.Type(`input[name="amount"]`, "-5,00")
	p.Type(`textarea[name="why"]`, "Set-up fee")
	p.Submit(`form[method="post"][action="/payouts/adjust"] button[type="submit"]`)
	see(p, "adjust-refused")
	browser.Eval[bool](p, `document.querySelector("#f-amount").value = "-5.00"; true`)
	p.Submit(`form[method="post"][action="/payouts/adjust"] button[type="submit"]`)
	p.Wait(`location.pathname === "/payouts"`)
}

// exportsInBrowser requests a file while no node runs jobs, and downloads it later.
func exportsInBrowser(c *admintest.ConsoleWithLedger, p *browser.Page) (address string) {
	browser.Eval[bool](p,
		`(() => { const form = document.createElement("form"); form.method = "post"; form.action = "/payouts/exports"; form.innerHTML = "<input name='form_key' value='019b7ca9-8f2e-716e-a61b-6fb0ac79f23e'>"; document.body.append(form); form.submit(); return true })()`)
	p.Wait(`location.pathname.startsWith("/payouts/exports/")`)
	see(p, "export-waiting")
	return strings.TrimPrefix(p.Address(), c.URL)
}

// runInBrowser is prepared by one person, approved and paid by another. What is shown
// while it is prepared reloads automatically.
func runInBrowser(c *admintest.ConsoleWithLedger, t *testing.T, p, fay *browser.Page) (address string) {
	t.Helper()
	p.Open(c.URL + "/payouts/runs/new")
	browser.Eval[bool](p, `document.querySelector("#f-cutoff").value = "`+c.Time.Now().Format(payoutpages.CutoffForm)+`"; true`)
	p.Type(`input[name="minimum"]`, "25.00")
	p.Submit(`form[method="post"][action="/payouts/runs/new"] button[type="submit"]`)
	see(p, "run-preparing")
	address = strings.TrimPrefix(p.Address(), c.URL)
	c.RunJobs(t)
	p.Wait(`document.querySelector("#run [data-state=prepared]")`)
	see(p, "run-prepared-own")
	fay.Open(c.URL + address)
	see(fay, "run-prepared")
	fay.Submit(`form[action$="/approve"] button`)
	see(fay, "run-approved")
	p.Open(c.URL + address + "/cancel")
	see(p, "run-cancel")
	fay.Submit(`a[href$="/pay"]`)
	fay.Type(`input[name="reference"]`, "BACS 77")
	fay.Type(`input[name="name"]`, "1.00")
	fay.Submit(`form[action$="/pay"] button`)
	see(fay, "run-pay-refused")
	browser.Eval[bool](fay, `document.querySelector("#f-name").value = "58.00"; true`)
	fay.Submit(`form[action$="/pay"] button`)
	see(fay, "run-paid")
	if text := fay.Text("main"); !strings.Contains(text, "BACS 77") || !strings.Contains(text, "58.00") {
		t.Error(text)
	}
	testkit.Eventually(t, time.Minute, "the export is written",
		func() bool { return c.Console.Count(t, "exports", "file_id IS NOT NULL") == 1 })
	return address
}

// printsStatement looks at a statement on paper: the letter, and nothing of the console.
func printsStatement(c *admintest.ConsoleWithLedger, t *testing.T, p *browser.Page, run string) {
	t.Helper()
	p.Open(c.URL + run + "/statements/" + id.Format(id.Partner, c.Meadow.ID))
	see(p, "statement-held")
	p.Open(c.URL + run + "/statements/" + id.Format(id.Partner, c.Harbour.ID))
	see(p, "statement")
	p.Emulate(browser.Emulation{Print: true, Width: 700})
	p.CheckNoOverflow()
	shown := browser.Eval[string](p,
		`[".bar", ".side", ".crumbs", ".copy", ".statement-files", ".heading .button"].filter((s) => document.querySelector(s)?.checkVisibility()).join(" ")`)
	if text := p.Text("main"); shown != "" || !strings.Contains(text, "Harbour Leads Limited") ||
		!strings.Contains(text, "BACS 77") {
		t.Errorf("on paper: %q, %s", shown, text)
	}
	p.Emulate(browser.Emulation{})
}

// payoutsWithoutScript goes the same way on a narrow screen where no script runs.
func payoutsWithoutScript(t *testing.T, chromium *browser.Browser) {
	c := admintest.NewConsoleWithLedger(t)
	p := chromium.Page(t, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	signIn(c.Console, p, "finance@example.com")
	p.Open(c.URL + "/payouts/runs/new")
	p.Submit(`form[method="post"][action="/payouts/runs/new"] button[type="submit"]`)
	p.CheckNoOverflow()
	address := p.Address()
	p.Open(c.URL + "/work")
	p.CheckNoOverflow()
	p.Open(address)
	p.Submit(`form[action$="/cancel"] button`)
	if p.Address() != address || !has(p, "main [data-state=cancelled]") {
		t.Error(p.Address(), p.Text("main"))
	}
	if n := c.Console.Count(t, "payout_runs", "state = $1", models.RunCancelled); n != 1 {
		t.Errorf("%d runs are cancelled", n)
	}
}

// workIsHeard checks that screen readers announce each row that changes, not the
// first alone.
func workIsHeard(t *testing.T, chromium *browser.Browser) {
	c := admintest.NewConsoleWithLedger(t)
	for range 2 {
		c.Post(t, "/payouts/exports", url.Values{"kind": {"accrual"}})
	}
	p := chromium.Page(t, browser.Emulation{})
	signIn(c.Console, p, "finance@example.com")
	p.Open(c.URL + "/work")
	c.Exec(t,
		`UPDATE work SET state = 'failed', failure = 'It failed.', ended_at = $1 WHERE id = (SELECT min(id) FROM work)`,
		c.Time.Now())
	p.Wait(`document.querySelector("#announce").textContent === document.querySelector("tr[data-news]:has([data-state=failed])")?.dataset.news`)
}
