package admin

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image/png"
	"net/http"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) next() string { return local(k.r.FormValue("next")) }

func (k *call) loginPage() error {
	if k.signedIn() {
		return k.to(k.next())
	}
	if next, err := url.Parse(k.next()); err == nil && next.Query().Get("restore") == restoreForm {
		k.notices = append(k.notices, notice{Kind: "info", Text: "Your session has expired. Sign in to return to your form. What you entered is kept for 30 minutes."})
	}
	return k.show(http.StatusOK, templates.Login(templates.LoginView{Shell: k.shell("Sign in"), Next: k.next()}))
}

func (k *call) login() error {
	if err := k.form(); err != nil {
		return err
	}
	form := k.r.PostForm
	token, session, err := k.Staff.Login(k.r.Context(), staff.Attempt{
		Email: form.Get("email"), Password: form.Get("password"), UserAgent: k.r.UserAgent(), By: k.by,
	})
	if err != nil {
		status, message, err := k.told(err)
		if err != nil {
			return err
		}
		return k.show(status, templates.Login(templates.LoginView{Shell: k.shell("Sign in"), Email: short(form.Get("email")), Error: message, Next: k.next()}))
	}
	// Whoever logs in where somebody was, ends that.
	if k.session.Stage != "" {
		if err := k.Staff.End(k.r.Context(), k.session, "somebody logged in"); err != nil {
			return err
		}
	}
	k.setToken(token)
	k.session = session
	if session.Stage == models.StageOpen {
		return k.to(k.next())
	}
	return k.to(stepAfter(session.Stage) + "?next=" + escape(k.next()))
}

// told is what a form says of an error: its status and message. What is no mistake
// of the person's stays an error.
func (k *call) told(err error) (status int, message string, other error) {
	f := apperr.As(err)
	if f == nil || f.Code == apperr.Internal || f.Code == apperr.Unavailable && f.RetryAfter == 0 {
		return 0, "", err
	}
	if err := k.submitted(); err != nil {
		return 0, "", err
	}
	if f.RetryAfter > 0 {
		message = " Wait " + templates.Wait(k.comeBack(f)) + "."
	}
	status = statuses[f.Code]
	if f.Code == apperr.Invalid {
		status = http.StatusUnprocessableEntity
	}
	return status, f.Message + message, nil
}

func (k *call) codePage() error {
	return k.show(http.StatusOK, templates.LoginCode(templates.LoginCodeView{Shell: k.shell("Second factor"), Next: k.next()}))
}

func (k *call) code() error {
	if err := k.form(); err != nil {
		return err
	}
	token, err := k.Staff.Code(k.r.Context(), k.by, k.session, k.r.PostForm.Get("code"))
	if f := apperr.As(err); f != nil && f.Reason == "again" {
		k.setToken("")
		return k.show(http.StatusUnauthorized, templates.Login(templates.LoginView{Shell: k.shell("Sign in"), Error: "That was the fifth wrong code: sign in again.", Next: k.next()}))
	}
	if err != nil {
		status, message, err := k.told(err)
		if err != nil {
			return err
		}
		return k.show(status, templates.LoginCode(templates.LoginCodeView{Shell: k.shell("Second factor"), Error: message, Next: k.next()}))
	}
	k.setToken(token)
	return k.to(k.next())
}

func (k *call) logout() error {
	k.setToken("")
	if err := k.Staff.Logout(k.r.Context(), k.by, k.session); err != nil {
		return err
	}
	return k.to("/login")
}

// enrolPage shows the seed of a second factor, while signing in or on one's own account.
func (k *call) enrolPage() error {
	if err := k.mustBeConfirmed(); err != nil {
		return err
	}
	return k.showEnrol(http.StatusOK, nil)
}

func (k *call) showEnrol(status int, mistakes templates.Errors) error {
	key, err := k.Staff.BeginSecondFactor(k.r.Context(), k.session)
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
	s := k.shell("Set up a second factor")
	if !k.signedIn() {
		s.Lead = "Your role needs one: nothing else is open until it is there."
	}
	return k.showSecret(status, templates.EnrolSecondFactor(templates.EnrolSecondFactorView{
		Shell: s, Action: k.r.URL.RequestURI(), QR: "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes()),
		Secret: grouped(key.Secret()), Errors: mistakes,
	}))
}

func (k *call) enrol() error {
	if err := errors.Join(k.form(), k.mustBeConfirmed()); err != nil {
		return err
	}
	token, codes, err := k.Staff.FinishSecondFactor(k.r.Context(), k.by, k.session, k.r.PostForm.Get("code"))
	if err != nil {
		status, message, err := k.told(err)
		if err != nil {
			return err
		}
		return k.showEnrol(status, templates.Errors{{Field: "code", Message: message}})
	}
	if token != "" {
		k.setToken(token)
	}
	return k.showCodes(codes)
}

// showCodes shows recovery codes, this once: the page cannot be had again.
func (k *call) showCodes(codes []string) error {
	return k.showSecret(http.StatusOK, templates.RecoveryCodes(templates.RecoveryCodesView{Shell: k.shell("Recovery codes"), Codes: codes, Action: "/account/recovery-codes/kept"}))
}

func (k *call) codesKept() error { return k.to("/") }

func grouped(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}

func (k *call) invitePage() error {
	p, err := k.Staff.Invitation(k.r.Context(), k.r.PathValue("token"))
	if err != nil {
		return err
	}
	return k.showInvite(http.StatusOK, p, nil)
}

func (k *call) showInvite(status int, p models.Staff, mistakes templates.Errors) error {
	return k.show(status, templates.InviteAccept(templates.InviteAcceptView{
		Shell: k.shell("Welcome to pingpost"), Action: k.r.URL.Path, Name: p.Name, Email: p.Email, Errors: mistakes,
	}))
}

func (k *call) acceptInvite() error {
	if err := k.form(); err != nil {
		return err
	}
	token, form := k.r.PathValue("token"), k.r.PostForm
	p, err := k.Staff.Invitation(k.r.Context(), token)
	if err != nil {
		return err
	}
	if form.Get("password") != form.Get("again") {
		return k.showInvite(http.StatusUnprocessableEntity, p, templates.Errors{{Field: "again", Message: "The two are not the same: type the password again."}})
	}
	if _, err := k.Staff.Accept(k.r.Context(), k.by, token, form.Get("password")); err != nil {
		status, message, other := k.told(err)
		if other != nil || apperr.As(err).Code != apperr.Invalid {
			return err
		}
		return k.showInvite(status, p, templates.Errors{{Field: "password", Message: message}})
	}
	return k.show(http.StatusOK, templates.Login(templates.LoginView{Shell: k.shell("Sign in"), Email: p.Email, Notice: "Your password is set.", Next: "/"}))
}
