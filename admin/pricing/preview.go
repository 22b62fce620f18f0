package pricing

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// previewLimit is the maximum length of the lists of problems and warnings. The counts next to the lists
// include all problems and warnings.
const previewLimit = 20

// preview is the effect of publishing a draft. The draft is compared with the version that it is
// based on, so that the preview does not include changes from newer versions.
type preview struct {
	draft, base *ratecard.ExaminedCard
	changes     []pricingrules.Change
	inversions  []pricingrules.Inversion // only those that are not in base
}

func (h *Handlers) preview(k *web.Request, d ratecard.Draft) (p preview, err error) {
	if p.draft, err = h.Prices.ExamineCard(k.R.Context(), d.RateCard); err != nil {
		return p, err
	}
	p.base = p.draft // the first version is not based on another
	if d.BasedOn > 0 {
		base, err := h.Prices.Version(k.R.Context(), d.BasedOn)
		if err != nil {
			return p, err
		}
		if p.base, err = h.Prices.ExamineCard(k.R.Context(), base); err != nil {
			return p, err
		}
	}
	p.changes = comparison(p.base, p.draft)
	p.inversions = newInversions(p.base.Table, p.draft.Table)
	return p, nil
}

// newInversions returns the inversions in the new table that are not in the old one. An inversion is a
// cell whose price does not fit its urgency (decision 8).
func newInversions(old, now *pricingrules.Table) (found []pricingrules.Inversion) {
	type cell struct {
		industry, market string
		class            pricingrules.Class
	}
	of := func(i pricingrules.Inversion) cell { return cell{i.Industry.Slug, i.Market.Code, i.Class} }
	listed := map[cell]bool{}
	for _, i := range old.Inversions() {
		listed[of(i)] = true
	}
	for _, i := range now.Inversions() {
		if !listed[of(i)] {
			found = append(found, i)
		}
	}
	return found
}

func (h *Handlers) previewTab(k *web.Request, d ratecard.Draft) error {
	head, err := h.draftHead(k, d, "preview")
	if err != nil {
		return err
	}
	p, err := h.preview(k, d)
	if err != nil {
		return err
	}
	v := view.PreviewView{
		Head:           head,
		Problems:       previewProblems(head, p.draft),
		MoreProblems:   max(0, len(p.draft.Problems)-previewLimit),
		Inversions:     p.inversions[:min(len(p.inversions), previewLimit)],
		MoreInversions: max(0, len(p.inversions)-previewLimit),
		Table:          h.compareTable(k, head.URL, p.changes, "tab"),
	}
	v.Table.Caption = "Price changes, largest first"
	v.Table.OldHead, v.Table.NewHead = web.VersionName(d.BasedOn), "Draft"
	return k.Show(http.StatusOK, view.Preview(v))
}

// previewProblems returns the problems that prevent publishing. If a rule causes a problem and the user
// can change the draft, the problem has a link to that rule.
func previewProblems(head view.DraftHead, sheet *ratecard.ExaminedCard) (all []view.PreviewProblem) {
	for _, p := range sheet.Problems[:min(len(sheet.Problems), previewLimit)] {
		problem := view.PreviewProblem{Text: ui.Sentence(p.Message)}
		if p.Rule >= 0 {
			problem.Rule = sheet.Card.Rules[p.Rule].Selector()
			if head.CanWrite {
				problem.URL = head.URL + "/rules/" + strconv.Itoa(sheet.Positions[p.Rule])
			}
		}
		all = append(all, problem)
	}
	return all
}
