package account

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) changePassword(k *web.Request) error {
	form := k.R.PostForm
	var mistakes ui.Errors
	if form.Get("password") != form.Get("again") {
		mistakes = ui.Errors{{Field: "again", Message: "The passwords do not match. Enter the same password twice."}}
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		Do: func() (string, error) {
			err := h.Staff.By(k.By).SetPassword(k.R.Context(), k.Session, form.Get("current"), form.Get("password"))
			if err != nil {
				return "", err
			}
			k.Notices = append(k.Notices, web.Notice{
				Kind: "good",
				Text: "Your password was changed. You were signed out on all other devices.",
			})
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
