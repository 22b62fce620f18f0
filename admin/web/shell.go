package web

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

type (
	templateAssets = ui.Assets
	Notice         = ui.Notice
)

func assetURLs() templateAssets {
	return templateAssets{
		Style:  assets.URL("console.css"),
		HTMX:   assets.URL("htmx.min.js"),
		Script: assets.URL("console.js"),
		Icon:   assets.URL("icon.svg"),
	}
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

// path returns the URL of this page. It returns "/" if a GET request would not show the same page,
// for example after a form was submitted.
func (k *Request) path() string {
	if k.R.Method != http.MethodGet || k.R.Pattern == "/" || strings.HasPrefix(k.R.URL.Path, "/invite/") {
		return "/"
	}
	return k.R.URL.RequestURI()
}

func (k *Request) inArea(path string) bool {
	here := k.R.URL.Path
	return here == path || path != "/" && strings.HasPrefix(here, path+"/")
}

// ScopeLabels returns the labels of roles with their scopes: "Finance (all partners)".
func ScopeLabels(roles []models.StaffRole, slugs PartnerNames) []string {
	words := make([]string, len(roles))
	for i, r := range roles {
		name := ui.Sentence(staff.RoleName(r.Role))
		switch {
		case r.Role == models.Administrator:
			words[i] = name
		case r.PartnerID == nil:
			words[i] = name + " (all partners)"
		default:
			words[i] = name + " for " + slugs.Of(*r.PartnerID)
		}
	}
	return words
}
