package admin_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

var (
	titleText = regexp.MustCompile(`<title>([^<]*)</title>`)
	tabLink   = regexp.MustCompile(`href="([^"]*\?tab=[a-z]+)"`)
	helpLink  = regexp.MustCompile(`href="https://github.com/pingpost/pingpost/blob/main/docs/([^"#]*)#?([^"]*)"`)
)

// TestTitlesAndHelp checks that each tab has a title of its own, and that pages link to a documentation page that exists.
func TestTitlesAndHelp(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	draft := "/pricing/drafts/" + ratecard.ID(o.AddFullDraft(t).ID)
	b := o.SignedInEverywhere(t)
	titles := map[string]string{}
	for page, tabs := range map[string]int{o.PartnerURL: 9, draft: 3, "/staff/" + o.StaffID(models.Auditor): 2} {
		links := tabLink.FindAllStringSubmatch(b.Get(t, page).Body, -1)
		if len(links) < tabs {
			t.Fatalf("%s has %d tabs, want at least %d", page, len(links), tabs)
		}
		for _, link := range links {
			title := titleText.FindString(b.Get(t, link[1]).Body)
			if other, ok := titles[title]; ok && other != link[1] || title == "" {
				t.Errorf("%s and %s have the title %s", link[1], other, title)
			}
			titles[title] = link[1]
		}
	}
	for _, r := range admin.Routes(o.Options) {
		if r.Page == "" {
			continue
		}
		help := helpLink.FindStringSubmatch(b.Get(t, r.Path).Body)
		if help == nil {
			t.Errorf("%s has no link to its documentation", r.Path)
			continue
		}
		content, err := os.ReadFile(filepath.Join("..", "docs", help[1]))
		heading := strings.ReplaceAll(help[2], "-", " ")
		if err != nil || !strings.Contains(strings.ReplaceAll(strings.ToLower(string(content)), ",", ""), heading) {
			t.Errorf("%s links to %s#%s, which does not exist", r.Path, help[1], help[2])
		}
	}
}
