package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/admin/admintest"
	reconciliationpages "github.com/pingpost/pingpost/admin/reconciliation"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// chooseFile selects a file in the page's file field.
func chooseFile(p *browser.Page, name, content string) {
	browser.Eval[bool](p, fmt.Sprintf(`(() => { const data = new DataTransfer(); data.items.add(new File([%q], %q, {type: "text/csv"}));
		const field = document.querySelector("#f-file"); field.files = data.files; return field.dispatchEvent(new Event("change", {bubbles: true})) })()`, content, name))
}

// pick selects an option.
func pick(p *browser.Page, name, value string) {
	browser.Eval[bool](p, fmt.Sprintf(`(() => { document.querySelector("#f-%s").value = %q; return true })()`, name, value))
}

// everyReconciliationPage uploads a file that produces every kind of finding, compares it with the
// ledger, saves the result and resolves a line. It checks each page.
func everyReconciliationPage(t *testing.T, chromium *browser.Browser) {
	b := admintest.NewConsoleWithDeliveries(t)
	p := chromium.Page(t, browser.Emulation{})
	signIn(b.Console, p, "finance@example.com")
	p.Open(b.Console.URL + "/reconciliation")
	check(p, "reconciliation-none")
	p.Submit(`main a[href="/reconciliation/new"]`)
	pick(p, "partner", "harbour-leads")
	chooseFile(p, "march.csv", "leadId,amount,amount\n")
	p.Submit(`form[action="/reconciliation/new"] button[type="submit"]`)
	check(p, "reconciliation-new-rejected")
	p.ConsoleErrors() // the browser reports the expected 422
	browser.Eval[bool](p, `(() => { document.querySelector("#f-file").dataset.most = "10"; return true })()`)
	chooseFile(p, "march.csv", strings.Repeat("x", 11))
	p.Wait(`document.querySelector("#f-file").validationMessage === document.querySelector("#f-file").dataset.tooLarge`)

	p.Open(b.Console.URL + "/reconciliation/new")
	check(p, "reconciliation-new")
	pick(p, "partner", "harbour-leads")
	chooseFile(p, "march.csv", ambiguousFile(b, t))
	p.Submit(`form[action="/reconciliation/new"] button[type="submit"]`)
	at := strings.TrimPrefix(p.Address(), b.Console.URL)
	check(p, "reconciliation-uploaded")
	pick(p, "currency", "GBP")
	browser.Eval[bool](p,
		`(() => { document.querySelector("#f-from").value = "2026-01-01"; document.querySelector("#f-to").value = "2026-01-31"; return true })()`)
	p.Submit(`form[action$="/compare"] button[type="submit"]`)
	p.Wait(`document.activeElement.id === "error-summary" && document.querySelector("#f-numbers-error")`)
	check(p, "reconciliation-mapping-rejected")
	p.ConsoleErrors()
	p.Click(`input[name="numbers"][value="1,234.56"]`)
	p.Submit(`form[action$="/compare"] button[type="submit"]`)
	// The page reloads automatically when the comparison is done.
	p.Wait(`document.querySelector("form[action$='/save']")`)
	check(p, "reconciliation-compared")
	p.Submit(`form[action$="/save"] button`)
	p.Wait(`document.querySelector(".status-good")`)
	for _, finding := range reconciliationpages.Findings {
		p.Open(b.Console.URL + at + "?finding=" + string(finding.Finding))
		if has(p, "#lines [data-empty]") {
			t.Errorf("there is no line with finding %s", finding.Finding)
		}
		check(p, "reconciliation-kept-"+string(finding.Finding))
	}
	p.Open(b.Console.URL + at + "?finding=amount_differs")
	p.Submit(`a[href$="/resolve"]`)
	p.Wait(`document.activeElement.name === "note"`)
	p.Submit(`form[action$="/resolve"] a`)
	p.Submit(`a[href$="/resolve"]`)
	check(p, "reconciliation-resolve")
	p.Type(`textarea[name="note"]`, "Agreed. The partner's amount is right and was adjusted.")
	p.Submit(`form[action$="/resolve"] button[type="submit"]`)
	p.Wait(`document.querySelector("#lines").textContent.includes("Agreed. The partner's amount is right")`)
	check(p, "reconciliation-resolved")
	otherStates(b, t, p, at)
	checkLongNames(t, b.Console, p, []address{
		{"reconciliation", "/reconciliation"},
		{"reconciliation-new", "/reconciliation/new"},
		{"reconciliation-kept", at},
		{"reconciliation-resolved", at + "?finding=amount_differs"},
	})
	expectOnlyStatusErrors(t, p)
}

