package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// raceCells is how many of another version's changes are shown at once.
const raceCells = 20

// publishForm is what was typed, and what became of it.
type publishForm struct {
	note, at string
	version  int64
	conflict *templates.Conflict
	errors   templates.Errors
}

func (k *call) publishTab(d ratecard.Draft) error {
	return k.showPublish(http.StatusOK, d, publishForm{note: d.Note, version: int64(d.RowVersion)})
}

func (k *call) showPublish(status int, d ratecard.Draft, f publishForm) error {
	head, err := k.draftHead(d, "publish")
	if err != nil {
		return err
	}
	v := templates.PublishView{
		Head: head, SecondPerson: k.Prices.SecondPerson(), StepUp: k.stepUp(), Note: short(f.note), At: short(f.at), Version: f.version,
		Submitter: d.Submitter, OwnSubmission: d.Submitter == k.by.Name, Conflict: f.conflict, Errors: f.errors,
	}
	if v.Race, err = k.race(d); err != nil {
		return err
	}
	v.Head.Newer = templates.Link{} // told with its changes, which says more than the head does
	p, err := k.preview(d)
	if err != nil {
		return err
	}
	v.Summary = templates.CompareTable{Counts: compareCounts(p.changes), Outliers: countOutliers(p.changes), Percent: outlierPercent}
	v.Inversions = len(p.inversions)
	v.Blocks = publishBlocks(p, head.URL)
	return k.show(status, templates.Publish(v))
}

// publishBlocks is what has to be mended first.
func publishBlocks(p preview, url string) (all []templates.Need) {
	if n := len(p.draft.Problems); n > 0 {
		all = append(all, templates.Need{Text: countWords(int64(n), false, "problem", "problems"), URL: url + "?tab=preview", Detail: "Prices are missing, or rules clash."})
	}
	return all
}

// race is the version that was published since a draft was begun; nil where none was.
func (k *call) race(d ratecard.Draft) (*templates.PublishRace, error) {
	if d.State != models.RateCardDraft && d.State != models.RateCardSubmitted {
		return nil, nil
	}
	live, err := k.Prices.InForce(k.r.Context())
	if err != nil || live.Version == d.BasedOn {
		return nil, err
	}
	base, err := k.Prices.Version(k.r.Context(), d.BasedOn)
	if err != nil {
		return nil, err
	}
	old, err := k.Prices.Sheet(k.r.Context(), base)
	if err != nil {
		return nil, err
	}
	now, err := k.Prices.Sheet(k.r.Context(), live)
	if err != nil {
		return nil, err
	}
	changes := comparison(old, now)
	return &templates.PublishRace{
		Version: k.versionLink(live), Author: cmp.Or(live.Submitter, live.Author), Note: live.Note, Since: timeOf(live.EffectiveAt), Changed: int64(len(changes)),
		Rows: k.compareRows(changes[:min(len(changes), raceCells)]), CompareURL: compareURL(d.BasedOn, live.Version),
		OldHead: versionName(d.BasedOn), NewHead: versionName(live.Version),
	}, nil
}

func compareURL(a, b int) string { return fmt.Sprintf("/pricing/compare?a=%d&b=%d", a, b) }

func (k *call) publishDraft() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	f := publishForm{note: k.r.PostForm.Get("note"), at: k.r.PostForm.Get("at"), version: int64(k.version())}
	at, wrong := publishTime(f.at)
	if wrong != "" {
		f.errors = templates.Errors{{Field: "at", Message: wrong}}
		return k.showPublish(http.StatusUnprocessableEntity, d, f)
	}
	return k.release(d, f, func() (models.RateCard, error) {
		return k.prices().Publish(k.r.Context(), d.ID, k.version(), f.note, at)
	})
}

// publishTime reads the time of a form, which is UTC; "" is at once.
func publishTime(text string) (at time.Time, wrong string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return at, ""
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, ""
		}
	}
	return at, "A time is written like 2026-01-31T09:00, in UTC."
}

func (k *call) approveDraft() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	return k.release(d, publishForm{note: d.Note, version: int64(k.version())}, func() (models.RateCard, error) {
		return k.prices().Approve(k.r.Context(), d.ID, k.version())
	})
}

// release publishes a draft on behalf of somebody who has proved to be there, and leads to
// what it has become.
func (k *call) release(d ratecard.Draft, f publishForm, do func() (models.RateCard, error)) (err error) {
	if f.errors, err = k.proven(); err != nil {
		return err
	}
	if len(f.errors) > 0 {
		return k.showPublish(http.StatusUnprocessableEntity, d, f)
	}
	card, err := do()
	if err != nil {
		return k.publishRefused(f, err)
	}
	if card.State == models.RateCardPublished {
		return k.to(versionURL(card.Version))
	}
	return k.to(draftURL(d.ID) + "?tab=publish")
}

// publishRefused shows the form again, with the draft as it is by now.
func (k *call) publishRefused(f publishForm, refused error) error {
	status, mistakes, other := k.mistakes(refused)
	if other != nil {
		return other
	}
	d, err := k.draft()
	if err != nil {
		return err
	}
	f.errors = mistakes
	if isStale(refused) {
		f.errors, f.version = nil, int64(d.RowVersion)
		if f.conflict, err = k.conflict("rate_card", ratecard.ID(d.ID), d.UpdatedAt); err != nil {
			return err
		}
	}
	return k.showPublish(status, d, f)
}

func (k *call) takeBack() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	if err := k.prices().Withdraw(k.r.Context(), d.ID, k.version()); err != nil {
		return k.publishRefused(publishForm{note: d.Note, version: int64(k.version())}, err)
	}
	return k.to(draftURL(d.ID) + "?tab=publish")
}

// updateDraft brings a draft up to date, and says what it could not take over.
func (k *call) updateDraft() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	kept, err := k.prices().Update(k.r.Context(), d.ID, k.version())
	if err != nil {
		return k.publishRefused(publishForm{note: d.Note, version: int64(k.version())}, err)
	}
	if len(kept) == 0 {
		return k.to(draftURL(d.ID) + "?tab=preview")
	}
	if d, err = k.draft(); err != nil {
		return err
	}
	v := templates.PublishKeptView{}
	if v.Head, err = k.draftHead(d, "publish"); err != nil {
		return err
	}
	for _, one := range kept {
		row := templates.PublishKept{Target: one.Target.String(), Yours: "taken out"}
		if one.Yours != nil {
			row.Yours = strings.Join(effectWords(*one.Yours), ", ")
		}
		v.Kept = append(v.Kept, row)
	}
	return k.show(http.StatusOK, templates.PublishKeptPage(v))
}
