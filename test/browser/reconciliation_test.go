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
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/browser"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// chooseFile puts a file into the page's field, as a person who chooses it does.
func chooseFile(p *browser.Page, name, content string) {
	browser.Eval[bool](p, fmt.Sprintf(`(() => { const data = new DataTransfer(); data.items.add(new File([%q], %q, {type: "text/csv"}));
		const field = document.querySelector("#f-file"); field.files = data.files; return field.dispatchEvent(new Event("change", {bubbles: true})) })()`, content, name))
}

// pick chooses an option of a select.
func pick(p *browser.Page, name, value string) {
	browser.Eval[bool](p, fmt.Sprintf(`(() => { document.querySelector("#f-%s").value = %q; return true })()`, name, value))
}

// everyReconciliationPage takes a list with every finding from the file to a line that
// is settled, and looks at each page on the way.
func everyReconciliationPage(t *testing.T, chromium *browser.Browser) {
	b := admintest.NewConsoleWithDeliveries(t)
	p := chromium.Page(t, browser.Emulation{})
	signIn(b.Console, p, "finance@example.com")
	p.Open(b.Console.URL + "/reconciliation")
	see(p, "reconciliation-none")
	p.Submit(`main a[href="/reconciliation/new"]`)
	pick(p, "partner", "harbour-leads")
	chooseFile(p, "march.csv", "leadId,amount,amount\n")
	p.Submit(`form[action="/reconciliation/new"] button[type="submit"]`)
	see(p, "reconciliation-new-refused")
	p.ConsoleErrors() // the browser tells of the 422, as it should
	browser.Eval[bool](p, `(() => { document.querySelector("#f-file").dataset.most = "10"; return true })()`)
	chooseFile(p, "march.csv", strings.Repeat("x", 11))
	p.Wait(`document.querySelector("#f-file").validationMessage === document.querySelector("#f-file").dataset.tooLarge`)

	p.Open(b.Console.URL + "/reconciliation/new")
	see(p, "reconciliation-new")
	pick(p, "partner", "harbour-leads")
	chooseFile(p, "march.csv", asSpreadsheet(b, t))
	p.Submit(`form[action="/reconciliation/new"] button[type="submit"]`)
	at := strings.TrimPrefix(p.Address(), b.Console.URL)
	see(p, "reconciliation-uploaded")
	pick(p, "currency", "GBP")
	browser.Eval[bool](p,
		`(() => { document.querySelector("#f-from").value = "2026-01-01"; document.querySelector("#f-to").value = "2026-01-31"; return true })()`)
	p.Submit(`form[action$="/compare"] button[type="submit"]`)
	p.Wait(`document.activeElement.id === "error-summary" && document.querySelector("#f-numbers-error")`)
	see(p, "reconciliation-mapping-refused")
	p.ConsoleErrors()
	p.Click(`input[name="numbers"][value="1,234.56"]`)
	p.Submit(`form[action$="/compare"] button[type="submit"]`)
	// The page reloads automatically when the comparison is done.
	p.Wait(`document.querySelector("form[action$='/keep']")`)
	see(p, "reconciliation-compared")
	p.Submit(`form[action$="/keep"] button`)
	p.Wait(`document.querySelector(".status-good")`)
	for _, finding := range reconciliationpages.Findings {
		p.Open(b.Console.URL + at + "?finding=" + string(finding.Finding))
		if has(p, "#lines [data-empty]") {
			t.Errorf("no line with finding %s", finding.Finding)
		}
		see(p, "reconciliation-kept-"+string(finding.Finding))
	}
	p.Open(b.Console.URL + at + "?finding=amount_differs")
	p.Submit(`a[href$="/settle"]`)
	p.Wait(`document.activeElement.name === "note"`)
	p.Submit(`form[action$="/settle"] a`)
	p.Submit(`a[href$="/settle"]`)
	see(p, "reconciliation-settle")
	p.Type(`textarea[name="note"]`, "Agreed: theirs is right, adjusted.")
	p.Submit(`form[action$="/settle"] button[type="submit"]`)
	p.Wait(`document.querySelector("#lines").textContent.includes("Agreed: theirs is right")`)
	see(p, "reconciliation-settled")
	otherStates(b, t, p, at)
	unbroken(t, b.Console, p, []address{
		{"reconciliation", "/reconciliation"},
		{"reconciliation-new", "/reconciliation/new"},
		{"reconciliation-kept", at},
		{"reconciliation-settled", at + "?finding=amount_differs"},
	})
	quiet(t, p)
}

// asSpreadsheet is a list with every finding whose amounts can be meant in two ways.
func asSpreadsheet(b admintest.ConsoleWithDeliveries, t testing.TB) string {
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
	// The first lead earns a thousand, an amount that does not show the number format.
	service := b.Options.Payouts.By(audit.Actor{Staff: b.People[models.Finance].ID, Name: "finance@example.com"})
	_, err = service.Adjust(t.Context(), scope.System, payouts.NewAdjustment{
		ID:      uuid.New(),
		Account: b.Harbour().Accounts[0].ID,
		Lead:    lead,
		Amount:  money.Amount{Minor: 100_000 - earned, Currency: money.GBP},
		Reason:  "A round sum",
	})
	if err != nil {
		t.Fatal(err)
	}
	list := "leadId;amount\n" + cells(1)[0] + ";1,000\n"
	for i := range rows[2:] {
		list += cells(i + 2)[0] + ";1,234\n"
	}
	return list
}

