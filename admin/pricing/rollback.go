package pricing

import (
	"fmt"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

func rollBackURL(version int) string { return web.VersionURL(version) + "/rollback" }

// rollBackLink links to the page that rolls back to the given version.
func rollBackLink(version int) ui.Link {
	return ui.Link{Label: fmt.Sprintf("Roll back to version %d", version), URL: rollBackURL(version)}
}

func (h *Handlers) rollBackPage(k *web.Request) error {
	card, err := h.pricedVersion(k)
	if err != nil {
		return err
	}
	return h.showRollBack(k, http.StatusOK, card, view.RollBackView{Note: rollBackLink(card.Version).Label})
}

// showRollBack shows the changes that a rollback to the given version makes, with the form that confirms it.
func (h *Handlers) showRollBack(k *web.Request, status int, card models.RateCard, v view.RollBackView) error {
	live, err := h.Prices.Current(k.R.Context())
	if err != nil {
		return err
	}
	if live.Version == card.Version {
		return k.Redirect(web.VersionURL(card.Version))
	}
	old, err := h.Prices.ExamineCard(k.R.Context(), live)
	if err != nil {
		return err
	}
	now, err := h.Prices.ExamineCard(k.R.Context(), card)
	if err != nil {
		return err
	}
	v.Shell = k.Shell(rollBackLink(card.Version).Label, allPricing, allVersions, h.versionLink(k, card))
	v.SameRules = now.SameRules(old)
	v.URL, v.Current = web.VersionURL(card.Version), live.Version
	v.RequireApproval, v.StepUp = h.Prices.RequireApproval(), k.StepUp()
	v.Changes, v.More = h.largestChanges(k, comparison(old, now))
	v.Changes.OldHead, v.Changes.NewHead = web.VersionName(live.Version), web.VersionName(card.Version)
	v.CompareURL = compareURL(live.Version, card.Version)
	scheduled, found, err := h.Prices.Scheduled(k.R.Context())
	if err != nil {
		return err
	}
	if found {
		v.ScheduledID = id.Format(id.RateCard, scheduled.ID)
		v.Withdraws = ui.Link{Label: web.DraftName(scheduled), URL: web.DraftURL(scheduled.ID)}
		v.ScheduledFor = web.TimeOf(scheduled.EffectiveAt)
	}
	return k.Show(status, view.RollBack(v))
}

func (h *Handlers) rollBack(k *web.Request) error {
	card, err := h.pricedVersion(k)
	if err != nil {
		return err
	}
	note := k.R.PostForm.Get("note")
	scheduled, _ := id.Parse(id.RateCard, k.R.PostForm.Get("withdraws")) // uuid.Nil if no draft was scheduled
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			now, err := h.prices(k).RollBack(k.R.Context(), card.Version, k.FormRowVersion(), scheduled, note)
			return publishedURL(now), err
		},
		Show: func(r web.Rejected) error {
			return h.showRollBack(k, r.Status, card, view.RollBackView{Note: web.Short(note), Errors: r.Errors})
		},
	})
}