// ambiguousFile returns a file that produces every kind of finding. All amounts in it are valid in two
// number formats.
func ambiguousFile(b admintest.ConsoleWithDeliveries, t testing.TB) string {
	t.Helper()
	rows, _ := admintest.EveryFinding(b, t)
	cells := func(row int) []string { return strings.Split(rows[row], ",") }
	lead, err := id.Parse(id.Lead, cells(1)[0])
	if err != nil {
		t.Fatal(err)
	}
	earned, err := money.ParseDecimal(cells(1)[1])
	if err != nil {
		t.Fatal(err)
	}
	// The first lead earns 1,000, which is a valid amount in both number formats.
	service := b.Options.Payouts.By(audit.Actor{Staff: b.People[models.Finance].ID, Name: "finance@example.com"})
	adjustment := uuid.New()
	_, err = service.Adjust(t.Context(), scope.System, payouts.NewAdjustment{
		ID:      adjustment,
		Account: b.Harbour().Accounts[0].ID,
		Lead:    lead,
		Amount:  money.Amount{Minor: 100_000 - earned, Currency: money.GBP},
		Reason:  "A round sum",
	})
	if err == nil {
		fay := b.Options.Payouts.By(audit.Actor{Staff: b.People[models.Administrator].ID, Name: "fay@example.com"})
		err = fay.ApproveAdjustment(t.Context(), scope.System, adjustment)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := "leadId;amount\n" + cells(1)[0] + ";1,000\n"
	for i := range rows[2:] {
		amount := "1,234"
		if cells(i + 2)[0] == cells(1)[0] { // a duplicate
			amount = "1,000"
		}
		file += cells(i + 2)[0] + ";" + amount + "\n"
	}
	return file + cells(2)[0] + ";-1,000\n" // is added to the first row of this lead
}

// otherStates checks the pages of reconciliations that have been discarded, are being compared, or have
// been stopped. saved is the address of a saved reconciliation.
func otherStates(b admintest.ConsoleWithDeliveries, t *testing.T, p *browser.Page, saved string) {
	t.Helper()
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", id.Format(id.Lead, uuid.New())+",1,GBP")
	b.Compare(t, at, b.ColumnForm(t, at))
	p.Open(b.Console.URL + at)
	p.Click(`a[data-dialog="discard"]`)
	p.Wait(`document.querySelector("#discard").open`)
	p.Axe()
	p.Open(b.Console.URL + at + "/discard")
	check(p, "reconciliation-discard")
	p.Submit(`main form[action$="/discard"] button[type="submit"]`)
	p.Open(b.Console.URL + at)
	check(p, "reconciliation-discarded")

	running := runningComparison(b, t)
	p.Open(b.Console.URL + running)
	check(p, "reconciliation-comparing")
	b.Console.Time.Advance(time.Minute)
	p.Submit(`form[action$="/stop"] button`)
	check(p, "reconciliation-stopped")
	if got := b.StateOf(t, running); got != models.ReconciliationUploaded {
		t.Errorf("got state %s, want %s", got, models.ReconciliationUploaded)
	}
	p.Open(b.Console.URL + "/reconciliation")
	check(p, "reconciliation")
	p.Open(b.Console.URL + "/reconciliation?state=comparing")
	check(p, "reconciliation-no-match")
	auditor := b.Console.NewClient(t)
	auditor.SignIn(t, "auditor@example.com")
	if page := auditor.Get(t, saved); strings.Contains(page.Body, "/resolve") {
		t.Error("an auditor's page has a link for resolving lines")
	}
}

// runningComparison adds a reconciliation whose comparison never ends.
func runningComparison(b admintest.ConsoleWithDeliveries, t *testing.T) (at string) {
	t.Helper()
	at = b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", id.Format(id.Lead, uuid.New())+",1,GBP")
	b.Exec(t, `UPDATE reconciliations SET state = 'comparing' WHERE id = $1`, admintest.IDOf(t, at))
	b.Exec(t, `INSERT INTO jobs (kind, object_id, partner_id, enqueued_by, state, phase, done, total, enqueued_at, started_at, heartbeat_at, river_job_id)
		VALUES ('reconciliation', $1, $2, 'finance@example.com', 'running', 'reading rows', 431000, 1204000, $3, $3, $3::timestamptz + interval '1 year', 0)`, admintest.IDOf(t, at), b.Harbour().ID, b.Console.Time.Now())
	return at
}

// openRunningComparison opens the page of a reconciliation that is being compared.
func openRunningComparison(t *testing.T, chromium *browser.Browser) (b admintest.ConsoleWithDeliveries, p *browser.Page, running string) {
	t.Helper()
	b, p = admintest.NewConsoleWithDeliveries(t), chromium.Page(t, browser.Emulation{})
	running = runningComparison(b, t)
	signIn(b.Console, p, "finance@example.com")
	p.Open(b.Console.URL + running)
	return b, p, running
}

// leaveReloadingPage ends a comparison while the user is leaving its page. The page reloads itself when
// the comparison ends. The reload must not interrupt the navigation to the other page.
func leaveReloadingPage(t *testing.T, chromium *browser.Browser) {
	b, p, _ := openRunningComparison(t, chromium)
	part, next := testkit.Connect(t, b.RootURL), testkit.Connect(t, b.RootURL)
	do := func(conn *pgx.Conn, sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	do(part, `BEGIN; LOCK TABLE reconciliations; UPDATE reconciliations SET state = 'uploaded' WHERE state = 'comparing'`)
	do(next, `BEGIN; LOCK TABLE ONLY ledger_entries`)
	b.AwaitLockOn(t, "reconciliations")
	browser.Eval[bool](p, `(() => { document.querySelector("nav a[href='/payouts']").click(); return true })()`)
	b.AwaitLockOn(t, "ledger_entries")
	// Wait until the page has processed the response. The page then polls again or reloads.
	do(part, `COMMIT; BEGIN; LOCK TABLE reconciliations`)
	b.AwaitLockOn(t, "reconciliations")
	do(part, `COMMIT`)
	do(next, `COMMIT`)
	p.Wait(`location.pathname === "/payouts"`)
}

// clickDuringReload reloads the part of the page that contains a button while the user is clicking
// the button. The click must still work, even in browsers that do not focus a clicked button.
func clickDuringReload(t *testing.T, chromium *browser.Browser) {
	b, p, running := openRunningComparison(t, chromium)
	browser.Eval[bool](p, `(() => {
		addEventListener("mousedown", (event) => event.preventDefault());
		document.addEventListener("htmx:afterRequest", () => { document.body.dataset.reloaded = "" });
		return true;
	})()`)
	release := p.MouseDown(`form[action$="/stop"] button`)
	p.Wait(`document.body.dataset.reloaded === "" && document.activeElement === document.body`)
	release()
	p.Wait(`document.querySelector("form[action$='/compare']")`)
	if got := b.StateOf(t, running); got != models.ReconciliationUploaded {
		t.Errorf("got state %s, want %s", got, models.ReconciliationUploaded)
	}
}

// reconcileWithoutScript compares a file and saves the result on a narrow screen. Scripts are turned
// off.
func reconcileWithoutScript(t *testing.T, chromium *browser.Browser) {
	b := admintest.NewConsoleWithDeliveries(t)
	rows, _ := admintest.EveryFinding(b, t)
	at := b.UploadPartnerFile(t, "harbour-leads", rows...) // because the test cannot use the browser's file dialog
	p := chromium.Page(t, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	signIn(b.Console, p, "finance@example.com")
	p.Open(b.Console.URL + at)
	p.CheckNoOverflow()
	p.Type(`input[name="from"]`, "01012026")
	p.Type(`input[name="to"]`, "01312026")
	p.Submit(`form[action$="/compare"] button[type="submit"]`)
	b.AwaitState(t, at, models.ReconciliationCompared)
	p.Open(b.Console.URL + at)
	p.CheckNoOverflow()
	p.Submit(`form[action$="/save"] button`)
	if got := b.StateOf(t, at); got != models.ReconciliationSaved {
		t.Errorf("got state %s, want %s: %s", got, models.ReconciliationSaved, p.Text("main"))
	}
}