// otherStates checks the states of a reconciliation apart from compared and saved.
func otherStates(b admintest.ConsoleWithDeliveries, t *testing.T, p *browser.Page, kept string) {
	t.Helper()
	at := b.UploadList(t, "harbour-leads", "leadId,amount,currency", id.Format(id.Lead, uuid.New())+",1,GBP")
	b.Compare(t, at, b.ColumnForm(t, at))
	p.Open(b.Console.URL + at)
	p.Click(`a[data-dialog="discard"]`)
	p.Wait(`document.querySelector("#discard").open`)
	p.Axe()
	p.Open(b.Console.URL + at + "/discard")
	see(p, "reconciliation-discard")
	p.Submit(`main form[action$="/discard"] button[type="submit"]`)
	p.Open(b.Console.URL + at)
	see(p, "reconciliation-discarded")

	held := comparing(b, t)
	p.Open(b.Console.URL + held)
	see(p, "reconciliation-comparing")
	b.Console.Time.Advance(time.Minute)
	p.Submit(`form[action$="/stop"] button`)
	see(p, "reconciliation-stopped")
	if got := b.StateOf(t, held); got != models.ReconciliationUploaded {
		t.Errorf("it is %s", got)
	}
	p.Open(b.Console.URL + "/reconciliation")
	see(p, "reconciliation")
	p.Open(b.Console.URL + "/reconciliation?state=comparing")
	see(p, "reconciliation-no-match")
	auditor := b.Console.NewClient(t)
	auditor.SignIn(t, "auditor@example.com")
	if page := auditor.Get(t, kept); strings.Contains(page.Body, "/settle") {
		t.Error("an auditor is offered to settle lines")
	}
}

// comparing is a list that is being compared for as long as one likes.
func comparing(b admintest.ConsoleWithDeliveries, t *testing.T) (at string) {
	t.Helper()
	at = b.UploadList(t, "harbour-leads", "leadId,amount,currency", id.Format(id.Lead, uuid.New())+",1,GBP")
	b.Exec(t, `UPDATE reconciliations SET state = 'comparing' WHERE id = $1`, admintest.IDOf(t, at))
	b.Exec(t, `INSERT INTO work (kind, object_id, partner_id, asked_by, state, phase, done, total, asked_at, started_at, beat_at, job_id)
		VALUES ('reconciliation', $1, $2, 'finance@example.com', 'running', 'reading the file', 431000, 1204000, $3, $3, $3::timestamptz + interval '1 year', 0)`, admintest.IDOf(t, at), b.Harbour().ID, b.Console.Time.Now())
	return at
}

// atComparison has the page open of a list that is being compared.
func atComparison(t *testing.T, chromium *browser.Browser) (b admintest.ConsoleWithDeliveries, p *browser.Page, held string) {
	t.Helper()
	b, p = admintest.NewConsoleWithDeliveries(t), chromium.Page(t, browser.Emulation{})
	held = comparing(b, t)
	signIn(b.Console, p, "finance@example.com")
	p.Open(b.Console.URL + held)
	return b, p, held
}

// leavesInPeace ends a comparison while the user leaves its page. The page would reload;
// that must not keep the user on it.
func leavesInPeace(t *testing.T, chromium *browser.Browser) {
	b, p, _ := atComparison(t, chromium)
	part, next := testkit.Connect(t, b.RootURL), testkit.Connect(t, b.RootURL)
	do := func(conn *pgx.Conn, sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	do(part, `BEGIN; LOCK TABLE reconciliations; UPDATE reconciliations SET state = 'uploaded' WHERE state = 'comparing'`)
	do(next, `BEGIN; LOCK TABLE ledger_entries`)
	b.AwaitLockOn(t, "reconciliations")
	browser.Eval[bool](p, `(() => { document.querySelector("nav a[href='/payouts']").click(); return true })()`)
	b.AwaitLockOn(t, "ledger_entries")
	// The answer comes, and the page takes it: it polls again (or reloads).
	do(part, `COMMIT; BEGIN; LOCK TABLE reconciliations`)
	b.AwaitLockOn(t, "reconciliations")
	do(part, `COMMIT`)
	do(next, `COMMIT`)
	p.Wait(`location.pathname === "/payouts"`)
}

// pressedWhileItComes lets the part with the button reload between the press and the
// release: the click still counts. Some browsers give what is pressed no focus.
func pressedWhileItComes(t *testing.T, chromium *browser.Browser) {
	b, p, held := atComparison(t, chromium)
	browser.Eval[bool](p, `(() => {
		addEventListener("mousedown", (event) => event.preventDefault());
		document.addEventListener("htmx:afterRequest", () => { document.body.dataset.came = "" });
		return true;
	})()`)
	letGo := p.MouseDown(`form[action$="/stop"] button`)
	p.Wait(`document.body.dataset.came === "" && document.activeElement === document.body`)
	letGo()
	p.Wait(`document.querySelector("form[action$='/compare']")`)
	if got := b.StateOf(t, held); got != models.ReconciliationUploaded {
		t.Errorf("it is %s", got)
	}
}

// reconcileWithoutScript takes a list from the file to the result where no script runs,
// on a narrow screen.
func reconcileWithoutScript(t *testing.T, chromium *browser.Browser) {
	b := admintest.NewConsoleWithDeliveries(t)
	rows, _ := admintest.EveryFinding(b, t)
	at := b.UploadList(t, "harbour-leads", rows...) // a file is chosen in the browser's own window
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
	p.Submit(`form[action$="/keep"] button`)
	if got := b.StateOf(t, at); got != models.ReconciliationKept {
		t.Errorf("it is %s: %s", got, p.Text("main"))
	}
}
