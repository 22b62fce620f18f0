package account

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	view "github.com/pingpost/pingpost/templates/account"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) account(k *web.Request) error { return h.showAccount(k, http.StatusOK, nil) }

func (h *Handlers) showAccount(k *web.Request, status int, mistakes ui.Errors) error {
	ctx, p := k.R.Context(), k.Session.Staff
	names, err := web.AllPartnerNames(k)
	if err != nil {
		return err
	}
	left, err := h.Staff.RecoveryCodesLeft(ctx, p.ID)
	if err != nil {
		return err
	}
	sessions, err := h.Staff.Sessions(ctx, p.ID)
	if err != nil {
		return err
	}
	v := view.AccountView{
		Shell: k.Shell("Your account"), Name: p.Name, Email: p.Email, Roles: web.ScopeWords(k.Access.Roles(p.ID), names),
		SecondFactor: len(p.TOTPSealed) > 0, EnrolledAt: web.TimeOf(p.TOTPAt), RecoveryLeft: int(left), EnrolURL: "/account/second-factor", CodesURL: "/account/recovery-codes",
		PasswordURL: "/account/password", Errors: mistakes,
	}
	for _, s := range sessions {
		v.Sessions = append(v.Sessions, web.SessionRow(s, s.ID == k.Session.ID, "/account/sessions/"))
	}
	if len(sessions) > 1 {
		v.RevokeOthers = "/account/sessions/end-others"
	}
	return k.Show(status, view.Account(v))
}

func (h *Handlers) changePassword(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	form := k.R.PostForm
	var mistakes ui.Errors
	if form.Get("password") != form.Get("again") {
		mistakes = ui.Errors{{Field: "again", Message: "The two are not the same: type the new password again."}}
	}
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		Do: func() (string, error) {
			err := h.Staff.SetPassword(k.R.Context(), k.By, k.Session, form.Get("current"), form.Get("password"))
			if err != nil {
				return "", err
			}
			k.Notices = append(k.Notices, web.Notice{Kind: "good", Text: "Your password is changed. Everywhere else you are signed out."})
			return "", h.showAccount(k, http.StatusOK, nil)
		},
		FieldOf: func(f *apperr.Error) string {
			if f.Reason == "confirmation" || f.Code == apperr.TooMany {
				return "current"
			}
			return "password"
		},
		Show: func(r web.Rejected) error { return h.showAccount(k, r.Status, r.Errors) },
	})
}

// newRecoveryCodes replaces the recovery codes.
func (h *Handlers) newRecoveryCodes(k *web.Request) error {
	if err := web.RequireStepUp(k); err != nil {
		return err
	}
	codes, err := h.Staff.NewRecoveryCodes(k.R.Context(), k.By, k.Session.Staff.ID)
	if err != nil {
		return err
	}
	return web.ShowRecoveryCodes(k, codes)
}

func (h *Handlers) endOwnSession(k *web.Request) error {
	session, err := id.Parse(id.Session, k.R.PathValue("session"))
	if err != nil {
		return web.ErrNotFound
	}
	if err := h.Staff.EndSession(k.R.Context(), k.By, k.Session.Staff.ID, session); err != nil {
		return err
	}
	return k.Redirect("/account")
}

func (h *Handlers) endOwnOthers(k *web.Request) error {
	if err := h.Staff.EndSessions(k.R.Context(), k.By, k.Session.Staff.ID, k.Session.ID); err != nil {
		return err
	}
	return k.Redirect("/account")
}

func (h *Handlers) confirmPage(k *web.Request) error { return h.showConfirm(k, http.StatusOK, "") }

func (h *Handlers) showConfirm(k *web.Request, status int, mistake string) error {
	return k.Show(status, view.StepUpPage(view.StepUpView{
		Shell: k.Shell("Is it still you?"), Action: "/account/confirm", Why: "What comes next changes who can sign in as you. You are asked again every ten minutes.",
		Code: len(k.Session.Staff.TOTPSealed) > 0, Error: mistake, Next: web.Next(k),
	}))
}

func (h *Handlers) confirm(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			return web.Next(k), h.Staff.Confirm(k.R.Context(), k.By, k.Session, k.R.PostForm.Get("proof"))
		},
		Show: func(r web.Rejected) error { return h.showConfirm(k, r.Status, r.Message()) },
	})
}
