package browser

import (
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// axeFile is where npm puts axe-core, seen from the root of the repository.
const axeFile = "admin/assets/node_modules/axe-core/axe.min.js"

var axeSource = sync.OnceValues(func() (string, error) {
	// Tests run in their package's folder: the root is one of those above.
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

// Axe looks for what keeps people from using the page, and fails the test for each
// finding. It comes in through the debugger, which the page's policy does not
// concern: the policy stays as it is, and is still measured.
func (p *Page) Axe() {
	p.t.Helper()
	p.axe(`{runOnly: ` + allTags + `}`)
}

// colourRules are the rules about colours. They take more than half of the time that all
// rules take.
const colourRules = `["color-contrast", "link-in-text-block"]`

// AxeColours applies only the rules about colours: for a page that Axe has checked in the
// other colour scheme.
func (p *Page) AxeColours() {
	p.t.Helper()
	p.axe(`{runOnly: {type: "rule", values: ` + colourRules + `}}`)
}

// AxeExceptColours applies all rules but those about colours: for a page whose colours are
// checked at another width.
func (p *Page) AxeExceptColours() {
	p.t.Helper()
	p.axe(`{runOnly: ` + allTags + `, rules: Object.fromEntries(` + colourRules + `.map((rule) => [rule, {enabled: false}]))}`)
}

func (p *Page) axe(options string) {
	p.t.Helper()
	source, err := axeSource()
	if err != nil {
		p.t.Fatal("axe-core is not there: run `make assets`")
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
