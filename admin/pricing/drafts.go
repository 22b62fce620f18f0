package pricing

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) draftNewPage(k *web.Request) error {
	return h.showDraftNew(k, http.StatusOK, k.R.URL.Query().Get("from"), view.DraftFormView{})
}

// showDraftNew is the form that begins a draft from a version, "" for the one in force.
func (h *Handlers) showDraftNew(k *web.Request, status int, from string, v view.DraftFormView) error {
	version, err := h.source(k, from)
	if err != nil {
		return err
	}
	v.Shell, v.Action, v.Cancel, v.Submit = k.Shell("New draft", allPricing), "/pricing/drafts/new", "/pricing", "Begin the draft"
	v.From, v.FromName = from, web.VersionName(version.Version)
	if from == "" {
		v.FromName += ", the one in force"
	}
	return k.Show(status, view.DraftForm(v))
}

// source is the version that a draft begins from.
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

func (h *Handlers) draftNew(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	f := k.R.PostForm
	from := 0
	if f.Get("from") != "" {
		source, err := h.source(k, f.Get("from"))
		if err != nil {
			return err
		}
		from = source.Version
	}
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			made, err := h.prices(k).Begin(k.R.Context(), f.Get("title"), from)
			return web.DraftURL(made.ID), err
		},
		Show: func(r web.Rejected) error {
			return h.showDraftNew(k, r.Status, f.Get("from"), view.DraftFormView{Title: web.Short(f.Get("title")), Errors: r.Errors})
		},
	})
}

func (h *Handlers) draftTitlePage(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	return h.showDraftTitle(k, http.StatusOK, d, view.DraftFormView{Title: d.Title})
}

func (h *Handlers) showDraftTitle(k *web.Request, status int, d ratecard.Draft, v view.DraftFormView) error {
	address := web.DraftURL(d.ID)
	v.Shell, v.Action, v.Cancel, v.Submit = k.Shell("Rename the draft", allPricing, ui.Link{Label: web.DraftName(d.RateCard), URL: address}), address+"/title", address, "Rename"
	v.Version = int64(d.RowVersion)
	return k.Show(status, view.DraftForm(v))
}

func (h *Handlers) draftTitle(k *web.Request) error {
	d, err := h.draftForm(k)
	if err != nil {
		return err
	}
	title := k.R.PostForm.Get("title")
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			return web.DraftURL(d.ID), h.prices(k).Rename(k.R.Context(), d.ID, web.FormVersion(k), title)
		},
		Reload: h.reloadDraft(k, &d),
		Show: func(r web.Rejected) error {
			return h.showDraftTitle(k, r.Status, d, view.DraftFormView{Title: web.Short(title), Conflict: r.Conflict, Errors: r.Errors})
		},
	})
}

// reloadDraft reads a draft again after somebody else changed it.
func (h *Handlers) reloadDraft(k *web.Request, d *ratecard.Draft) func() (*ui.Conflict, error) {
	return func() (_ *ui.Conflict, err error) {
		if *d, err = h.draft(k); err != nil {
			return nil, err
		}
		return web.Conflict(k, "rate_card", ratecard.ID(d.ID), d.UpdatedAt)
	}
}

func (h *Handlers) discardView(k *web.Request, d ratecard.Draft, mistakes ui.Errors) ui.ConfirmView {
	address, lost := web.DraftURL(d.ID), "Its "+web.CountWords(int64(d.Edits), false, "edit", "edits")+" will not be published."
	if d.Edits == 0 {
		lost = "Nothing was changed in it."
	}
	if d.State != models.RateCardDraft {
		lost = "It is on its way to being published, and will not be. " + lost
	}
	return ui.ConfirmView{
		Shell:  k.Shell("Discard "+web.DraftName(d.RateCard), allPricing, ui.Link{Label: web.DraftName(d.RateCard), URL: address}),
		Action: address + "/discard", Consequence: lost + " It cannot be taken up again; live prices stay as they are.",
		TypeName: "discard", Submit: "Discard", Cancel: address, Hidden: []ui.Hidden{{Name: "version", Value: strconv.Itoa(d.RowVersion)}},
		Name: web.Short(k.R.PostForm.Get("name")), Errors: mistakes,
	}
}

func (h *Handlers) discardPage(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.Confirm(h.discardView(k, d, nil)))
}

func (h *Handlers) discard(k *web.Request) error {
	d, err := h.draftForm(k)
	if err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		Mistakes: web.CheckTypedName(k, "discard"),
		Do: func() (string, error) {
			return "/pricing", h.prices(k).Discard(k.R.Context(), d.ID, web.FormVersion(k))
		},
		Show: func(r web.Rejected) error {
			if web.IsStale(r.Err) {
				r.Errors[0].Message += " " + lastTouch(d)
			}
			return k.Show(r.Status, ui.Confirm(h.discardView(k, d, r.Errors)))
		},
	})
}

func (h *Handlers) editsTab(k *web.Request, d ratecard.Draft) error {
	head, err := h.draftHead(k, d, "edits")
	if err != nil {
		return err
	}
	q := k.R.URL.Query()
	found, newer, older, err := h.Prices.Edits(k.R.Context(), d.ID, web.KeyPage(q))
	if err != nil {
		return err
	}
	v := view.DraftEditsView{Head: head}
	if n := len(found); n > 0 {
		v.Pager = web.KeyPager(head.URL, q, newer, older, found[0].ID, found[n-1].ID)
	}
	for _, e := range found {
		v.Edits = append(v.Edits, view.EditRow{At: e.At, Who: e.Editor, What: e.What, Rules: e.Rules, Undone: web.TimeOf(e.UndoneAt), UndoneBy: e.UndoneBy})
	}
	return k.Show(http.StatusOK, view.DraftEdits(v))
}

// editable is the draft that the address names, for a page with a form about its rules.
// One that does not change any more has a page that says why.
func (h *Handlers) editable(k *web.Request) (d ratecard.Draft, err error) {
	if d, err = h.draft(k); err != nil {
		return d, err
	}
	if d.State == models.RateCardDraft {
		return d, nil
	}
	_ = k.Redirect(web.DraftURL(d.ID))
	return d, web.ErrAnswered
}

// under is what stands around a form's page of a draft.
func (h *Handlers) under(k *web.Request, d ratecard.Draft, title, tab string) ui.Shell {
	return k.Shell(title, allPricing, ui.Link{Label: web.DraftName(d.RateCard), URL: fmt.Sprint(web.DraftURL(d.ID), "?tab=", tab)})
}
