package partners

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) suspendPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	return h.showSuspend(k, http.StatusOK, p, p.RowVersion, nil)
}

func (h *Handlers) showSuspend(k *web.Request, status int, p models.Partner, version int, mistakes ui.Errors) error {
	facts, err := h.recentTraffic(k, p)
	switch {
	case errors.Is(err, context.Canceled): // the user left the page
		return err
	case err != nil: // a partner can be suspended even then
		h.Log.Error("cannot read a partner's traffic", "request_id", k.By.RequestID, "error",
			postgres.Translate(err).Error())
		facts = []ui.Fact{{Name: "Recent traffic", Value: "could not be loaded"}}
	}
	return k.Show(status, ui.Confirm(ui.ConfirmView{
		Shell:  k.Shell("Suspend "+p.Name, allPartners, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)}),
		Prefix: "suspend",
		Action: web.PartnerURL(p.ID) + "/suspend",
		Consequence: "The partner's pings will get no price, and its leads will be rejected, even for quotes that it has " +
			"already received. This takes effect within a second. Past leads and earnings are not affected.",
		Facts:    facts,
		TypeName: p.Slug,
		Submit:   "Suspend partner",
		Cancel:   web.PartnerURL(p.ID),
		Hidden:   []ui.Hidden{{Name: "version", Value: strconv.Itoa(version)}},
		Name:     web.Short(k.R.PostForm.Get("name")),
		Errors:   mistakes,
	}))
}

// recentTraffic counts the priced pings and delivered leads that a suspension would have stopped, including those of
// sandbox accounts.
func (h *Handlers) recentTraffic(k *web.Request, p models.Partner) ([]ui.Fact, error) {
	priced, delivered := ui.Fact{Name: "Priced pings"}, ui.Fact{Name: "Delivered leads"}
	for _, within := range []struct {
		hours int
		words string
	}{{24, " in 24 hours, "}, {7 * 24, " in 7 days"}} {
		f, err := h.Reporting.Partner(k.R.Context(), k.Scope, p.ID, reporting.LastSteps(k.Now, time.Hour, within.hours))
		if err != nil {
			return nil, err
		}
		counts := map[models.OutcomeKind]int64{}
		for _, o := range f.Outcomes {
			counts[models.KindOf(o.Outcome)] += o.Count
		}
		priced.Value += ui.Number(counts[models.KindPriced]) + within.words
		delivered.Value += ui.Number(counts[models.KindDelivered]) + within.words
	}
	return []ui.Fact{priced, delivered}, nil
}

func (h *Handlers) suspend(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	if mistake := k.CheckTypedName(p.Slug); len(mistake) > 0 {
		return h.showSuspend(k, http.StatusUnprocessableEntity, p, k.FormRowVersion(), mistake)
	}
	return h.setStatus(k, p, models.PartnerSuspended)
}
