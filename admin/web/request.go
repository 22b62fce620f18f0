package web

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/google/uuid"
	"github.com/klauspost/compress/gzhttp"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// Request is a request on its way: who asks, and what they may see.
type Request struct {
	console  *Console
	W        http.ResponseWriter
	R        *http.Request
	Route    Route
	Now      time.Time
	Access   *authz.Access // one from first to last
	Session  staff.Session // the zero one where nobody is signed in
	Scope    scope.Scope   // where the route's permission holds
	By       audit.Actor
	Notices  []Notice
	restored *staff.KeptForm // the values to restore in the page's form, or nil
	answered bool            // with a redirect to what an earlier submission created
}

// MaxForm bounds a form's size in bytes.
const MaxForm = 256 << 10

// Serve is a route's handler: it finds out who asks, whether they may, and answers
// what the route's own function returns as an error.
func (c *Console) serve(rt Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := c.Clock.Now()
		ctx, cancel := context.WithTimeout(r.Context(), rt.within())
		defer cancel()
		r = r.WithContext(ctx)
		k := &Request{console: c, W: w, R: r, Route: rt, Now: now, Access: c.Access.Get()}
		request := id.Format(id.Request, id.New(now))
		k.By = audit.Actor{Name: audit.Nobody.Name, Address: c.Address(r), RequestID: request}
		w.Header().Set("X-Request-Id", request)
		defer k.recover()
		r.Body = http.MaxBytesReader(w, r.Body, max(MaxForm, rt.Limit))
		err := k.enter()
		if err == nil {
			err = k.submission()
		}
		if err == nil {
			err = k.restore()
		}
		if err == nil {
			err = rt.Handle(k)
		}
		if err != nil {
			k.fail(err)
		}
	})
}

// enter lets the person in whom the cookie names, as far as the route wants it.
func (k *Request) enter() error {
	if token := k.token(); token != "" {
		find := k.console.Staff.Session
		if k.Route.live() {
			find = k.console.Staff.PeekSession
		}
		session, err := find(k.R.Context(), token)
		switch f := apperr.As(err); {
		case err == nil:
			k.Session = session
			k.By.Staff, k.By.Name = session.Staff.ID, session.Staff.Email
		case f == nil || f.Code != apperr.Unauthorized:
			return err
		}
	}
	if k.Route.Open {
		return nil
	}
	if want := k.Route.stage(); k.Session.Stage != want {
		return errSignIn
	}
	if k.Route.Needs == (authz.Permission{}) {
		return nil
	}
	if !k.May(k.Route.Needs) {
		return ErrForbidden
	}
	k.Scope, _ = k.Access.Scope(k.Session.Staff.ID, k.Route.Needs)
	k.By.Role = k.roleFor(k.Route.Needs)
	return nil
}

// May reports whether the person may do something: at one partner at least, or of
// what is the whole platform's, everywhere.
func (k *Request) May(p authz.Permission) bool {
	sc, ok := k.Access.Scope(k.Session.Staff.ID, p)
	return ok && (sc.All() || !WholePlatforms(p))
}

// Everywhere reports whether the person may do something at every partner: what is the
// whole platform's is for nobody else.
func (k *Request) Everywhere(p authz.Permission) bool {
	sc, ok := k.Access.Scope(k.Session.Staff.ID, p)
	return ok && sc.All()
}

// roleFor is the role that permits something, for the audit trail.
func (k *Request) roleFor(p authz.Permission) string {
	may := k.Access.RolesThat(p)
	for _, r := range k.Access.Roles(k.Session.Staff.ID) {
		if slices.Contains(may, r.Role) {
			return string(r.Role)
		}
	}
	return ""
}

// SignedIn reports whether somebody is signed in, all the way.
func (k *Request) SignedIn() bool { return k.Session.Stage == models.StageOpen }

// recover answers a panic as any failure of ours, with its stack in the log.
func (k *Request) recover() {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // it is compared like this in net/http
		panic(cause)
	}
	k.console.Log.Error("a page panicked", "request_id", k.By.RequestID, "route", k.Route.Path, "stack", string(debug.Stack()))
	k.fail(errBroken)
}

// Address is the client's: the one that a trusted proxy names, else the connection's.
func (c *Console) Address(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	at := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && c.trusted(at); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		at = next.Unmap()
	}
	return at.WithZone("").String()
}

func (c *Console) trusted(at netip.Addr) bool {
	for _, p := range c.TrustedProxies {
		if p.Contains(at) {
			return true
		}
	}
	return false
}

// Show answers with a page, compressed where the client accepts that.
func (k *Request) Show(status int, page templ.Component) error {
	if k.restored != nil {
		page = restoredPage(page, k.restored)
	}
	if k.openedByAnotherSite() {
		k.W.Header().Set(gzhttp.HeaderNoCompression, "cross-site")
	}
	k.console.compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		// templ flushes what it can flush, which would compress the smallest pages too.
		if err := page.Render(templates.WithFormKey(r.Context(), k.FormKey()), struct{ io.Writer }{w}); err != nil {
			k.console.Log.Debug("a page was not sent whole", "request_id", k.By.RequestID, "error", err.Error())
		}
	})).ServeHTTP(k.W, k.R)
	return nil
}

// ShowSecret answers with a page that shows a secret. It is never compressed, because the
// size of a compressed page gives away text that occurs in it twice.
func (k *Request) ShowSecret(status int, page templ.Component) error {
	k.W.Header().Set(gzhttp.HeaderNoCompression, "secret")
	return k.Show(status, page)
}

// openedByAnotherSite reports whether the browser says that another site made the request.
// That site may have chosen the address, and with it a part of the page.
func (k *Request) openedByAnotherSite() bool {
	switch k.R.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return true
}

// Redirect answers a form with another page.
func (k *Request) Redirect(path string) error {
	http.Redirect(k.W, k.R, path, http.StatusSeeOther)
	return nil
}

// ParseForm reads the form that was sent; what is no form is refused. Its fields may hold
// anything: what they are for judges them, and says so on the form.
func (k *Request) ParseForm() error {
	if err := k.R.ParseForm(); err != nil {
		return badForm(err)
	}
	return nil
}

// MayAt reports whether the person may do something at one partner.
func (k *Request) MayAt(p authz.Permission, partner uuid.UUID) bool {
	sc, ok := k.Access.Scope(k.Session.Staff.ID, p)
	return ok && sc.Allows(partner)
}
