package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

type (
	templateAssets = templates.Assets
	notice         = templates.Notice
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
	{"Overview", "/", "overview", readOverview},
	{"Partners", "/partners", "partners", readPartners},
	{"Pricing", "/pricing", "pricing", readPricing},
	{"Leads", "/leads", "leads", readLeads},
	{"Payouts", "/payouts", "payouts", readPayouts},
	{"Reconciliation", "/reconciliation", "reconciliation", readReconciliation},
	{"Audit", "/audit", "audit", readAudit},
	{"Staff", "/staff", "staff", readStaff},
}

// shell is what stands around a page.
func (k *call) shell(title string, above ...templates.Link) templates.Shell {
	s := templates.Shell{
		Title: title, Environment: k.Environment, Theme: k.chosenTheme(), Path: k.path(), Now: k.now, Assets: k.assets, Crumbs: above, Notices: k.notices,
	}
	if !k.signedIn() {
		return s
	}
	if n, ok := k.restoreNotice(); ok {
		s.Notices = append(s.Notices, n)
	}
	if n, ok := submittedNotices[k.r.URL.Query().Get("submitted")]; ok {
		s.Notices = append(s.Notices, n)
	}
	s.Person = templates.Person{Name: k.session.Staff.Name, Role: k.roleWords()}
	for _, a := range areas {
		if k.may(a.needs) {
			s.Nav = append(s.Nav, templates.NavItem{Label: a.label, URL: a.path, Icon: a.icon, Current: k.inArea(a.path) || a.path == "/payouts" && k.inArea("/work")})
		}
	}
	return s
}

// path is where this page can be had again: the address of a form's answer is none.
func (k *call) path() string {
	if k.r.Method != http.MethodGet || k.r.Pattern == "/" || strings.HasPrefix(k.r.URL.Path, "/invite/") {
		return "/"
	}
	return k.r.URL.RequestURI()
}

func (k *call) inArea(path string) bool {
	here := k.r.URL.Path
	return here == path || path != "/" && strings.HasPrefix(here, path+"/")
}

// roleWords names the person's roles, each once.
func (k *call) roleWords() string {
	var words []string
	for _, r := range k.access.Roles(k.session.Staff.ID) {
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

func (k *call) chosenTheme() string {
	cookie, err := k.r.Cookie(themeCookie)
	if err != nil || cookie.Value != "light" && cookie.Value != "dark" {
		return ""
	}
	return cookie.Value
}

// theme keeps the choice of colours in the browser: it is nobody else's business.
func (k *call) theme() error {
	if err := k.form(); err != nil {
		return err
	}
	choice, age := k.r.PostForm.Get("theme"), year
	if choice != "light" && choice != "dark" {
		choice, age = "", -time.Second
	}
	http.SetCookie(k.w, &http.Cookie{
		Name: themeCookie, Value: choice, Path: "/", MaxAge: int(age.Seconds()), HttpOnly: true, Secure: k.production(), SameSite: http.SameSiteLaxMode,
	})
	return k.to(local(k.r.PostForm.Get("return")))
}

// local is an address of this console, "/" for any other: a link must not lead a
// person who signs in somewhere else.
func local(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// The session's cookie. In production its name makes the browser insist on https
// and on this very host; a development console has no https.
func (c *Console) cookieName() string {
	if c.production() {
		return "__Host-pingpost"
	}
	return "pingpost_session"
}

func (k *call) token() string {
	cookie, err := k.r.Cookie(k.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setToken gives the browser a session, or takes it away where token is "".
func (k *call) setToken(token string) {
	cookie := &http.Cookie{Name: k.cookieName(), Value: token, Path: "/", HttpOnly: true, Secure: k.production(), SameSite: http.SameSiteLaxMode}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(k.w, cookie)
}

// scopeWords says roles with where they hold.
func scopeWords(roles []models.StaffRole, slugs slugs) []string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = staff.RoleName(r.Role) + " for all partners"
		if r.PartnerID != nil {
			words[i] = staff.RoleName(r.Role) + " for " + slugs.of(*r.PartnerID)
		}
		if r.Role == models.Administrator {
			words[i] = staff.RoleName(r.Role)
		}
	}
	return words
}

// design is the gallery of components, for whoever builds pages.
func (k *call) design() error {
	s := k.shell("Design")
	if s.Person.Name == "" {
		s.Person = templates.Person{Name: "Nobody", Role: "not signed in"}
	}
	return k.show(http.StatusOK, templates.Design(templates.DesignView{Shell: s}))
}
