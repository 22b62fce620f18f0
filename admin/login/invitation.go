package login

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/login"
	"github.com/pingpost/pingpost/templates/ui"
)

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
	token, form := k.R.PathValue("token"), k.R.PostForm
	p, err := h.Staff.Invitation(k.R.Context(), token)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	if form.Get("password") != form.Get("again") {
		mistakes = ui.Errors{{Field: "again", Message: "The passwords do not match. Enter the same password twice."}}
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		Do: func() (string, error) {
			if _, err := h.Staff.By(k.By).Accept(k.R.Context(), token, form.Get("password")); err != nil {
				return "", err
			}
			return "", k.Show(http.StatusOK, view.Login(view.LoginView{
				Shell:  k.Shell("Sign in"),
				Email:  p.Email,
				Notice: "Your password is set. Sign in to continue.",
				Next:   "/",
			}))
		},
		FieldOf: web.Field("password"),
		Show: func(r web.Rejected) error {
			if f := apperr.As(r.Err); f != nil && f.Code != apperr.Invalid {
				return r.Err // the invitation is no longer valid
			}
			return h.showInvite(k, r.Status, p, r.Errors)
		},
	})
}
