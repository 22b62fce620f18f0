// Package browser drives the system's Chromium in tests: what a page looks like
// and does is tried where people use it. Whatever the browser complains about
// (an error on the console, an exception, something that the page's own policy
// forbids) fails the test.
package browser

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a page may take to do what a test waits for.
const patience = 20 * time.Second

// Browser is one Chromium; tests that run side by side share it, each with pages
// of its own.
type Browser struct {
	ctx context.Context
}

// headlessShell is Chromium without windows, menus and an address bar. Chromium itself has
// them when it runs headless too, and takes twice the processor time.
const headlessShell = "chromium-headless-shell"

// Start runs Chromium until the test ends: the program named in CHROMIUM, else the headless
// shell, else the system's. Its profile is a new folder, removed afterwards.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.NoSandbox, // root has none, and the pages are our own
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-extensions", true),
		chromedp.Flag("disable-default-apps", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("font-render-hinting", "none"),
		// Pages are too short-lived for optimized code to pay off: without the optimizing
		// compiler, a test run takes a tenth less processor time.
		chromedp.Flag("js-flags", "--no-opt"),
	}
	shell, _ := exec.LookPath(headlessShell)
	if program := cmp.Or(os.Getenv("CHROMIUM"), shell); program != "" {
		options = append(options, chromedp.ExecPath(program))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	// The library logs events that it does not know yet; they are no finding.
	silent := func(string, ...any) {}
	ctx, closeBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(silent), chromedp.WithLogf(silent))
	if err := chromedp.Do(ctx); err != nil {
		stop() // closeBrowser would wait for what never began
		t.Fatalf("Chromium does not start: %v (install it, or name its program in CHROMIUM)", err)
	}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the process, which is gone either way
		closeBrowser()
		stop()
	})
	return &Browser{ctx: ctx}
}

// Emulation is the window and colour scheme in which a page is tested.
type Emulation struct {
	Width, Height int // 1280 by 800 when they are zero
	Dark          bool
	NoScript      bool
	Print         bool // as on paper
}

// Page opens an empty page with storage and cookies of its own. It is closed when
// the test ends, which then fails for each complaint.
func (b *Browser) Page(t testing.TB, look Emulation) *Page {
	t.Helper()
	ctx, closePage := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	p := &Page{t: t, ctx: ctx}
	t.Cleanup(func() {
		closePage()
		for _, complaint := range p.ConsoleErrors() {
			t.Errorf("the browser complains: %s", complaint)
		}
	})
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	may := browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-write"}, Setting: browser.PermissionSettingGranted,
		BrowserContextID: chromedp.FromContext(ctx).BrowserContextID,
	}
	if _, err := chromedp.CallBrowser(ctx, browser.SetPermission, may); err != nil {
		t.Fatal(err)
	}
	call(p, log.Enable, cdp.Empty{})
	call(p, runtime.Enable, cdp.Empty{})
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // as if each page were in front
	p.Emulate(look)
	return p
}

// Emulate changes the emulation of a page without reloading it.
func (p *Page) Emulate(look Emulation) {
	p.t.Helper()
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(cmp.Or(look.Width, 1280)), Height: int64(cmp.Or(look.Height, 800)), DeviceScaleFactor: 1,
	})
	media := "screen"
	if look.Print {
		media = "print"
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media,
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: look.NoScript})
	if !look.NoScript {
		// What was asked for is there once it has been drawn.
		do(p,
			chromedp.Evaluate[bool](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`,
				chromedp.EvalAwaitPromise))
	}
}

// call gives the page's tab a command that answers nothing.
func call[P any](p *Page, command cdp.Command[P, cdp.Empty], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatal(err)
	}
}
