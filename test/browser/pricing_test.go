package browser_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/browser"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// everyDraftPage looks at the pages on which prices are changed.
func everyDraftPage(t *testing.T, chromium *browser.Browser) {
	d := admintest.NewConsoleWithDraft(t)
	d.Cell(t, "plumber", "0", "61.5")
	d.Cell(t, "roofer", "0", "148")
	d.Post(t, d.DraftURL+"/rules/new", url.Values{
		"version":   {"3"},
		"industry":  {"arborist"},
		"country":   {"GB"},
		"floor-GBP": {"250"},
		"note":      {"Climbing gear is dear"},
	})
	d.BeginDraft(t)
	d.Cell(t, "plumber", "0", "55")
	d.Cell(t, "electrician", "0", "40")
	d.Post(t, d.DraftURL+"/rules/new", url.Values{
		"version":   {"3"},
		"industry":  {"arborist"},
		"country":   {"GB"},
		"floor-GBP": {"250"},
		"note":      {"Climbing gear is dear"},
	})
	p := chromium.Page(t, browser.Emulation{})
	signIn(d.Console, p, "pricing_manager@example.com")
	pages := []address{
		{"pricing", "/pricing?category=home-services"},
		{"pricing-no-match", "/pricing?q=zebra"},
		{"draft-new", "/pricing/drafts/new"},
		{"draft-grid", d.DraftURL + "?category=home-services"},
		{"draft-rules", d.DraftURL + "?tab=rules&only=wrong"},
		{"draft-rules-all", d.DraftURL + "?tab=rules&q=urgency"},
		{"draft-edits", d.DraftURL + "?tab=edits"},
		{"draft-rule-new", d.DraftURL + "/rules/new"},
		{"draft-rule", d.DraftURL + "/rules/1"},
		{"draft-import", d.DraftURL + "/import"},
		{"draft-rename", d.DraftURL + "/title"},
		{"draft-discard", d.DraftURL + "/discard"},
	}
	for _, one := range pages {
		p.Open(d.Console.URL + one.path)
		see(p, one.name)
	}
	p.Open(d.Console.URL + d.DraftURL + "/import")
	p.Type(`textarea[name="text"]`, "industry,country,base\nplumber,GB,62\nroofer,DE,170\n")
	p.Submit(`main form[action$="/import"] button[type="submit"]`)
	see(p, "draft-import-dry-run")
	p.Submit(`main form[action$="/import"] a`)
	p.Type(`textarea[name="text"]`, "industry,country,base\nplumbr,GB,62\nroofer,DE,-170\n")
	p.Submit(`main form[action$="/import"] button[type="submit"]`)
	see(p, "draft-import-mistakes")
	p.Open(d.Console.URL + d.DraftURL + "?category=home-services")
	p.Click(`.bulk summary`)
	p.Type(`.bulk input[name="amount"]`, "+4.5")
	p.Submit(`.bulk button[type="submit"]`)
	see(p, "draft-bulk")
	p.Open(d.Console.URL + d.DraftURL + "?q=pl")
	p.Click(`.bulk summary`)
	p.Type(`.bulk input[name="amount"]`, "lots")
	p.Submit(`.bulk button[type="submit"]`)
	see(p, "draft-bulk-mistake")
	quiet(t, p)
	reader := chromium.Page(t, browser.Emulation{})
	signIn(d.Console, reader, "auditor@example.com")
	reader.Open(d.Console.URL + d.DraftURL + "?q=pl")
	see(reader, "draft-grid-read")
	quiet(t, reader)
	unbroken(t, d.Console, p, pages)
	quiet(t, p)
}

// gridOf is the grid of a draft in a browser.
type gridOf struct {
	admintest.ConsoleWithDraft
	*browser.Page
}

func openGrid(t *testing.T, chromium *browser.Browser) gridOf {
	t.Helper()
	p := gridOf{admintest.NewConsoleWithDraft(t), chromium.Page(t, browser.Emulation{})}
	signIn(p.Console, p.Page, "pricing_manager@example.com")
	p.Open(p.Console.URL + p.ConsoleWithDraft.DraftURL + "?category=home-services")
	return p
}

func cell(name string) string { return "#f-base-" + name }

// at waits for the focus to be in a cell.
func (g gridOf) at(name string) {
	g.Wait(fmt.Sprintf(`document.activeElement.id === "f-base-%s"`, name))
}

func (g gridOf) holds(name, want string) {
	g.Wait(fmt.Sprintf(`document.querySelector("%s").value === %q`, cell(name), want))
}

