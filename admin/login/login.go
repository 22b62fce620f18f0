package login

import (
	"net/http"
	"net/url"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/login"
)

func (h *Handlers) loginPage(k *web.Request) error {
	if k.SignedIn() {
		return k.Redirect(k.Next())
	}
	if next, err := url.Parse(k.Next()); err == nil {
		switch next.Query().Get("restore") {
		case web.RestoreForm:
			k.Notices = append(k.Notices, web.Notice{
				Kind: "info",
				Code: "session_expired",
				Text: "You were signed out. Sign in to return to your form. Your entries are saved for 30 minutes.",
			})
		case web.RestoreFile, web.RestoreNone:
			k.Notices = append(k.Notices, web.Notice{
				Kind: "warn",
				Code: "form_not_kept",
				Text: "You were signed out, and the form that you submitted was not saved. Sign in and submit it again.",
			})
		}
	}
	return k.Show(http.StatusOK, view.Login(view.LoginView{Shell: k.Shell("Sign in"), Next: k.Next()}))
}

func (h *Handlers) login(k *web.Request) error {
	form := k.R.PostForm
	return k.Submit(web.Form{
		Do: func() (string, error) {
			token, session, err := h.Staff.By(k.By).Login(k.R.Context(), staff.LoginAttempt{
				Email: form.Get("email"), Password: form.Get("password"), UserAgent: k.R.UserAgent(),
			})
			if err != nil {
				return "", err
			}
			// Signing in ends the previous session of this browser.
			if k.Session.Stage != "" {
				if err := h.Staff.End(k.R.Context(), k.Session, "new sign-in"); err != nil {
					return "", err
				}
			}
			k.SetSessionCookie(token)
			k.Session = session
			if session.Stage == models.StageOpen {
				return k.Next(), nil
			}
			return web.StepAfter(session.Stage) + "?next=" + web.Escape(k.Next()), nil
		},
		Show: func(r web.Rejected) error {
			return k.Show(r.Status, view.Login(view.LoginView{
				Shell: k.Shell("Sign in"),
				Email: web.Short(form.Get("email")),
				Error: r.Message(),
				Next:  k.Next(),
			}))
		},
	})
}

func (h *Handlers) logout(k *web.Request) error {
	k.SetSessionCookie("")
	if err := h.Staff.By(k.By).Logout(k.R.Context(), k.Session); err != nil {
		return err
	}
	return k.Redirect("/login")
}
