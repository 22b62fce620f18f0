package login

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	view "github.com/pingpost/pingpost/templates/login"
)

func (h *Handlers) codePage(k *web.Request) error {
	return k.Show(http.StatusOK, view.LoginCode(view.LoginCodeView{Shell: k.Shell("Second factor"), Next: k.Next()}))
}

func (h *Handlers) code(k *web.Request) error {
	return k.Submit(web.Form{
		Do: func() (string, error) {
			token, err := h.Staff.By(k.By).VerifyCode(k.R.Context(), k.Session, k.R.PostForm.Get("code"))
			if err == nil {
				k.SetSessionCookie(token)
			}
			return k.Next(), err
		},
		Show: func(r web.Rejected) error {
			if apperr.As(r.Err).Reason == "again" {
				k.SetSessionCookie("")
				return k.Show(http.StatusUnauthorized, view.Login(view.LoginView{
					Shell: k.Shell("Sign in"),
					Error: "You entered five wrong codes. Sign in again.",
					Next:  k.Next(),
				}))
			}
			return k.Show(r.Status, view.LoginCode(view.LoginCodeView{
				Shell: k.Shell("Second factor"),
				Error: r.Message(),
				Next:  k.Next(),
			}))
		},
	})
}
