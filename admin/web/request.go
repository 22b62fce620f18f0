package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/platform/tracing"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// Options contains the dependencies of all pages. All fields except AccessLog are required.
type Options struct {
	Environment string // "production" or "development"
	Clock       clock.Clock
	Log         *slog.Logger
	Access      *snapshot.Holder[authz.Access]
	Staff       *staff.Service
	Audit       *audit.Log
	Partners    *partners.Service           // for the names of partners
	Prices      *ratecard.Service           // for the titles of drafts
	Readable    func(context.Context) error // the reason why erasable data is hidden, or nil
	AccessLog   *httpserver.AccessLog       // nil disables it
	Metrics     *httpserver.Metrics
	Clients     *httpserver.Clients
	Tracer      *tracing.Tracer // nil without traces
}

// Console serves the routes of all areas.
type Console struct {
	Options
	http     *httpserver.Listener
	assets   ui.Assets
	compress func(http.Handler) http.HandlerFunc

	crossOrigin *http.CrossOriginProtection
}

// production reports whether the environment is production, where the console is served over HTTPS.
func (c *Console) production() bool { return c.Environment == "production" }

// Request is a request to the console, with the user who sent it and the user's scope.
type Request struct {
	console *Console
	User
	W               http.ResponseWriter
	R               *http.Request
	Route           Route
	Now             time.Time
	Scope           scope.Scope // the partners for which the user has the route's permission
	By              audit.Actor // the user, for the audit log
	Notices         []Notice
	restored        *staff.SavedForm   // the saved values of the page's form, or nil
	logged          *httpserver.Record // for the access log and the metrics
	responseWritten bool               // the response redirects to the object that an earlier submission created
	readable        func() error       // the reason why erasable data is hidden, or nil
	hidden          error              // the reason, if the response hides a value
}

// Notice is a message above a page.
type Notice = ui.Notice

// ParseForm parses the submitted form without checking the fields. It is called before the handlers
// of POST routes that do not set Route.Limit.
func (k *Request) ParseForm() error {
	if err := k.R.ParseForm(); err != nil {
		return badForm(err)
	}
	return nil
}

// isCrossSiteNavigation reports whether another site caused the request. It applies the same rule as for submitted
// forms. That site may have chosen the URL, and with it some of the text on the page.
func (k *Request) isCrossSiteNavigation() bool {
	form := k.R.WithContext(k.R.Context())
	form.Method = http.MethodPost // Check allows all requests with the method GET
	return k.console.crossOrigin.Check(form) != nil
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

// PathID parses the id in a path parameter. It returns ErrNotFound if the parameter is not an id of
// the given kind.
func (k *Request) PathID(name string, kind id.Kind) (uuid.UUID, error) {
	object, err := id.Parse(kind, k.R.PathValue(name))
	if err != nil {
		return object, ErrNotFound
	}
	return object, nil
}

// Next returns the page to show after signing in.
func (k *Request) Next() string { return Local(k.R.FormValue("next")) }

// Local returns the given path if it is a path of this console, and "/" otherwise. It prevents open
// redirects after signing in.
func Local(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// FormKey returns the key for the forms on this page. If a form with a key was submitted, FormKey
// returns the same key, so that a failed form can be submitted again. Otherwise, it returns a new key.
func (k *Request) FormKey() string {
	if k.By.Form.Key != uuid.Nil {
		return k.By.Form.Key.String()
	}
	return id.New(k.Now).String()
}

// hiddenValue is what pages show instead of erasable data that is hidden.
const hiddenValue = "hidden"

// Erasable returns a value that is erased together with a lead, as pages may show it. While the database may
// contain data that should have been erased, for example because an older backup was restored, the value is
// hidden, and the page shows the reason. All values that an erasure deletes must be passed through Erasable, and so
// must values for which a page searches, because a result would confirm them.
func (k *Request) Erasable(value string) string {
	if value == "" {
		return ""
	}
	if err := k.readable(); err != nil {
		k.hidden = err
		return hiddenValue
	}
	return value
}

// CheckErasable returns the reason why erasable data is hidden, or nil. Pages and exports that contain nothing
// else are rejected with this error.
func (k *Request) CheckErasable() error { return k.readable() }

// hiddenNotice returns the notice about hidden values, or nil if the response hides none.
func (k *Request) hiddenNotice() *ui.Notice {
	if k.hidden == nil {
		return nil
	}
	text := "Personal data is hidden on this page, because some of it should have been erased."
	if reason := apperr.As(k.hidden); reason != nil {
		text += " " + reason.Message
	}
	return &ui.Notice{Kind: "warn", Code: "erasable_hidden", Text: text}
}

// cookieName returns the name of the session cookie. In production, the prefix __Host- restricts the
// cookie to HTTPS and to this host. In development, the console does not use HTTPS.
func (c *Console) cookieName() string {
	if c.production() {
		return "__Host-pingpost"
	}
	return "pingpost_session"
}

func (k *Request) sessionToken() string {
	cookie, err := k.R.Cookie(k.console.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// SetSessionCookie sets the session cookie. An empty token removes it.
func (k *Request) SetSessionCookie(token string) {
	cookie := &http.Cookie{ //nolint:gosec // a development console has no https
		Name:     k.console.cookieName(),
		Value:    token,
		Path:     "/",
		HttpOnly: true,
		Secure:   k.console.production(),
		SameSite: http.SameSiteLaxMode,
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(k.W, cookie)
}

// logError records an error in the access log and the metrics.
func (k *Request) logError(f *apperr.Error) {
	k.logged.Outcome, k.logged.Cause = f.Reason, errors.Unwrap(f)
}
