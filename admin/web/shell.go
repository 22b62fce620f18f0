package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

type (
	templateAssets = ui.Assets
	Notice         = ui.Notice
)

func assetURLs() templateAssets {
	return templateAssets{Style: assets.URL("console.css"), HTMX: assets.URL("htmx.min.js"), Script: assets.URL("console.js"), Icon: assets.URL("icon.svg")}
}

// areas are the console's, in the order of the navigation. One appears with its
// first page, for whoever may see it.
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
	{"Audit", "/audit", "audit", ReadAudit},
	{"Staff", "/staff", "staff", ReadStaff},
}

// Shell is what stands around a page.
func (k *Request) Shell(title string, above ...ui.Link) ui.Shell {
	s := ui.Shell{
		Title: title, Environment: k.console.Environment, Theme: k.chosenTheme(), Path: k.path(), Now: k.Now, Assets: k.console.assets, Crumbs: above, Notices: k.Notices,
	}
	if !k.SignedIn() {
		return s
	}
	if n, ok := k.restoreNotice(); ok {
		s.Notices = append(s.Notices, n)
	}
	if n, ok := submittedNotices[k.R.URL.Query().Get("submitted")]; ok {
		s.Notices = append(s.Notices, n)
	}
	s.Person = ui.Person{Name: k.Session.Staff.Name, Role: k.roleWords()}
	for _, a := range areas {
		if k.May(a.needs) {
			s.Nav = append(s.Nav, ui.NavItem{Label: a.label, URL: a.path, Icon: a.icon, Current: k.inArea(a.path) || a.path == "/payouts" && k.inArea("/work")})
		}
	}
	return s
}

// path is where this page can be had again: the address of a form's answer is none.
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

// roleWords names the person's roles, each once.
func (k *Request) roleWords() string {
	var words []string
	for _, r := range k.Access.Roles(k.Session.Staff.ID) {
		if name := staff.RoleName(r.Role); len(words) == 0 || words[len(words)-1] != name {
			words = append(words, name)
		}
	}
	if len(words) == 0 {
		return "no role"
	}
	return strings.Join(words, ", ")
}

const (
	themeCookie = "pingpost_theme"
	year        = 365 * 24 * time.Hour
)

func (k *Request) chosenTheme() string {
	cookie, err := k.R.Cookie(themeCookie)
	if err != nil || cookie.Value != "light" && cookie.Value != "dark" {
		return ""
	}
	return cookie.Value
}

// SetTheme keeps the choice of colours in the browser: it is nobody else's business.
func (k *Request) SetTheme() error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	choice, age := k.R.PostForm.Get("theme"), year
	if choice != "light" && choice != "dark" {
		choice, age = "", -time.Second
	}
	http.SetCookie(k.W, &http.Cookie{
		Name: themeCookie, Value: choice, Path: "/", MaxAge: int(age.Seconds()), HttpOnly: true, Secure: k.console.production(), SameSite: http.SameSiteLaxMode,
	})
	return k.Redirect(Local(k.R.PostForm.Get("return")))
}

// The session's cookie. In production its name makes the browser insist on https
// and on this very host; a development console has no https.
func (c *Console) cookieName() string {
	if c.production() {
		return "__Host-pingpost"
	}
	return "pingpost_session"
}

func (k *Request) token() string {
	cookie, err := k.R.Cookie(k.console.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// SetToken gives the browser a session, or takes it away where token is "".
func (k *Request) SetToken(token string) {
	cookie := &http.Cookie{Name: k.console.cookieName(), Value: token, Path: "/", HttpOnly: true, Secure: k.console.production(), SameSite: http.SameSiteLaxMode}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(k.W, cookie)
}

// ScopeWords says roles with where they hold.
func ScopeWords(roles []models.StaffRole, slugs Slugs) []string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = staff.RoleName(r.Role) + " for all partners"
		if r.PartnerID != nil {
			words[i] = staff.RoleName(r.Role) + " for " + slugs.Of(*r.PartnerID)
		}
		if r.Role == models.Administrator {
			words[i] = staff.RoleName(r.Role)
		}
	}
	return words
}
