package pricing

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// raceCells is how many of another version's changes are shown at once.
const raceCells = 20

// publishForm is what was typed, and what became of it.
type publishForm struct {
	note, at string
	version  int64
	conflict *ui.Conflict
	errors   ui.Errors
}

func (h *Handlers) publishTab(k *web.Request, d ratecard.Draft) error {
	return h.showPublish(k, http.StatusOK, d, publishForm{note: d.Note, version: int64(d.RowVersion)})
}

func (h *Handlers) showPublish(k *web.Request, status int, d ratecard.Draft, f publishForm) error {
	head, err := h.draftHead(k, d, "publish")
	if err != nil {
		return err
	}
	v := view.PublishView{
		Head: head, SecondPerson: h.Prices.SecondPerson(), StepUp: k.StepUp(), Note: web.Short(f.note), At: web.Short(f.at), Version: f.version,
		Submitter: d.Submitter, OwnSubmission: d.Submitter == k.By.Name, Conflict: f.conflict, Errors: f.errors,
	}
	if v.Race, err = h.race(k, d); err != nil {
		return err
	}
	v.Head.Newer = ui.Link{} // told with its changes, which says more than the head does
	p, err := h.preview(k, d)
	if err != nil {
		return err
	}
	v.Summary = view.CompareTable{Counts: compareCounts(p.changes), Outliers: countOutliers(p.changes), Percent: outlierPercent}
	v.Inversions = len(p.inversions)
	v.Blocks = publishBlocks(p, head.URL)
	return k.Show(status, view.Publish(v))
}

// publishBlocks is what has to be mended first.
func publishBlocks(p preview, url string) (all []ui.Need) {
	if n := len(p.draft.Problems); n > 0 {
		all = append(all, ui.Need{Text: web.CountWords(int64(n), false, "problem", "problems"), URL: url + "?tab=preview", Detail: "Prices are missing, or rules clash."})
	}
	return all
}

// race is the version that was published since a draft was begun; nil where none was.
func (h *Handlers) race(k *web.Request, d ratecard.Draft) (*view.PublishRace, error) {
	if d.State != models.RateCardDraft && d.State != models.RateCardSubmitted {
		return nil, nil
	}
	live, err := h.Prices.InForce(k.R.Context())
	if err != nil || live.Version == d.BasedOn {
		return nil, err
	}
	base, err := h.Prices.Version(k.R.Context(), d.BasedOn)
	if err != nil {
		return nil, err
	}
	old, err := h.Prices.Sheet(k.R.Context(), base)
	if err != nil {
		return nil, err
	}
	now, err := h.Prices.Sheet(k.R.Context(), live)
	if err != nil {
		return nil, err
	}
	changes := comparison(old, now)
	return &view.PublishRace{
		Version: h.versionLink(k, live), Author: cmp.Or(live.Submitter, live.Author), Note: live.Note, Since: web.TimeOf(live.EffectiveAt), Changed: int64(len(changes)),
		Rows: h.compareRows(k, changes[:min(len(changes), raceCells)]), CompareURL: compareURL(d.BasedOn, live.Version),
		OldHead: web.VersionName(d.BasedOn), NewHead: web.VersionName(live.Version),
	}, nil
}

func compareURL(a, b int) string { return fmt.Sprintf("/pricing/compare?a=%d&b=%d", a, b) }

func (h *Handlers) publishDraft(k *web.Request) error {
	d, err := h.draftForm(k)
	if err != nil {
		return err
	}
	f := publishForm{note: k.R.PostForm.Get("note"), at: k.R.PostForm.Get("at"), version: int64(k.FormVersion())}
	at, wrong := web.PublishTime(f.at)
	if wrong != "" {
		f.errors = ui.Errors{{Field: "at", Message: wrong}}
		return h.showPublish(k, http.StatusUnprocessableEntity, d, f)
	}
	return h.release(k, d, f, func() (models.RateCard, error) {
		return h.prices(k).Publish(k.R.Context(), d.ID, k.FormVersion(), f.note, at)
	})
}

func (h *Handlers) approveDraft(k *web.Request) error {
	d, err := h.draftForm(k)
	if err != nil {
		return err
	}
	return h.release(k, d, publishForm{note: d.Note, version: int64(k.FormVersion())}, func() (models.RateCard, error) {
		return h.prices(k).Approve(k.R.Context(), d.ID, k.FormVersion())
	})
}

// release publishes a draft on behalf of somebody who has proved to be there, and leads to
// what it has become.
func (h *Handlers) release(k *web.Request, d ratecard.Draft, f publishForm, do func() (models.RateCard, error)) (err error) {
	if f.errors, err = k.Prove(); err != nil {
		return err
	}
	if len(f.errors) > 0 {
		return h.showPublish(k, http.StatusUnprocessableEntity, d, f)
	}
	card, err := do()
	if err != nil {
		return h.publishRefused(k, f, err)
	}
	if card.State == models.RateCardPublished {
		return k.Redirect(web.VersionURL(card.Version))
	}
	return k.Redirect(web.DraftURL(d.ID) + "?tab=publish")
}

// publishRefused shows the form again, with the draft as it is by now.
func (h *Handlers) publishRefused(k *web.Request, f publishForm, refused error) error {
	status, mistakes, other := k.FormErrors(refused)
	if other != nil {
		return other
	}
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	f.errors = mistakes
	if web.IsStale(refused) {
		f.errors, f.version = nil, int64(d.RowVersion)
		if f.conflict, err = k.Conflict("rate_card", ratecard.ID(d.ID), d.UpdatedAt); err != nil {
			return err
		}
	}
	return h.showPublish(k, status, d, f)
}

func (h *Handlers) takeBack(k *web.Request) error {
	d, err := h.draftForm(k)
	if err != nil {
		return err
	}
	if err := h.prices(k).Withdraw(k.R.Context(), d.ID, k.FormVersion()); err != nil {
		return h.publishRefused(k, publishForm{note: d.Note, version: int64(k.FormVersion())}, err)
	}
	return k.Redirect(web.DraftURL(d.ID) + "?tab=publish")
}

// updateDraft brings a draft up to date, and says what it could not take over.
func (h *Handlers) updateDraft(k *web.Request) error {
	d, err := h.draftForm(k)
	if err != nil {
		return err
	}
	kept, err := h.prices(k).Update(k.R.Context(), d.ID, k.FormVersion())
	if err != nil {
		return h.publishRefused(k, publishForm{note: d.Note, version: int64(k.FormVersion())}, err)
	}
	if len(kept) == 0 {
		return k.Redirect(web.DraftURL(d.ID) + "?tab=preview")
	}
	if d, err = h.draft(k); err != nil {
		return err
	}
	v := view.PublishKeptView{}
	if v.Head, err = h.draftHead(k, d, "publish"); err != nil {
		return err
	}
	for _, one := range kept {
		row := view.PublishKept{Target: one.Target.String(), Yours: "taken out"}
		if one.Yours != nil {
			row.Yours = strings.Join(effectWords(*one.Yours), ", ")
		}
		v.Kept = append(v.Kept, row)
	}
	return k.Show(http.StatusOK, view.PublishKeptPage(v))
}
