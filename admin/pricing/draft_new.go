package pricing

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
)

func (h *Handlers) newDraftPage(k *web.Request) error {
	return h.showDraftNew(k, http.StatusOK, k.R.URL.Query().Get("from"), view.DraftFormView{})
}

// showDraftNew shows the form that creates a draft from a version. The parameter from is the number of
// the version. If it is empty, the form uses the current version.
func (h *Handlers) showDraftNew(k *web.Request, status int, from string, v view.DraftFormView) error {
	version, err := h.source(k, from)
	if err != nil {
		return err
	}
	v.Shell, v.Action, v.Cancel, v.Submit = k.Shell("New draft", allPricing), "/pricing/drafts/new", "/pricing", "Create draft"
	v.From, v.FromName = from, web.VersionName(version.Version)
	if from == "" {
		v.FromName += " (the current version)"
	}
	return k.Show(status, view.DraftForm(v))
}

func (h *Handlers) source(k *web.Request, from string) (models.RateCard, error) {
	if from == "" {
		card, err := h.Prices.Current(k.R.Context())
		return card, web.OrNotFound(err)
	}
	n, err := strconv.Atoi(from)
	if err != nil || n < 1 {
		return models.RateCard{}, web.ErrNotFound
	}
	card, err := h.Prices.Version(k.R.Context(), n)
	return card, web.OrNotFound(err)
}

func (h *Handlers) createDraft(k *web.Request) error {
	f := k.R.PostForm
	from := 0
	if f.Get("from") != "" {
		source, err := h.source(k, f.Get("from"))
		if err != nil {
			return err
		}
		from = source.Version
	}
	return k.Submit(web.Form{
		Do: func() (string, error) {
			made, err := h.prices(k).CreateDraft(k.R.Context(), f.Get("title"), from)
			return web.DraftURL(made.ID), err
		},
		Show: func(r web.Rejected) error {
			return h.showDraftNew(k, r.Status, f.Get("from"), view.DraftFormView{
				Title:  web.Short(f.Get("title")),
				Errors: r.Errors,
			})
		},
	})
}
