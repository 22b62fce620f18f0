package login

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image/png"
	"net/http"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/login"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) loginPage(k *web.Request) error {
	if k.SignedIn() {
		return k.Redirect(web.Next(k))
	}
	if next, err := url.Parse(web.Next(k)); err == nil && next.Query().Get("restore") == web.RestoreForm {
		k.Notices = append(k.Notices, web.Notice{Kind: "info", Code: "session_expired", Text: "Your session has expired. Sign in to return to your form. What you entered is kept for 30 minutes."})
	}
	return k.Show(http.StatusOK, view.Login(view.LoginView{Shell: k.Shell("Sign in"), Next: web.Next(k)}))
}

func (h *Handlers) login(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	form := k.R.PostForm
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			token, session, err := h.Staff.Login(k.R.Context(), staff.LoginAttempt{
				Email: form.Get("email"), Password: form.Get("password"), UserAgent: k.R.UserAgent(), By: k.By,
			})
			if err != nil {
				return "", err
			}
			// Signing in ends the session that this browser had.
			if k.Session.Stage != "" {
				if err := h.Staff.End(k.R.Context(), k.Session, "somebody logged in"); err != nil {
					return "", err
				}
			}
			web.SetSessionCookie(k, token)
			k.Session = session
			if session.Stage == models.StageOpen {
				return web.Next(k), nil
			}
			return web.StepAfter(session.Stage) + "?next=" + web.Escape(web.Next(k)), nil
		},
		Show: func(r web.Rejected) error {
			return k.Show(r.Status, view.Login(view.LoginView{Shell: k.Shell("Sign in"), Email: web.Short(form.Get("email")), Error: r.Message(), Next: web.Next(k)}))
		},
	})
}

func (h *Handlers) codePage(k *web.Request) error {
	return k.Show(http.StatusOK, view.LoginCode(view.LoginCodeView{Shell: k.Shell("Second factor"), Next: web.Next(k)}))
}

func (h *Handlers) code(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			token, err := h.Staff.VerifyCode(k.R.Context(), k.By, k.Session, k.R.PostForm.Get("code"))
			if err == nil {
				web.SetSessionCookie(k, token)
			}
			return web.Next(k), err
		},
		Show: func(r web.Rejected) error {
			if apperr.As(r.Err).Reason == "again" {
				web.SetSessionCookie(k, "")
				return k.Show(http.StatusUnauthorized, view.Login(view.LoginView{Shell: k.Shell("Sign in"), Error: "That was the fifth wrong code: sign in again.", Next: web.Next(k)}))
			}
			return k.Show(r.Status, view.LoginCode(view.LoginCodeView{Shell: k.Shell("Second factor"), Error: r.Message(), Next: web.Next(k)}))
		},
	})
}

func (h *Handlers) logout(k *web.Request) error {
	web.SetSessionCookie(k, "")
	if err := h.Staff.Logout(k.R.Context(), k.By, k.Session); err != nil {
		return err
	}
	return k.Redirect("/login")
}

// enrolPage shows the seed of a second factor, while signing in or on one's own account.
func (h *Handlers) enrolPage(k *web.Request) error {
	if err := web.RequireStepUp(k); err != nil {
		return err
	}
	return h.showEnrol(k, http.StatusOK, nil)
}

func (h *Handlers) showEnrol(k *web.Request, status int, mistakes ui.Errors) error {
	key, err := h.Staff.BeginSecondFactor(k.R.Context(), k.Session)
	if err != nil {
		return err
	}
	image, err := key.Image(220, 220)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image); err != nil {
		return err
	}
	s := k.Shell("Set up a second factor")
	if !k.SignedIn() {
		s.Lead = "Your role needs one: nothing else is open until it is there."
	}
	return k.ShowSecret(status, view.EnrolSecondFactor(view.EnrolSecondFactorView{
		Shell: s, Action: k.R.URL.RequestURI(), QR: "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes()),
		Secret: grouped(key.Secret()), Errors: mistakes,
	}))
}

func (h *Handlers) enrol(k *web.Request) error {
	if err := errors.Join(k.ParseForm(), web.RequireStepUp(k)); err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			token, codes, err := h.Staff.FinishSecondFactor(k.R.Context(), k.By, k.Session, k.R.PostForm.Get("code"))
			if err != nil {
				return "", err
			}
			if token != "" {
				web.SetSessionCookie(k, token)
			}
			return "", web.ShowRecoveryCodes(k, codes)
		},
		FieldOf: web.Field("code"),
		Show:    func(r web.Rejected) error { return h.showEnrol(k, r.Status, r.Errors) },
	})
}

func (h *Handlers) codesKept(k *web.Request) error { return k.Redirect("/") }

func grouped(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}

func (h *Handlers) invitePage(k *web.Request) error {
	p, err := h.Staff.Invitation(k.R.Context(), k.R.PathValue("token"))
	if err != nil {
		return err
	}
	return h.showInvite(k, http.StatusOK, p, nil)
}

func (h *Handlers) showInvite(k *web.Request, status int, p models.Staff, mistakes ui.Errors) error {
	return k.Show(status, view.InviteAccept(view.InviteAcceptView{
		Shell: k.Shell("Welcome to pingpost"), Action: k.R.URL.Path, Name: p.Name, Email: p.Email, Errors: mistakes,
	}))
}

func (h *Handlers) acceptInvite(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	token, form := k.R.PathValue("token"), k.R.PostForm
	p, err := h.Staff.Invitation(k.R.Context(), token)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	if form.Get("password") != form.Get("again") {
		mistakes = ui.Errors{{Field: "again", Message: "The two are not the same: type the password again."}}
	}
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		Do: func() (string, error) {
			if _, err := h.Staff.Accept(k.R.Context(), k.By, token, form.Get("password")); err != nil {
				return "", err
			}
			return "", k.Show(http.StatusOK, view.Login(view.LoginView{Shell: k.Shell("Sign in"), Email: p.Email, Notice: "Your password is set.", Next: "/"}))
		},
		FieldOf: web.Field("password"),
		Show: func(r web.Rejected) error {
			if f := apperr.As(r.Err); f != nil && f.Code != apperr.Invalid {
				return r.Err // the invitation has ended
			}
			return h.showInvite(k, r.Status, p, r.Errors)
		},
	})
}
