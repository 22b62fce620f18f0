package account

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	view "github.com/pingpost/pingpost/templates/account"
)

func (h *Handlers) confirmPage(k *web.Request) error { return h.showConfirm(k, http.StatusOK, "") }

func (h *Handlers) showConfirm(k *web.Request, status int, mistake string) error {
	return k.Show(status, view.StepUpPage(view.StepUpView{
		Shell:  k.Shell("Confirm your identity"),
		Action: "/account/confirm",
		Why:    "You are about to change how you sign in. Confirm your identity to continue.",
		Code:   len(k.Session.Staff.TOTPSealed) > 0,
		Error:  mistake,
		Next:   k.Next(),
	}))
}

func (h *Handlers) confirm(k *web.Request) error {
	return k.Submit(web.Form{
		Do: func() (string, error) {
			return k.Next(), h.Staff.By(k.By).Confirm(k.R.Context(), k.Session, k.R.PostForm.Get("proof"))
		},
		Show: func(r web.Rejected) error { return h.showConfirm(k, r.Status, r.Message()) },
	})
}
