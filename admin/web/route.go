package web

import (
	"regexp"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/models"
)

// Route is a route of the console. Exactly one of the fields Needs, Open, Own and Login is set. This
// field determines who may use the route.
type Route struct {
	Method, Path string
	Page         string // title, for the search for pages; "" for pages about one object
	Needs        authz.Permission
	Everywhere   bool                // the page is only for users who have the permission for all partners
	Open         bool                // for everyone, signed in or not
	Own          bool                // for all signed-in users, to manage their own account
	Login        models.SessionStage // for sessions at this stage of signing in
	Limit        int64               // maximum size of the request in bytes; 0 means MaxForm
	Long         bool                // an upload or download, which may take longer than a page
	Creates      string              // page of the object that the form creates; see [Request.created]
	Form         string              // page that can restore the form; see [Request.saveForm]
	Saves        []string            // fields of the form whose values can be saved: no secrets, and no personal data
	ShownOnce    bool                // the response shows a secret that cannot be shown again
	Erasable     bool                // an export, a form or a search of erasable data, closed while this data is hidden; see [Request.Erasable]
	Handle       func(*Request) error
}

// pattern returns the path in the router's syntax: /staff/:id for /staff/{id}.
func (r Route) pattern() string {
	return strings.TrimSuffix(placeholder.ReplaceAllString(r.Path, ":$1"), "{$}")
}

// stage returns the stage of signing in at which a session may use the route.
func (r Route) stage() models.SessionStage {
	if r.Login != "" {
		return r.Login
	}
	return models.StageOpen
}

// live reports whether the route returns a part of a page that reloads itself every two seconds.
// Requests to these routes do not keep the session alive.
func (r Route) live() bool { return strings.HasSuffix(r.Path, "/live") }

func (r Route) within() time.Duration {
	if r.Long {
		return transferTimeout
	}
	return requestTimeout
}

// action returns the audit action for rejected requests.
func (r Route) action() string {
	if r.Needs == (authz.Permission{}) {
		return "console.deny"
	}
	return r.Needs.Object + "." + r.Needs.Action
}

// MayOpen reports whether the user may open a page that has a title.
func (k *Request) MayOpen(page Route) bool {
	return page.Own || k.May(page.Needs) && (!page.Everywhere || k.MayForAllPartners(page.Needs))
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func withQuery(path, name, value string) string {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return path + mark + name + "=" + value
}

// Time limits for requests.
const (
	requestTimeout  = 30 * time.Second
	transferTimeout = time.Hour // for uploads and downloads
)

// MaxForm is the maximum size of a form, in bytes.
const MaxForm = 256 << 10
