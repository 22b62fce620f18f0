package admin

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

// call is a request on its way: who asks, and what they may see.
type call struct {
	*Console
	w        http.ResponseWriter
	r        *http.Request
	route    route
	now      time.Time
	access   *authz.Access // one from first to last
	session  staff.Session // the zero one where nobody is signed in
	scope    scope.Scope   // where the route's permission holds
	by       audit.Actor
	notices  []notice
	restored *staff.KeptForm // the values to restore in the page's form, or nil
	answered bool            // with a redirect to what an earlier submission created
}

// maxForm bounds a form's size in bytes.
const maxForm = 256 << 10

// serve is a route's handler: it finds out who asks, whether they may, and answers
// what the route's own function returns as an error.
func (c *Console) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := c.Clock.Now()
		ctx, cancel := context.WithTimeout(r.Context(), rt.within())
		defer cancel()
		r = r.WithContext(ctx)
		k := &call{Console: c, w: w, r: r, route: rt, now: now, access: c.Access.Get()}
		request := id.Format(id.Request, id.New(now))
		k.by = audit.Actor{Name: audit.Nobody.Name, Address: c.address(r), RequestID: request}
		w.Header().Set("X-Request-Id", request)
		defer k.recover()
		r.Body = http.MaxBytesReader(w, r.Body, max(maxForm, rt.limit))
		err := k.enter()
		if err == nil {
			err = k.submission()
		}
		if err == nil {
			err = k.restore()
		}
		if err == nil {
			err = rt.handle(k)
		}
		if err != nil {
			k.fail(err)
		}
	})
}

// enter lets the person in whom the cookie names, as far as the route wants it.
func (k *call) enter() error {
	if token := k.token(); token != "" {
		find := k.Staff.Session
		if k.route.live() {
			find = k.Staff.PeekSession
		}
		session, err := find(k.r.Context(), token)
		switch f := apperr.As(err); {
		case err == nil:
			k.session = session
			k.by.Staff, k.by.Name = session.Staff.ID, session.Staff.Email
		case f == nil || f.Code != apperr.Unauthorized:
			return err
		}
	}
	if k.route.open {
		return nil
	}
	if want := k.route.stage(); k.session.Stage != want {
		return errSignIn
	}
	if k.route.needs == (authz.Permission{}) {
		return nil
	}
	if !k.may(k.route.needs) {
		return errForbidden
	}
	k.scope, _ = k.access.Scope(k.session.Staff.ID, k.route.needs)
	k.by.Role = k.roleFor(k.route.needs)
	return nil
}

// may reports whether the person may do something: at one partner at least, or of
// what is the whole platform's, everywhere.
func (k *call) may(p authz.Permission) bool {
	sc, ok := k.access.Scope(k.session.Staff.ID, p)
	return ok && (sc.All() || !wholePlatforms(p))
}

// everywhere reports whether the person may do something at every partner: what is the
// whole platform's is for nobody else.
func (k *call) everywhere(p authz.Permission) bool {
	sc, ok := k.access.Scope(k.session.Staff.ID, p)
	return ok && sc.All()
}

// roleFor is the role that permits something, for the audit trail.
func (k *call) roleFor(p authz.Permission) string {
	may := k.access.RolesThat(p)
	for _, r := range k.access.Roles(k.session.Staff.ID) {
		if slices.Contains(may, r.Role) {
			return string(r.Role)
		}
	}
	return ""
}

// signedIn reports whether somebody is signed in, all the way.
func (k *call) signedIn() bool { return k.session.Stage == models.StageOpen }

// recover answers a panic as any failure of ours, with its stack in the log.
func (k *call) recover() {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // it is compared like this in net/http
		panic(cause)
	}
	k.Log.Error("a page panicked", "request_id", k.by.RequestID, "route", k.route.path, "stack", string(debug.Stack()))
	k.fail(errBroken)
}

// address is the client's: the one that a trusted proxy names, else the connection's.
func (c *Console) address(r *http.Request) string {
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

// show answers with a page, compressed where the client accepts that.
func (k *call) show(status int, page templ.Component) error {
	if k.restored != nil {
		page = restoredPage(page, k.restored)
	}
	if k.openedByAnotherSite() {
		k.w.Header().Set(gzhttp.HeaderNoCompression, "cross-site")
	}
	k.compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		// templ flushes what it can flush, which would compress the smallest pages too.
		if err := page.Render(templates.WithFormKey(r.Context(), k.formKey()), struct{ io.Writer }{w}); err != nil {
			k.Log.Debug("a page was not sent whole", "request_id", k.by.RequestID, "error", err.Error())
		}
	})).ServeHTTP(k.w, k.r)
	return nil
}

// showSecret answers with a page that shows a secret. It is never compressed, because the
// size of a compressed page gives away text that occurs in it twice.
func (k *call) showSecret(status int, page templ.Component) error {
	k.w.Header().Set(gzhttp.HeaderNoCompression, "secret")
	return k.show(status, page)
}

// openedByAnotherSite reports whether the browser says that another site made the request.
// That site may have chosen the address, and with it a part of the page.
func (k *call) openedByAnotherSite() bool {
	switch k.r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return true
}

// to answers a form with another page.
func (k *call) to(path string) error {
	http.Redirect(k.w, k.r, path, http.StatusSeeOther)
	return nil
}

// form reads the form that was sent; what is no form is refused. Its fields may hold
// anything: what they are for judges them, and says so on the form.
func (k *call) form() error {
	if err := k.r.ParseForm(); err != nil {
		return badForm(err)
	}
	return nil
}
