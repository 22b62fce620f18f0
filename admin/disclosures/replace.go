package disclosures

import (
	"cmp"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/consents"
	view "github.com/pingpost/pingpost/templates/disclosures"
	"github.com/pingpost/pingpost/templates/ui"
)

// toReplace returns the text with the id in the URL. Leads of all partners can use the text.
func (h *Handlers) toReplace(k *web.Request) (d consents.Disclosure, err error) {
	if !k.Scope.All() {
		return d, web.ErrNotFound
	}
	return h.disclosure(k)
}

func (h *Handlers) replacePage(k *web.Request) error {
	d, err := h.toReplace(k)
	if err != nil {
		return err
	}
	return h.showReplace(k, d, d.Text,
		web.Rejected{Status: http.StatusOK, Version: d.Version(), StepUp: k.StepUpAgain()})
}

func (h *Handlers) replace(k *web.Request) error {
	d, err := h.toReplace(k)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	replacement := consents.Replacement{
		Disclosure: d.ID, Version: k.FormRowVersion(), Text: f.Get("text"), Note: f.Get("note"),
	}
	_, err = replacement.Check()
	return k.Submit(web.Form{
		Errors: mistakes(err),
		StepUp: web.StepUpAlways,
		Do: func() (string, error) {
			err := h.Consents.By(k.By).Replace(k.R.Context(), k.Scope, replacement)
			return web.DisclosureURL(d.ID), web.OrNotFound(err)
		},
		Reload: func() (version int, conflict *ui.Conflict, err error) {
			if d, err = h.disclosure(k); err != nil {
				return 0, nil, err
			}
			conflict, err = k.Conflict("disclosure", consents.DisclosureID(d.ID), web.TimeOf(d.ReplacedAt))
			return d.Version(), conflict, err
		},
		KeepAfterFailure: true,
		Show:             func(r web.Rejected) error { return h.showReplace(k, d, f.Get("text"), r) },
	})
}

func mistakes(err error) ui.Errors {
	if rejected := apperr.As(err); rejected != nil {
		return ui.Errors{{Field: rejected.Reason, Message: rejected.Message, Code: rejected.Reason}}
	}
	return nil
}

func (h *Handlers) showReplace(k *web.Request, d consents.Disclosure, text string, r web.Rejected) error {
	return k.Show(r.Status, view.Replace(view.ReplaceView{
		Shell: k.Shell("Replace disclosure text", allTexts,
			ui.Link{Label: consents.DisclosureID(d.ID), URL: web.DisclosureURL(d.ID)}),
		URL:      web.DisclosureURL(d.ID),
		Facts:    facts(k, d),
		Current:  d.Text,
		Text:     text,
		Note:     k.R.PostForm.Get("note"),
		Version:  cmp.Or(r.Version, k.FormRowVersion()),
		Conflict: r.Conflict,
		StepUp:   r.StepUp,
		Errors:   r.Errors,
	}))
}
