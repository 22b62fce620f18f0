package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Page is a browser tab. Its methods fail the test if they do not succeed.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string
	opened     string // URL of the current page; an error status for this URL is not reported
	name       string // name of the current step, for messages
}

// At sets the name of the current step of the test. Failure messages contain this name.
func (p *Page) At(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = name
}

func do[T any](p *Page, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// listen records the errors that the browser reports, including violations of the
// Content-Security-Policy.
func (p *Page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	complain := func(what string) { p.complaints = append(p.complaints, p.name+": "+what) }
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		complain((&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning ||
			e.Type == runtime.ConsoleAPICalledTypeAssert {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			complain("console: " + strings.Join(said, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && (e.Entry.Source != log.EntrySourceNetwork || e.Entry.URL != p.opened) {
			complain(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	}
}

// ConsoleErrors returns the errors that the browser has reported, and clears them.
func (p *Page) ConsoleErrors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.complaints
	p.complaints = nil
	return all
}

// Open goes to a URL and waits until the page is loaded.
func (p *Page) Open(url string) {
	p.t.Helper()
	p.mu.Lock()
	p.opened = url
	p.mu.Unlock()
	do(p, chromedp.Navigate(url))
}

// Click clicks the first element that matches the selector, once it is visible.
func (p *Page) Click(selector string) {
	p.t.Helper()
	do(p, press(selector))
}

// press returns an action that clicks the first element that matches the selector, as soon as the
// element is visible. If the page replaces the element before the click, the action clicks the new
// element.
func press(selector string) chromedp.Action[chromedp.Void] {
	click := chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible)
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for {
			done, err := click(ctx, t)
			if rejected, ok := errors.AsType[*cdproto.Error](err); !ok || rejected.Message != "Could not find node with given id" {
				return done, err
			}
		}
	}
}

// MouseDown holds the mouse button down on an element until the returned function is called.
func (p *Page) MouseDown(selector string) (release func()) {
	p.t.Helper()
	at := Eval[[2]float64](p,
		fmt.Sprintf(`(() => { const at = document.querySelector(%q).getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2] })()`,
			selector))
	mouse := func(what input.DispatchMouseEventType) {
		p.t.Helper()
		call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type:       what,
			X:          at[0],
			Y:          at[1],
			Button:     input.MouseButtonLeft,
			ClickCount: 1,
		})
	}
	mouse(input.DispatchMouseEventTypeMousePressed)
	return func() { p.t.Helper(); mouse(input.DispatchMouseEventTypeMouseReleased) }
}

// Submit clicks a button or link and waits for the next page.
func (p *Page) Submit(selector string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, press(selector)); err != nil {
		p.t.Fatal(err)
	}
}

// Type appends text to a field.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	do(p, chromedp.SendKeys(chromedp.CSS(selector), text, chromedp.NodeVisible))
}

// Press presses a key with modifiers. The key is a letter or a constant of chromedp's package kb.
func (p *Page) Press(key string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	for _, r := range key {
		// Send the text together with the key press, as a keyboard does, so that it is not entered if
		// the page handles the key press.
		events := kb.Encode(r)
		for _, e := range events {
			chromedp.KeyModifiers(modifiers...)(e)
			if e.Type == kb.KeyChar && e.Modifiers&^int64(chromedp.ModifierShift) == 0 {
				events[0].Type, events[0].Text = input.DispatchKeyEventTypeKeyDown, e.Text
			}
		}
		for _, e := range events {
			if e.Type != kb.KeyChar {
				call(p, input.DispatchKeyEvent, *e)
			}
		}
	}
}

// Text returns the visible text of the first element that matches the selector.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return do(p, chromedp.Text(chromedp.CSS(selector)))
}

// Eval returns the value of a JavaScript expression.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return do(p, chromedp.Evaluate[T](expression))
}

// Address returns the page's URL.
func (p *Page) Address() string {
	p.t.Helper()
	return do(p, chromedp.Location())
}

// Wait waits until a JavaScript expression is true. While the page is navigating, the expression
// cannot be evaluated and counts as false.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && holds {
			return
		}
		if ctx.Err() != nil {
			p.t.Fatalf("never became true: %s (%v)", expression, err)
		}
	}
}

// CheckTitle waits until the page has loaded. It fails the test unless the page has exactly one first-level heading,
// and a title that ends with this heading and the product's name. The title can start with the label of a tab.
func (p *Page) CheckTitle() {
	p.t.Helper()
	p.Wait(`document.readyState === "complete"`) // the address changes before the page has a heading
	const script = `JSON.stringify([document.title,
		...[...document.querySelectorAll("h1")].map((heading) => heading.innerText.trim())])`
	var texts []string
	if err := json.Unmarshal([]byte(Eval[string](p, script)), &texts); err != nil {
		p.t.Fatal(err)
	}
	if len(texts) != 2 || !strings.HasSuffix(" – "+texts[0], " – "+texts[1]+" – pingpost") {
		p.t.Errorf("%s: got title and headings %q", p.name, texts)
	}
}