// gridInBrowser fills the grid in as a spreadsheet.
func gridInBrowser(t *testing.T, chromium *browser.Browser) {
	p := openGrid(t, chromium)
	browser.Eval[bool](p.Page, `document.querySelector(".bar").dataset.kept = ""; true`)

	// Enter saves and goes down, also faster than the answers come.
	p.Click(cell("arborist"))
	p.Press("51" + kb.Enter)
	p.at("architect")
	p.Press("52.5" + kb.Enter + "53" + kb.ArrowDown)
	p.Wait(`document.querySelectorAll("[data-grid] ins").length === 3 && document.querySelector("#draft-edits").textContent === "3"`)
	p.holds("arborist", "51.00")
	if a, b := p.Base(t, "arborist"), p.Base(t, "architect"); a != 5100 || b != 5250 {
		t.Errorf("bases %d and %d", a, b)
	}
	p.Wait(`document.querySelector("#grid-undo").textContent.includes("53.00 GBP")`)

	// Esc puts back what was there; the arrows only go.
	p.Press(kb.ArrowUp + kb.ArrowUp)
	p.at("architect")
	p.Press("9" + kb.Escape)
	p.holds("architect", "52.50")
	p.Press(kb.ArrowUp)
	p.at("arborist")

	rejectedInGrid(t, p)

	// A change of the category shows in the rows that inherit it, below the one with the focus.
	p.Click(cell("category-home-services"))
	p.Press("33" + kb.Enter)
	p.Wait(`document.querySelector("#f-base-category-home-services").value === "33.00"`)

	if browser.Eval[bool](p.Page, `document.querySelector(".bar").dataset.kept !== ""`) {
		t.Error("the page was loaded again")
	}
	quiet(t, p.Page) // the rejection's status
}

// refusedInGrid types what no cell can hold, from the cell of arborists.
func rejectedInGrid(t *testing.T, p gridOf) {
	t.Helper()
	// A rejected value stays in its cell with the reason, while the user continues below.
	p.Press("45,60" + kb.Enter)
	p.at("architect")
	p.Wait(`document.querySelector("#f-base-arborist[aria-invalid]")?.value === "45,60" && document.querySelector("#grid-errors").textContent.includes("45.60")`)
	p.at("architect")
	p.Axe()
	p.Press("54" + kb.Enter)
	p.Wait(`document.querySelector("#draft-edits").textContent === "4"`)
	if got := p.Text("#grid-errors"); got == "" {
		t.Error("what is still wrong is not said any more")
	}
	p.Press(kb.ArrowUp + kb.ArrowUp)
	p.at("arborist")
	p.Press(kb.Escape)
	p.holds("arborist", "51.00")
	browser.Eval[bool](p.Page, `document.querySelector("#f-base-arborist").select(); true`)
	p.Press("55" + kb.Enter)
	p.Wait(`!document.querySelector("[aria-invalid]") && document.querySelector("#grid-errors").textContent === ""`)
}

// columnInBrowser pastes a column, and then meets another user's edit and a service
// that does not answer.
func columnInBrowser(t *testing.T, chromium *browser.Browser) {
	p := openGrid(t, chromium)
	// A column of a spreadsheet fills the rows below.
	browser.Eval[bool](p.Page, `(() => { const data = new DataTransfer(); data.setData("text/plain", "61\r\n62.5\r\n63\r\n");
		const cell = document.querySelector("#f-base-arborist"); cell.focus();
		return cell.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true})) === false })()`)
	p.Wait(`document.querySelector("#grid-undo")?.textContent.includes("3")`)
	if a, b := p.Base(t, "arborist"), p.Base(t, "architect"); a != 6100 || b != 6250 {
		t.Errorf("pasted: bases %d and %d", a, b)
	}

	// Another user's edit is detected, and the rows are not overwritten.
	if err := p.Service(models.Administrator).SetBase(t.Context(), p.Draft.ID, pricingrules.Target{Industry: "mason", Country: "GB"}, 0, 4400); err != nil {
		t.Fatal(err)
	}
	p.Click(cell("plumber"))
	p.Press("70" + kb.Enter)
	p.Wait(`!document.querySelector("#others").hidden`)
	browser.Eval[bool](p.Page, `scrollTo(0, 0); true`) // nothing under the bar
	p.Axe()

	// An address that does not answer is said, and what was typed stays.
	p.Exec(t, `ALTER TABLE rate_card_edits RENAME TO away`)
	p.Click(cell("roofer"))
	p.Press("71" + kb.Enter)
	p.Wait(`!document.querySelector("#save-error").hidden && document.querySelector("#f-base-roofer").value === "71"`)
	p.Exec(t, `ALTER TABLE away RENAME TO rate_card_edits`)
	p.Click(cell("roofer"))
	p.Press(kb.Enter)
	p.Wait(`document.querySelector("#save-error").hidden && document.querySelector("#f-base-roofer").value === "71.00"`)
	quiet(t, p.Page)
}

// gridWithoutScript saves a cell with Enter alone, on a narrow screen.
func gridWithoutScript(t *testing.T, chromium *browser.Browser) {
	d := admintest.NewConsoleWithDraft(t)
	p := chromium.Page(t, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	signIn(d.Console, p, "pricing_manager@example.com")
	p.Open(d.Console.URL + d.DraftURL + "?q=plumb")
	p.Type("#f-base-plumber", "61.5")
	p.Submit("#row-plumber button")
	if got := p.Address(); got != d.Console.URL+d.DraftURL+"?country=GB&q=plumb#f-base-plumber" || d.Base(t, "plumber") != 6150 {
		t.Errorf("at %s, base %d", got, d.Base(t, "plumber"))
	}
	p.CheckNoOverflow()
	p.Submit("#grid-undo button")
	if d.Base(t, "plumber") != 0 {
		t.Error("it was not undone")
	}
}
