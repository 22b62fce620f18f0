package browser_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

// everyPayoutPage checks the payout pages while it accepts a return, adds an adjustment, writes an
// export, and takes a payout run through its stages. One user prepares the run, and another
// approves and pays it.
func everyPayoutPage(t *testing.T, chromium *browser.Browser) {
	c := admintest.NewConsoleWithLedger(t)
	p, fay := chromium.Page(t, browser.Emulation{}), chromium.Page(t, browser.Emulation{})
	signIn(c.Console, p, "finance@example.com")
	signIn(c.Console, fay, "fay@example.com")
	open := func(name, path string) {
		t.Helper()
		p.Open(c.URL + path)
		check(p, name)
	}
	open("payout-runs-none", "/payouts/runs")
	open("returns-none", "/payouts/returns")
	open("work-none", "/jobs")
	returned := returnInBrowser(c, t, p, fay)
	adjustInBrowser(c, p, fay)
	exported := exportInBrowser(c, p)
	run := runInBrowser(c, t, p, fay)
	pages := []address{
		{"ledger", "/payouts"},
		{"ledger-partner", "/payouts?partner=harbour-leads"},
		{"ledger-no-match", "/payouts?lead=x"},
		{"balances", "/payouts/balances"},
		{"adjust", "/payouts/adjust"},
		{"adjust-partner", "/payouts/adjust?partner=harbour-leads"},
		{"lead-payout", "/leads/" + admintest.LeadID(c.Leads[0])},
		{"returns", "/payouts/returns"},
		{"return-new", "/payouts/returns/new"},
		{"return-accepted", returned},
		{"payout-runs", "/payouts/runs"},
		{"run-new", "/payouts/runs/new"},
		{"export", exported},
		{"work", "/jobs"},
		{"overview-payouts", "/"},
		{"run", run},
		{"statement", run + "/statements/" + id.Format(id.Partner, c.Harbour.ID)},
	}
	for _, page := range pages {
		open(page.name, page.path)
	}
	printStatement(c, t, p, run)
	checkLongNames(t, c.Console, p, pages)
	expectOnlyStatusErrors(t, p)
	expectOnlyStatusErrors(t, fay)
}

// returnInBrowser requests a return as one user and accepts it as another.
func returnInBrowser(c *admintest.ConsoleWithLedger, t *testing.T, p, fay *browser.Page) (address string) {
	t.Helper()
	p.Open(c.URL + "/payouts/returns/new?lead=" + admintest.LeadID(c.Leads[1]))
	p.Click(`input[name="reason"][value="duplicate"]`)
	check(p, "return-new-lead")
	p.Click(`form[method="post"][action="/payouts/returns/new"] button[type="submit"]`)
	p.Wait(`document.querySelector("#f-evidence:invalid")`) // the browser asks for the evidence
	p.Type(`textarea[name="evidence"]`, "The same person sent a request on Monday")
	p.Submit(`form[method="post"][action="/payouts/returns/new"] button[type="submit"]`)
	check(p, "return-open")
	address = strings.TrimPrefix(p.Address(), c.URL)
	fay.Open(c.URL + "/")
	fay.Submit(`.needs a[href="/payouts/returns?state=open"]`)
	fay.Submit(`#list a[href="` + address + `"]`)
	fay.Submit(`button[formaction$="/reject"]`)
	check(fay, "return-rejected-without-an-answer")
	fay.Type(`textarea[name="answer"]`, "Agreed, this is a duplicate")
	fay.Submit(`form[action$="/accept"] button.button-primary`)
	if text := fay.Text("main"); !has(fay, "main [data-state=accepted]") || !strings.Contains(text, "Agreed, this is a duplicate") {
		t.Error(text)
	}
	return address
}

// adjustInBrowser first enters an invalid amount and then adds an adjustment. It requests another one, which another user
// approves.
func adjustInBrowser(c *admintest.ConsoleWithLedger, p, fay *browser.Page) {
	p.Open(c.URL + "/payouts/adjust")
	p.Type(`input[name="partner"]`, "meadow-media")
	p.Submit(`form[action="/payouts/adjust"] button[type="submit"]`)
	p.Type(`input[name="amount"]`, "-5,00")
	p.Type(`textarea[name="why"]`, "Set-up fee")
	p.Submit(`form[method="post"][action="/payouts/adjust"] button[type="submit"]`)
	check(p, "adjust-rejected")
	browser.Eval[bool](p, `document.querySelector("#f-amount").value = "-5.00"; true`)
	p.Submit(`form[method="post"][action="/payouts/adjust"] button[type="submit"]`)
	p.Wait(`location.pathname === "/payouts"`)

	p.Open(c.URL + "/payouts/adjust?partner=harbour-leads")
	p.Type(`input[name="amount"]`, "750.00") // above the limit
	p.Type(`textarea[name="why"]`, "Bonus for November")
	p.Submit(`form[method="post"][action="/payouts/adjust"] button[type="submit"]`)
	check(p, "adjustment-waiting")
	fay.Open(c.URL + "/")
	fay.Submit(`.needs a[href="/payouts/adjustments?state=open"]`)
	check(fay, "adjustments")
	fay.Submit(`#list a[href^="/payouts/adjustments/ad_"]`)
	check(fay, "adjustment-to-approve")
	fay.Submit(`form[action$="/approve"] button.button-primary`)
	fay.Wait(`document.querySelector("main [data-state=approved]")`)
}

