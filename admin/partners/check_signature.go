package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) checkPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	return h.showCheck(k, http.StatusOK, p, view.CheckView{})
}

func (h *Handlers) showCheck(k *web.Request, status int, p models.Partner, v view.CheckView) (err error) {
	if v.Head, err = h.head(k, p, "secrets"); err != nil {
		return err
	}
	v.Head.Shell.Title = "Check signature"
	v.Head.Shell.Crumbs = append(v.Head.Shell.Crumbs, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)})
	return k.Show(status, view.SignatureCheck(v))
}

// check shows why a signature is rejected. It shows the pasted values again, but does not store them.
func (h *Handlers) check(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	v := view.CheckView{Timestamp: f.Get("timestamp"), Body: f.Get("body"), Signature: f.Get("signature")}
	for _, one := range []struct{ field, value, message string }{
		{"timestamp", v.Timestamp, "Paste the X-Timestamp header exactly as it was sent."},
		{"body", v.Body, "Paste the body exactly as it was sent."},
		{"signature", v.Signature, "Paste the X-Signature-SHA256 header exactly as it was sent."},
	} {
		switch {
		case one.value == "":
			v.Errors = append(v.Errors, ui.FieldError{Field: one.field, Message: one.message})
		case len(one.value) > 64<<10:
			v.Errors = append(v.Errors, ui.FieldError{
				Field:   one.field,
				Message: "This is longer than 64 KiB, the limit for posts.",
			})
		}
	}
	if len(v.Errors) > 0 {
		return h.showCheck(k, http.StatusUnprocessableEntity, p, v)
	}
	found, err := h.partners(k).DiagnoseSignature(k.R.Context(), k.Scope, p, v.Timestamp, v.Body, v.Signature)
	if err != nil {
		return err
	}
	v.Result = &found
	return h.showCheck(k, http.StatusOK, p, v)
}