// CheckNoOverflow fails the test if the page is wider than the window, or if a row of tabs
// scrolls vertically.
func (p *Page) CheckNoOverflow() {
	p.t.Helper()
	wide := Eval[string](p, `(() => {
		const root = document.documentElement, most = root.clientWidth;
		if (root.scrollWidth <= most) return "";
		const over = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > most + 1 && e.checkVisibility());
		return root.scrollWidth + " > " + most + ": " + over.slice(-3).map((e) => e.outerHTML.slice(0, 160)).join(" | ");
	})()`)
	if wide != "" {
		p.t.Errorf("%s: the page scrolls horizontally: %s", p.name, wide)
	}
	if tall := Eval[string](p, `[...document.querySelectorAll(".tabs")].map((e) => [e.scrollHeight, e.clientHeight]).filter(([all, shown]) => all > shown).join(" and ")`); tall != "" {
		p.t.Errorf("%s: the tabs scroll vertically: %s", p.name, tall)
	}
}

// CheckBaselines fails the test if the text of a status badge is not on the baseline of the heading beside it. In a
// narrow window, the badge can be on the next line, which is more than 12 px lower.
func (p *Page) CheckBaselines() {
	p.t.Helper()
	crooked := Eval[string](p, `(() => {
		const baseline = (element) => {
			const mark = document.createElement("span");
			mark.style.cssText = "display: inline-block; width: 0; height: 0";
			element.append(mark);
			const at = mark.getBoundingClientRect().bottom;
			mark.remove();
			return at;
		};
		return [...document.querySelectorAll(".section-head, .path summary")].map((head) => {
			const title = head.querySelector("h1, h2, h3"), badge = head.querySelector(".status");
			if (!title || !badge || !title.checkVisibility()) return "";
			const text = document.createElement("span");
			text.append(...[...badge.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE));
			badge.append(text);
			const apart = baseline(text) - baseline(title);
			return apart === 0 || Math.abs(apart) > 12 ? "" : title.textContent.trim() + ": " + apart + " px";
		}).filter(Boolean).join(", ");
	})()`)
	if crooked != "" {
		p.t.Errorf("%s: badges are not on the baseline of their headings: %s", p.name, crooked)
	}
}

// CheckTableBaselines fails the test if texts in the same row of a table are not on one baseline: the headings of each
// table, and the first lines of the cells of one-line tables. It compares only texts in the same font, which are at the
// same distance from their baselines. In narrow windows, the cells of a row are not beside each other.
func (p *Page) CheckTableBaselines() {
	p.t.Helper()
	crooked := Eval[string](p, `(() => {
		const lines = (cell) => {
			const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
			const all = [];
			for (let node = walker.nextNode(); node; node = walker.nextNode()) {
				const parent = node.parentElement;
				if (!node.textContent.trim() || !parent.checkVisibility() || parent.closest(".sr-only")) continue;
				const style = getComputedStyle(parent), range = document.createRange();
				range.selectNodeContents(node);
				for (const box of range.getClientRects()) {
					all.push({font: style.fontFamily + style.fontSize, at: box.bottom});
				}
			}
			return all;
		};
		const check = (row, pick) => {
			const cells = [...row.cells].filter((cell) => getComputedStyle(cell).display === "table-cell");
			const texts = cells.map((cell) => pick(lines(cell))).filter(Boolean);
			const apart = texts.filter((text) => text.font === texts[0].font)
				.map((text) => Math.round(2 * (text.at - texts[0].at)) / 2);
			if (apart.every((distance) => distance === 0)) return "";
			return row.textContent.trim().replace(/\s+/g, " ").slice(0, 60) + ": " + apart.join(", ") + " px";
		};
		return [
			...[...document.querySelectorAll(".table thead tr")].map((row) => check(row, (all) => all.at(-1))),
			...[...document.querySelectorAll(".one-line tbody tr")].map((row) => check(row, (all) => all[0])),
		].filter(Boolean).join("; ");
	})()`)
	if crooked != "" {
		p.t.Errorf("%s: texts in a row are not on one baseline: %s", p.name, crooked)
	}
}

// Screenshot saves a screenshot of the whole page as a PNG file.
func (p *Page) Screenshot(file string) {
	p.t.Helper()
	small, err := shrink(do(p, chromedp.FullScreenshot(100)))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, small, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
