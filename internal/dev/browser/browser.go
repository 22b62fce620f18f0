// Package browser drives Chromium in tests, to check how pages look and behave. A test fails if the
// browser reports an error or warning on the console, an exception, or a violation of the page's
// Content-Security-Policy.
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

// patience is how long a test waits for a page. On a busy machine, checking a long page takes more than
// 20 seconds.
const patience = time.Minute

// Browser is a Chromium process. Parallel tests share it, but each test has its own pages.
type Browser struct {
	ctx context.Context
}

// headlessShell is a build of Chromium without a user interface. The usual Chromium needs twice the
// processor time, even in headless mode.
const headlessShell = "chromium-headless-shell"

// Start runs Chromium until the test ends. It uses the program whose path is in the environment variable
// CHROMIUM. If the variable is not set, it uses the headless shell. If the headless shell is not
// installed, it uses the system's Chromium.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.NoSandbox, // root cannot use the sandbox, and the pages are trusted
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
		// Pages are too short-lived to benefit from optimized code. Without the optimizing
		// compiler, a test run needs 10% less processor time.
		chromedp.Flag("js-flags", "--no-opt"),
	}
	shell, _ := exec.LookPath(headlessShell)
	if program := cmp.Or(os.Getenv("CHROMIUM"), shell); program != "" {
		options = append(options, chromedp.ExecPath(program))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	// Do not log events that are unknown to the library.
	silent := func(string, ...any) {}
	ctx, closeBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(silent), chromedp.WithLogf(silent))
	if err := chromedp.Do(ctx); err != nil {
		stop() // closeBrowser would wait for a browser that never started
		t.Fatalf("cannot start Chromium: %v (install it, or set CHROMIUM to its path)", err)
	}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the process has exited; the error does not matter
		closeBrowser()
		stop()
	})
	return &Browser{ctx: ctx}
}

// Emulation determines how the browser displays a page.
type Emulation struct {
	Width, Height int // 1280 by 800 if zero
	Dark          bool
	NoScript      bool
	Print         bool // print layout
}

// Page opens an empty page with its own storage and cookies. When the test ends, the page is
// closed, and the test fails if the browser reported an error.
func (b *Browser) Page(t testing.TB, look Emulation) *Page {
	t.Helper()
	ctx, closePage := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	p := &Page{t: t, ctx: ctx}
	t.Cleanup(func() {
		closePage()
		for _, complaint := range p.ConsoleErrors() {
			t.Errorf("browser error: %s", complaint)
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
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // so that each page behaves as if it had the focus
	p.Emulate(look)
	return p
}

// Emulate changes how the browser displays the page, without reloading the page.
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
		// The change takes effect with the next frame.
		do(p,
			chromedp.Evaluate[bool](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`,
				chromedp.EvalAwaitPromise))
	}
}

// Advance moves the page's clock forward by d and stops it there. Timers that are due within this time
// fire immediately.
func (p *Page) Advance(d time.Duration) {
	p.t.Helper()
	budget := float64(d.Milliseconds())
	params := emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyAdvance, Budget: &budget}
	if _, err := chromedp.Call(p.ctx, emulation.SetVirtualTimePolicy, params); err != nil {
		p.t.Fatal(err)
	}
}

func call[P any](p *Page, command cdp.Command[P, cdp.Empty], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatal(err)
	}
}