// exportInBrowser requests an export while no node is running jobs, and returns the address of the
// export's page.
func exportInBrowser(c *admintest.ConsoleWithLedger, p *browser.Page) (address string) {
	browser.Eval[bool](p,
		`(() => { const form = document.createElement("form"); form.method = "post"; form.action = "/payouts/exports"; form.innerHTML = "<input name='form_key' value='019b7ca9-8f2e-716e-a61b-6fb0ac79f23e'>"; document.body.append(form); form.submit(); return true })()`)
	p.Wait(`location.pathname.startsWith("/payouts/exports/")`)
	check(p, "export-waiting")
	return strings.TrimPrefix(p.Address(), c.URL)
}

// runInBrowser prepares a payout run as one user, and approves and pays it as another user. The page
// must update automatically while the run is being prepared.
func runInBrowser(c *admintest.ConsoleWithLedger, t *testing.T, p, fay *browser.Page) (address string) {
	t.Helper()
	p.Open(c.URL + "/payouts/runs/new")
	browser.Eval[bool](p, `document.querySelector("#f-cutoff").value = "`+c.Time.Now().Format(payoutpages.CutoffForm)+`"; true`)
	p.Type(`input[name="minimum"]`, "25.00")
	p.Submit(`form[method="post"][action="/payouts/runs/new"] button[type="submit"]`)
	check(p, "run-preparing")
	address = strings.TrimPrefix(p.Address(), c.URL)
	c.RunJobs(t)
	p.Wait(`document.querySelector("#run [data-state=prepared]")`)
	check(p, "run-prepared-own")
	c.Exec(t, `UPDATE partners SET legal_name = '' WHERE id = $1`, c.Harbour.ID)
	fay.Open(c.URL + address)
	check(fay, "run-prepared-exceptions")
	c.Exec(t, `UPDATE partners SET legal_name = $2 WHERE id = $1`, c.Harbour.ID, c.Harbour.LegalName)
	fay.Open(c.URL + address)
	check(fay, "run-prepared")
	fay.Submit(`form[action$="/approve"] button`)
	check(fay, "run-approved")
	p.Open(c.URL + address + "/cancel")
	check(p, "run-cancel")
	fay.Submit(`a[href$="/pay"]`)
	fay.Type(`input[name="reference"]`, "BACS 77")
	fay.Type(`input[name="name"]`, "1.00")
	fay.Submit(`form[action$="/pay"] button`)
	check(fay, "run-pay-rejected")
	browser.Eval[bool](fay, `document.querySelector("#f-name").value = "58.00"; true`)
	fay.Submit(`form[action$="/pay"] button`)
	check(fay, "run-paid")
	if text := fay.Text("main"); !strings.Contains(text, "BACS 77") || !strings.Contains(text, "58.00") {
		t.Error(text)
	}
	testkit.Eventually(t, time.Minute, "the export is written",
		func() bool { return c.Console.Count(t, "exports", "file_id IS NOT NULL") == 1 })
	return address
}

// printStatement checks the print layout of a statement, which must not contain the console's navigation.
func printStatement(c *admintest.ConsoleWithLedger, t *testing.T, p *browser.Page, run string) {
	t.Helper()
	p.Open(c.URL + run + "/statements/" + id.Format(id.Partner, c.Meadow.ID))
	check(p, "statement-held")
	p.Open(c.URL + run + "/statements/" + id.Format(id.Partner, c.Harbour.ID))
	check(p, "statement")
	p.Emulate(browser.Emulation{Print: true, Width: 700})
	p.CheckNoOverflow()
	shown := browser.Eval[string](p,
		`[".bar", ".side", ".crumbs", ".copy", ".statement-files", ".heading .button"].filter((s) => document.querySelector(s)?.checkVisibility()).join(" ")`)
	if text := p.Text("main"); shown != "" || !strings.Contains(text, "Harbour Leads Limited") ||
		!strings.Contains(text, "BACS 77") {
		t.Errorf("print layout shows %q: %s", shown, text)
	}
	p.Emulate(browser.Emulation{})
}

// payoutsWithoutScript starts and cancels a payout run on a narrow screen without scripts.
func payoutsWithoutScript(t *testing.T, chromium *browser.Browser) {
	c := admintest.NewConsoleWithLedger(t)
	p := chromium.Page(t, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	signIn(c.Console, p, "finance@example.com")
	p.Open(c.URL + "/payouts/runs/new")
	p.Submit(`form[method="post"][action="/payouts/runs/new"] button[type="submit"]`)
	p.CheckNoOverflow()
	address := p.Address()
	p.Open(c.URL + "/jobs")
	p.CheckNoOverflow()
	p.Open(address)
	p.Submit(`form[action$="/cancel"] button`)
	if p.Address() != address || !has(p, "main [data-state=cancelled]") {
		t.Error(p.Address(), p.Text("main"))
	}
	if n := c.Console.Count(t, "payout_runs", "state = $1", models.RunCancelled); n != 1 {
		t.Errorf("got %d cancelled runs, want 1", n)
	}
}

// jobsAreAnnounced checks that screen readers announce changes to every job, not only to the first.
func jobsAreAnnounced(t *testing.T, chromium *browser.Browser) {
	c := admintest.NewConsoleWithLedger(t)
	for range 2 {
		c.Post(t, "/payouts/exports", url.Values{"kind": {"accrual"}})
	}
	p := chromium.Page(t, browser.Emulation{})
	signIn(c.Console, p, "finance@example.com")
	p.Open(c.URL + "/jobs")
	c.Exec(t,
		`UPDATE jobs SET state = 'failed', failure = 'It failed.', ended_at = $1 WHERE id = (SELECT min(id) FROM jobs)`,
		c.Time.Now())
	p.Wait(`document.querySelector("#announce").textContent === document.querySelector("tr[data-news]:has([data-state=failed])")?.dataset.news`)
}
