package browser

import (
	"context"
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

// Page is a tab. Its methods fail the test when they cannot do what they say.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string
	opened     string // its own status is not a complaint
	name       string // of what is looked at now, for messages
}

// At names what is looked at from now on, for the messages.
func (p *Page) At(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = name
}

// do gives the value of an action, which must come in time.
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

// listen keeps what the browser complains about; the policy's violations are
// among the log's entries.
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

// ConsoleErrors returns what the browser reported so far, and forgets it.
func (p *Page) ConsoleErrors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.complaints
	p.complaints = nil
	return all
}

// Open goes to an address and waits until it is loaded.
func (p *Page) Open(url string) {
	p.t.Helper()
	p.mu.Lock()
	p.opened = url
	p.mu.Unlock()
	do(p, chromedp.Navigate(url))
}

// Click presses what the selector finds, once it can be seen.
func (p *Page) Click(selector string) {
	p.t.Helper()
	do(p, press(selector))
}

// press presses what the selector finds, once it can be seen. A part of the page that
// comes anew by itself may take away what was found: then what came is pressed.
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

// MouseDown presses the mouse button on the selected element until letGo is called.
func (p *Page) MouseDown(selector string) (letGo func()) {
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

// Submit presses a button or a link, and waits for the page that it leads to.
func (p *Page) Submit(selector string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, press(selector)); err != nil {
		p.t.Fatal(err)
	}
}

// Type writes into a field, after what it holds.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	do(p, chromedp.SendKeys(chromedp.CSS(selector), text, chromedp.NodeVisible))
}

// Press presses a key (a letter, or one of chromedp's kb) with modifiers.
func (p *Page) Press(key string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	for _, r := range key {
		// The letter goes with the key's press, as from a keyboard: a page that
		// takes the press for itself then gets no letter.
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

// Text is what can be read in the first element that the selector finds.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return do(p, chromedp.Text(chromedp.CSS(selector)))
}

// Eval gives the value of an expression.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return do(p, chromedp.Evaluate[T](expression))
}

// Address is where the page is.
func (p *Page) Address() string {
	p.t.Helper()
	return do(p, chromedp.Location())
}

// Wait waits until an expression is true. The page may go elsewhere meanwhile: an
// expression that cannot be asked then is not true yet.
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
			p.t.Fatalf("never came true: %s (%v)", expression, err)
		}
	}
}

// CheckNoOverflow fails the test when the page is wider than the window, or a row of tabs scrolls
// up and down.
func (p *Page) CheckNoOverflow() {
	p.t.Helper()
	wide := Eval[string](p, `(() => {
		const root = document.documentElement, most = root.clientWidth;
		if (root.scrollWidth <= most) return "";
		const over = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > most + 1 && e.checkVisibility());
		return root.scrollWidth + " > " + most + ": " + over.slice(-3).map((e) => e.outerHTML.slice(0, 160)).join(" | ");
	})()`)
	if wide != "" {
		p.t.Errorf("%s: the page scrolls sideways: %s", p.name, wide)
	}
	if tall := Eval[string](p, `[...document.querySelectorAll(".tabs")].map((e) => [e.scrollHeight, e.clientHeight]).filter(([all, shown]) => all > shown).join(" and ")`); tall != "" {
		p.t.Errorf("%s: the tabs scroll up and down: %s", p.name, tall)
	}
}

// Screenshot writes the whole page to a PNG file.
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
