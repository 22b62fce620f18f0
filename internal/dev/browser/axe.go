package browser

import (
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// axeFile is the path at which npm installs axe-core, relative to the root of the repository.
const axeFile = "admin/assets/node_modules/axe-core/axe.min.js"

var axeSource = sync.OnceValues(func() (string, error) {
	// Tests run in their package's folder, so the root is one of its parents.
	path := axeFile
	for range 6 {
		if source, err := os.ReadFile(path); err == nil {
			return string(source), nil
		}
		path = "../" + path
	}
	source, err := os.ReadFile(axeFile)
	return string(source), err
})

type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML           string
		FailureSummary string
	}
}

const allTags = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`

// Axe runs all accessibility checks of axe-core and reports each violation as a test failure. It loads
// axe-core through the debugger, so that the page's Content-Security-Policy stays in effect.
func (p *Page) Axe() {
	p.t.Helper()
	p.axe(`{runOnly: ` + allTags + `}`)
}

// colourRules are axe-core's rules about colours. Checking them takes more than half of the time of a
// full check.
const colourRules = `["color-contrast", "link-in-text-block"]`

// AxeColours runs only the accessibility checks of colours. Use it for a page that Axe has already
// checked in the other colour scheme (light or dark).
func (p *Page) AxeColours() {
	p.t.Helper()
	p.axe(`{runOnly: {type: "rule", values: ` + colourRules + `}}`)
}

// AxeExceptColours runs all accessibility checks except those of colours. Use it for a page whose
// colours are checked at another window width.
func (p *Page) AxeExceptColours() {
	p.t.Helper()
	p.axe(`{runOnly: ` + allTags + `, rules: Object.fromEntries(` + colourRules + `.map((rule) => [rule, {enabled: false}]))}`)
}

func (p *Page) axe(options string) {
	p.t.Helper()
	source, err := axeSource()
	if err != nil {
		p.t.Fatal("axe-core is not installed: run `make needs`")
	}
	if Eval[bool](p, `!window.axe`) {
		do(p, chromedp.Evaluate[chromedp.Void](source))
	}
	report := do(p,
		chromedp.Evaluate[string](`axe.run(document, {resultTypes: ["violations"], ...`+options+
			`}).then((r) => JSON.stringify(r.violations))`,
			chromedp.EvalAwaitPromise))
	var found []violation
	if err := json.Unmarshal([]byte(report), &found); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range found {
		for _, n := range v.Nodes {
			p.t.Errorf("%s: axe: %s (%s)\n  %s\n  %s", p.name, v.ID, v.Help, n.HTML,
				strings.ReplaceAll(n.FailureSummary, "\n", "\n  "))
		}
	}
}
