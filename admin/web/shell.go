package web

import (
	"net/http"
	"time"

	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/templates/ui"
)

// Shell returns the layout of a page: its title, breadcrumbs, navigation and notices.
func (k *Request) Shell(title string, above ...ui.Link) ui.Shell {
	s := ui.Shell{
		Title:       title,
		Environment: k.console.Environment,
		Theme:       k.theme(),
		Path:        k.path(),
		HelpURL:     k.helpURL(),
		Now:         k.Now,
		Assets:      k.console.assets,
		Crumbs:      above,
		Notices:     k.Notices,
	}
	if !k.SignedIn() {
		return s
	}
	if n, ok := submittedNotices[k.R.URL.Query().Get("submitted")]; ok {
		s.Notices = append(s.Notices, n)
	}
	s.FindsLeads = k.May(FindLeads)
	s.Person = ui.User{Name: k.Session.Staff.Name, Role: k.roleLabel()}
	for _, a := range areas {
		url := a.path
		switch {
		case a.path == privacyArea:
			url = firstURL(k.PrivacyTabs())
		case !k.May(a.needs):
			url = ""
		}
		if url != "" {
			s.Nav = append(s.Nav, ui.NavItem{
				Label:   a.label,
				URL:     url,
				Icon:    a.icon,
				Current: k.inArea(a.path) || a.path == "/payouts" && k.inArea("/jobs"),
			})
		}
	}
	return s
}

// areas lists the areas of the console in the order of the navigation. Users see only the areas
// that they have a permission for. Each tab of the area Privacy has its own permission.
var areas = []struct {
	label, path, icon string
	needs             authz.Permission
}{
	{"Overview", "/", "overview", ReadOverview},
	{"Partners", "/partners", "partners", ReadPartners},
	{"Pricing", "/pricing", "pricing", ReadPricing},
	{"Leads", "/leads", "leads", ReadLeads},
	{"Payouts", "/payouts", "payouts", ReadPayouts},
	{"Reconciliation", "/reconciliation", "reconciliation", ReadReconciliation},
	{label: "Privacy", path: privacyArea, icon: "privacy"},
	{"Audit log", "/audit", "audit", ReadAudit},
	{"Staff", "/staff", "staff", ReadStaff},
}

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

// documentation is the start of the URLs of documentation pages.
const documentation = "https://github.com/pingpost/pingpost/blob/main/docs/"

// helpPages maps paths in the console to documentation pages about them. For a page with several matching paths, the
// longest one applies.
var helpPages = map[string]string{
	"/":                    "README.md",
	"/account":             "how-to/manage-staff.md",
	"/audit":               "how-to/manage-staff.md#search-and-export-the-audit-log",
	"/jobs":                "explanation/payouts.md#background-jobs",
	"/leads":               "how-to/manage-partners.md#find-a-partner-a-lead-or-a-page",
	"/partners":            "how-to/manage-partners.md",
	"/partners/new":        "tutorials/onboard-a-partner.md",
	"/partners/requests":   "how-to/manage-partners.md#find-partners-with-many-rejected-posts",
	"/payouts":             "how-to/pay-partners.md",
	"/payouts/runs":        "explanation/payouts.md#payout-runs",
	"/pricing":             "how-to/change-prices.md",
	"/pricing/explain":     "explanation/pricing.md",
	"/privacy/disclosures": "how-to/replace-a-disclosure-text.md",
	"/privacy/holds":       "how-to/retain-leads.md",
	"/privacy/notes":       "how-to/erase-contact-data.md",
	"/privacy/requests":    "how-to/answer-privacy-requests.md",
	"/privacy/retention":   "how-to/retain-leads.md",
	"/reconciliation":      "how-to/reconcile-a-file.md",
	"/staff":               "how-to/manage-staff.md",
}

// helpURL returns the URL of the documentation page about this page.
func (k *Request) helpURL() string {
	longest := "/"
	for path := range helpPages {
		if k.inArea(path) && len(path) > len(longest) {
			longest = path
		}
	}
	return documentation + helpPages[longest]
}

const (
	themeCookie = "pingpost_theme"
	year        = 365 * 24 * time.Hour
)

// theme returns the chosen theme: "light", "dark", or "" to follow the system.
func (k *Request) theme() string {
	cookie, err := k.R.Cookie(themeCookie)
	if err != nil || cookie.Value != "light" && cookie.Value != "dark" {
		return ""
	}
	return cookie.Value
}

// SetTheme stores the chosen colour theme in a cookie.
func SetTheme(k *Request) error {
	choice, age := k.R.PostForm.Get("theme"), year
	if choice != "light" && choice != "dark" {
		choice, age = "", -time.Second
	}
	http.SetCookie(k.W, &http.Cookie{ //nolint:gosec // a development console has no https
		Name:     themeCookie,
		Value:    choice,
		Path:     "/",
		MaxAge:   int(age.Seconds()),
		HttpOnly: true,
		Secure:   k.console.production(),
		SameSite: http.SameSiteLaxMode,
	})
	return k.Redirect(Local(k.R.PostForm.Get("return")))
}
