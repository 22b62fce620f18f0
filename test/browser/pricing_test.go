package browser_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// everyDraftPage checks the pages on which users change prices.
func everyDraftPage(t *testing.T, chromium *browser.Browser) {
	d := admintest.NewConsoleWithDraft(t)
	d.Cell(t, "plumber", "0", "61.5")
	d.Cell(t, "roofer", "0", "148")
	d.Post(t, d.DraftURL+"/rules/new", url.Values{
		"version":   {"3"},
		"industry":  {"arborist"},
		"country":   {"GB"},
		"floor-GBP": {"250"},
		"note":      {"Climbing gear is expensive"},
	})
	d.BeginDraft(t)
	d.Cell(t, "plumber", "0", "55")
	d.Cell(t, "electrician", "0", "40")
	d.Post(t, d.DraftURL+"/rules/new", url.Values{
		"version":   {"3"},
		"industry":  {"arborist"},
		"country":   {"GB"},
		"floor-GBP": {"250"},
		"note":      {"Climbing gear is expensive"},
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
	for _, page := range pages {
		p.Open(d.Console.URL + page.path)
		check(p, page.name)
	}
	p.Open(d.Console.URL + d.DraftURL + "/import")
	p.Type(`textarea[name="text"]`, "industry,country,base\nplumber,GB,62\nroofer,DE,170\n")
	p.Submit(`main form[action$="/import"] button[type="submit"]`)
	check(p, "draft-import-dry-run")
	p.Submit(`main form[action$="/import"] a`)
	p.Type(`textarea[name="text"]`, "industry,country,base\nplumbr,GB,62\nroofer,DE,-170\n")
	p.Submit(`main form[action$="/import"] button[type="submit"]`)
	check(p, "draft-import-mistakes")
	p.Open(d.Console.URL + d.DraftURL + "?category=home-services")
	p.Click(`.bulk summary`)
	p.Type(`.bulk input[name="amount"]`, "+4.5")
	p.Submit(`.bulk button[type="submit"]`)
	check(p, "draft-bulk")
	p.Open(d.Console.URL + d.DraftURL + "?q=pl")
	p.Click(`.bulk summary`)
	p.Type(`.bulk input[name="amount"]`, "lots")
	p.Submit(`.bulk button[type="submit"]`)
	check(p, "draft-bulk-mistake")
	expectOnlyStatusErrors(t, p)
	reader := chromium.Page(t, browser.Emulation{})
	signIn(d.Console, reader, "auditor@example.com")
	reader.Open(d.Console.URL + d.DraftURL + "?q=pl")
	check(reader, "draft-grid-read")
	expectOnlyStatusErrors(t, reader)
	checkLongNames(t, d.Console, p, pages)
	expectOnlyStatusErrors(t, p)
}

// draftGrid is the grid of a draft in a browser.
type draftGrid struct {
	admintest.ConsoleWithDraft
	*browser.Page
}

func openGrid(t *testing.T, chromium *browser.Browser) draftGrid {
	t.Helper()
	p := draftGrid{admintest.NewConsoleWithDraft(t), chromium.Page(t, browser.Emulation{})}
	signIn(p.Console, p.Page, "pricing_manager@example.com")
	p.Open(p.Console.URL + p.ConsoleWithDraft.DraftURL + "?category=home-services")
	return p
}

func cell(name string) string { return "#f-base-" + name }

// awaitFocus waits until the given cell has the focus.
func (g draftGrid) awaitFocus(name string) {
	g.Wait(fmt.Sprintf(`document.activeElement.id === "f-base-%s"`, name))
}

// awaitValue waits until the given cell contains the expected value.
func (g draftGrid) awaitValue(name, want string) {
	g.Wait(fmt.Sprintf(`document.querySelector("%s").value === %q`, cell(name), want))
}

// gridInBrowser uses the grid like a spreadsheet.
func gridInBrowser(t *testing.T, chromium *browser.Browser) {
	p := openGrid(t, chromium)
	browser.Eval[bool](p.Page, `document.querySelector(".bar").dataset.kept = ""; true`)

	// Enter saves the value and moves the focus down, even if earlier responses have not arrived yet.
	p.Click(cell("arborist"))
	p.Press("51" + kb.Enter)
	p.awaitFocus("architect")
	p.Press("52.5" + kb.Enter + "53" + kb.ArrowDown)
	p.Wait(`document.querySelectorAll("[data-grid] ins").length === 3 && document.querySelector("#draft-edits").textContent === "3"`)
	p.awaitValue("arborist", "51.00")
	if a, b := p.Base(t, "arborist"), p.Base(t, "architect"); a != 5100 || b != 5250 {
		t.Errorf("got base prices %d and %d, want 5100 and 5250", a, b)
	}
	p.Wait(`document.querySelector("#grid-undo").textContent.includes("53.00 GBP")`)

	// Esc restores the saved value. The arrow keys only move the focus.
	p.Press(kb.ArrowUp + kb.ArrowUp)
	p.awaitFocus("architect")
	p.Press("9" + kb.Escape)
	p.awaitValue("architect", "52.50")
	p.Press(kb.ArrowUp)
	p.awaitFocus("arborist")

	rejectedInGrid(t, p)

	// A new price for the category must appear in the rows below it that inherit the price.
	p.Click(cell("category-home-services"))
	p.Press("33" + kb.Enter)
	p.Wait(`document.querySelector("#f-base-category-home-services").value === "33.00"`)

	if browser.Eval[bool](p.Page, `document.querySelector(".bar").dataset.kept !== ""`) {
		t.Error("the page was reloaded")
	}
	expectOnlyStatusErrors(t, p.Page) // for example, 422 for the rejected value
}

// rejectedInGrid enters an invalid value in the cell for arborists.
func rejectedInGrid(t *testing.T, p draftGrid) {
	t.Helper()
	// A rejected value stays in its cell, and the reason is shown. The user can continue in the
	// next row.
	p.Press("45,60" + kb.Enter)
	p.awaitFocus("architect")
	p.Wait(`document.querySelector("#f-base-arborist[aria-invalid]")?.value === "45,60" && document.querySelector("#grid-errors").textContent.includes("45.60")`)
	p.awaitFocus("architect")
	p.Axe()
	p.Press("54" + kb.Enter)
	p.Wait(`document.querySelector("#draft-edits").textContent === "4"`)
	if got := p.Text("#grid-errors"); got == "" {
		t.Error("the error disappeared before the value was corrected")
	}
	p.Press(kb.ArrowUp + kb.ArrowUp)
	p.awaitFocus("arborist")
	p.Press(kb.Escape)
	p.awaitValue("arborist", "51.00")
	browser.Eval[bool](p.Page, `document.querySelector("#f-base-arborist").select(); true`)
	p.Press("55" + kb.Enter)
	p.Wait(`!document.querySelector("[aria-invalid]") && document.querySelector("#grid-errors").textContent === ""`)
}

// columnInBrowser pastes a column. It then edits cells that another user has edited in the meantime, and
// cells that the service cannot save.
func columnInBrowser(t *testing.T, chromium *browser.Browser) {
	p := openGrid(t, chromium)
	// If the user pastes a column from a spreadsheet, it fills the rows below.
	browser.Eval[bool](p.Page, `(() => { const data = new DataTransfer(); data.setData("text/plain", "61\r\n62.5\r\n63\r\n");
		const cell = document.querySelector("#f-base-arborist"); cell.focus();
		return cell.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true})) === false })()`)
	p.Wait(`document.querySelector("#grid-undo")?.textContent.includes("3")`)
	if a, b := p.Base(t, "arborist"), p.Base(t, "architect"); a != 6100 || b != 6250 {
		t.Errorf("got pasted base prices %d and %d, want 6100 and 6250", a, b)
	}

	// The page must detect another user's edit and must not overwrite the rows.
	if err := p.Service(models.Administrator).SetBase(t.Context(), p.Draft.ID, pricingrules.Target{Industry: "mason", Country: "GB"}, 0, 4400); err != nil {
		t.Fatal(err)
	}
	p.Click(cell("plumber"))
	p.Press("70" + kb.Enter)
	p.Wait(`!document.querySelector("#others").hidden`)
	browser.Eval[bool](p.Page, `scrollTo(0, 0); true`) // so that the bar does not cover any cells
	p.Axe()

	// If the service cannot save a value, the page shows an error, and the value stays in the cell.
	p.Exec(t, `ALTER TABLE rate_card_edits RENAME TO away`)
	p.Click(cell("roofer"))
	p.Press("71" + kb.Enter)
	p.Wait(`!document.querySelector("#save-error").hidden && document.querySelector("#f-base-roofer").value === "71"`)
	p.Exec(t, `ALTER TABLE away RENAME TO rate_card_edits`)
	p.Click(cell("roofer"))
	p.Press(kb.Enter)
	p.Wait(`document.querySelector("#save-error").hidden && document.querySelector("#f-base-roofer").value === "71.00"`)
	expectOnlyStatusErrors(t, p.Page)
}

// gridWithoutScript saves a cell and undoes the edit on a narrow screen. Scripts are turned off.
func gridWithoutScript(t *testing.T, chromium *browser.Browser) {
	d := admintest.NewConsoleWithDraft(t)
	p := chromium.Page(t, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	signIn(d.Console, p, "pricing_manager@example.com")
	p.Open(d.Console.URL + d.DraftURL + "?q=plumb")
	p.Type("#f-base-plumber", "61.5")
	p.Submit("#row-plumber button")
	if got := p.Address(); got != d.Console.URL+d.DraftURL+"?country=GB&q=plumb#f-base-plumber" || d.Base(t, "plumber") != 6150 {
		t.Errorf("got page %s and base price %d", got, d.Base(t, "plumber"))
	}
	p.CheckNoOverflow()
	p.Submit("#grid-undo button")
	if d.Base(t, "plumber") != 0 {
		t.Error("the edit was not undone")
	}
}
