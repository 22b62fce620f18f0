package web

import (
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/templates/ui"
)

// privacyArea is the start of the URLs of all pages in the area Privacy.
const privacyArea = "/privacy"

var privacyPages = []struct {
	label, path string
	needs       authz.Permission
}{
	{"Requests", privacyArea + "/requests", ReadRequests},
	{"Legal holds", privacyArea + "/holds", ReadRetention},
	{"Disclosure texts", privacyArea + "/disclosures", ReadDisclosures},
	{"Notes", privacyArea + "/notes", ReadNotes},
	{"Retention", privacyArea + "/retention", ReadRetention},
}

// PrivacyTabs returns the tabs of the area Privacy that the user may see.
func (k *Request) PrivacyTabs() (tabs []ui.Tab) {
	for _, p := range privacyPages {
		if k.May(p.needs) {
			tabs = append(tabs, ui.Tab{Label: p.label, URL: p.path, Current: k.inArea(p.path)})
		}
	}
	return tabs
}

// firstURL returns the URL of the first tab, or "" if there are no tabs.
func firstURL(tabs []ui.Tab) string {
	if len(tabs) == 0 {
		return ""
	}
	return tabs[0].URL
}
