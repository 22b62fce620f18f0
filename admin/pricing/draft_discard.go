package pricing

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) discardView(k *web.Request, d ratecard.Draft, version int, mistakes ui.Errors) ui.ConfirmView {
	address, lost := web.DraftURL(d.ID), "The draft's "+ui.Plural(d.Edits, "edit", "edits")+" will not be published."
	if d.Edits == 0 {
		lost = "The draft has no edits."
	}
	if d.State != models.RateCardDraft {
		lost = "The draft will not be published."
	}
	return ui.ConfirmView{
		Shell: k.Shell("Discard “"+web.DraftName(d.RateCard)+"”", allPricing, ui.Link{
			Label: web.DraftName(d.RateCard),
			URL:   address,
		}),
		Action:      address + "/discard",
		Consequence: lost + " A discarded draft cannot be restored. Current prices do not change.",
		TypeName:    "discard",
		Submit:      "Discard draft",
		Cancel:      address,
		Hidden:      []ui.Hidden{{Name: "version", Value: strconv.Itoa(version)}},
		Name:        web.Short(k.R.PostForm.Get("name")),
		Errors:      mistakes,
	}
}

func (h *Handlers) discardPage(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.Confirm(h.discardView(k, d, d.RowVersion, nil)))
}

func (h *Handlers) discard(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		Errors: k.CheckTypedName("discard"),
		Do: func() (string, error) {
			return "/pricing", h.prices(k).Discard(k.R.Context(), d.ID, k.FormRowVersion())
		},
		Show: func(r web.Rejected) error {
			if web.IsStale(r.Err) {
				r.Errors[0].Message += " " + lastChangeText(d)
				r.Version = d.RowVersion
			}
			return k.Show(r.Status, ui.Confirm(h.discardView(k, d, r.Version, r.Errors)))
		},
	})
}
