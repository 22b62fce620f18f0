package partners

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) suspendView(k *web.Request, p models.Partner, version int, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell:       k.Shell("Suspend "+p.Name, allPartners, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)}),
		Prefix:      "suspend",
		Action:      web.PartnerURL(p.ID) + "/suspend",
		Consequence: "The partner's pings will not be priced, and its posts will be rejected, even for quotes that it has already received. This takes effect within a second. Past leads and earnings are not affected.",
		TypeName:    p.Slug,
		Submit:      "Suspend partner",
		Cancel:      web.PartnerURL(p.ID),
		Hidden:      []ui.Hidden{{Name: "version", Value: strconv.Itoa(version)}},
		Name:        web.Short(k.R.PostForm.Get("name")),
		Errors:      mistakes,
	}
}

func (h *Handlers) suspendPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.Confirm(*h.suspendView(k, p, p.RowVersion, nil)))
}

func (h *Handlers) suspend(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	if mistake := web.CheckTypedName(k, p.Slug); len(mistake) > 0 {
		return k.Show(http.StatusUnprocessableEntity, ui.Confirm(*h.suspendView(k, p, web.FormRowVersion(k), mistake)))
	}
	return h.setStatus(k, p, models.PartnerSuspended)
}
