package pricing

import (
	"fmt"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// raceCells is the maximum number of price changes that the page lists when a newer version has been
// published.
const raceCells = 20

// publishForm is the input in the publish form, with its errors.
type publishForm struct {
	note, at string
	web.Rejected
}

func (h *Handlers) publishTab(k *web.Request, d ratecard.Draft) error {
	return h.showPublish(k, http.StatusOK, d, publishForm{note: d.Note, Rejected: web.Rejected{Version: d.RowVersion}})
}

func (h *Handlers) showPublish(k *web.Request, status int, d ratecard.Draft, f publishForm) error {
	head, err := h.draftHead(k, d, "publish")
	if err != nil {
		return err
	}
	v := view.PublishView{
		Head:            head,
		RequireApproval: h.Prices.RequireApproval(),
		StepUp:          k.StepUp(),
		Note:            web.Short(f.note),
		At:              web.Short(f.at),
		Version:         f.Version,
		Submitter:       d.Submitter,
		OwnSubmission:   !k.By.MayApprove(d.SubmitterID),
		Conflict:        f.Conflict,
		Errors:          f.Errors,
	}
	if v.Race, err = h.race(k, d); err != nil {
		return err
	}
	v.Head.Newer = ui.Link{} // this page shows the newer version in v.Race
	p, err := h.preview(k, d)
	if err != nil {
		return err
	}
	v.Summary = view.CompareTable{
		Counts:   compareCounts(p.changes),
		Outliers: countOutliers(p.changes),
		Percent:  outlierPercent,
	}
	v.Inversions, v.Problems = len(p.inversions), len(p.draft.Problems)
	switch v.Problems {
	case 0:
	case 1:
		v.FirstProblem = ui.Sentence(p.draft.Problems[0].Message) + "."
	default:
		v.FirstProblem = "The first one: " + p.draft.Problems[0].Message + "."
	}
	return k.Show(status, view.Publish(v))
}

// race returns the current version if it is newer than the version that the draft is based on, and nil
// otherwise.
func (h *Handlers) race(k *web.Request, d ratecard.Draft) (*view.PublishRace, error) {
	if d.State != models.RateCardDraft && d.State != models.RateCardSubmitted {
		return nil, nil
	}
	live, err := h.Prices.Current(k.R.Context())
	if err != nil || live.Version == d.BasedOn {
		return nil, err
	}
	base, err := h.Prices.Version(k.R.Context(), d.BasedOn)
	if err != nil {
		return nil, err
	}
	old, err := h.Prices.ExamineCard(k.R.Context(), base)
	if err != nil {
		return nil, err
	}
	now, err := h.Prices.ExamineCard(k.R.Context(), live)
	if err != nil {
		return nil, err
	}
	changes := comparison(old, now)
	return &view.PublishRace{
		Version:    h.versionLink(k, live),
		Publisher:  live.Publisher(),
		Note:       live.Note,
		Since:      web.TimeOf(live.EffectiveAt),
		Changed:    int64(len(changes)),
		Rows:       h.compareRows(k, changes[:min(len(changes), raceCells)]),
		CompareURL: compareURL(d.BasedOn, live.Version),
		OldHead:    web.VersionName(d.BasedOn),
		NewHead:    web.VersionName(live.Version),
	}, nil
}

func compareURL(a, b int) string { return fmt.Sprintf("/pricing/compare?a=%d&b=%d", a, b) }

func (h *Handlers) publishDraft(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	f := publishForm{note: k.R.PostForm.Get("note"), at: k.R.PostForm.Get("at")}
	at, wrong := web.ParseTime(f.at)
	if wrong != "" {
		f.Version, f.Errors = k.FormRowVersion(), ui.Errors{{Field: "at", Message: wrong}}
		return h.showPublish(k, http.StatusUnprocessableEntity, d, f)
	}
	return h.submitPublish(k, d, f, web.StepUpRequired, func() (string, error) {
		card, err := h.prices(k).Publish(k.R.Context(), d.ID, k.FormRowVersion(), f.note, at)
		return publishedURL(card), err
	})
}

func publishedURL(card models.RateCard) string {
	if card.State == models.RateCardPublished {
		return web.VersionURL(card.Version)
	}
	return web.DraftURL(card.ID) + "?tab=publish"
}

// submitPublish handles a submitted form on the Publish tab. If the form is rejected, it is shown again
// with the current draft.
func (h *Handlers) submitPublish(
	k *web.Request, d ratecard.Draft, f publishForm, proof web.StepUpRule, do func() (string, error),
) error {
	return k.Submit(web.Form{
		StepUp: proof,
		Do:     do,
		Reload: h.reloadDraft(k, &d),
		Show: func(r web.Rejected) (err error) {
			if r.Err != nil && r.Conflict == nil {
				if d, err = h.draft(k); err != nil {
					return err
				}
			}
			f.Rejected = r
			return h.showPublish(k, r.Status, d, f)
		},
	})
}
