package pricing

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) showProblems(k *web.Request, d ratecard.Draft, u upload, problems pricingrules.Problems) error {
	shown := min(len(problems), shownProblems)
	return h.showImport(k, http.StatusUnprocessableEntity, d, u, view.ImportView{
		Problems: problems[:shown],
		More:     len(problems) - shown,
	})
}

// showPreview shows the changes from a file. If the file could not be applied because another user changed
// the draft, the parameter theirs is that change.
func (h *Handlers) showPreview(
	k *web.Request, status int, d ratecard.Draft, u upload, i imported, theirs *ui.Conflict,
) error {
	shown := min(len(i.changes), shownCells)
	r := view.ImportResult{
		Name:    u.name,
		Kind:    u.kind,
		Content: u.text,
		Summary: i.summary(u),
		Changes: i.changes[:shown],
		More:    len(i.changes) - shown,
		Rules:   i.rules,
		Submit:  i.submit(),
	}
	return h.showImport(k, status, d, upload{kind: u.kind}, view.ImportView{Result: &r, Conflict: theirs})
}

func (i imported) summary(u upload) string {
	what := web.Short(u.name)
	switch {
	case i.isEmpty():
		return "Nothing would change. The draft already matches " + what + "."
	case u.kind == kindYAML && len(i.changes) == 0:
		return fmt.Sprintf("Applying %s would add or remove %s. No prices would change. The draft has not been changed yet.", what,
			ui.Plural(i.rules, "rule", "rules"))
	case u.kind == kindYAML:
		return fmt.Sprintf("Applying %s would change %s, and add or remove %s. The draft has not been changed yet.", what,
			ui.Plural(len(i.changes), "price", "prices"),
			ui.Plural(i.rules, "rule", "rules"))
	}
	return fmt.Sprintf("Applying %s would change %s. The draft has not been changed yet.", what,
		ui.Plural(len(i.changes), "base price", "base prices"))
}

// submit returns the label of the button that applies the file, or "" if the file changes nothing.
func (i imported) submit() string {
	switch {
	case i.isEmpty():
		return ""
	case len(i.changes) == 0:
		return "Apply " + ui.Plural(i.rules, "rule change", "rule changes")
	}
	return "Apply " + ui.Plural(len(i.changes), "change", "changes")
}

// applyImport applies a file to a draft, unless the draft has changed since the preview.
func (h *Handlers) applyImport(k *web.Request, d ratecard.Draft, u upload, i imported) error {
	version, err := strconv.Atoi(u.version)
	if err != nil || version < 1 {
		return web.ErrForm
	}
	return k.Submit(web.Form{
		Do: func() (_ string, err error) {
			if u.kind == kindYAML {
				_, err = h.prices(k).Replace(k.R.Context(), d.ID, version, "Imported rate card from "+u.name, i.card)
			} else {
				_, err = h.prices(k).SetBases(k.R.Context(), d.ID, version, "Imported base prices from "+u.name, i.bases)
			}
			return web.DraftURL(d.ID), err
		},
		Reload: h.reloadDraft(k, &d),
		Show: func(r web.Rejected) error {
			if r.Conflict != nil {
				return h.previewAgain(k, r, d, u)
			}
			return h.showImport(k, r.Status, d, u, view.ImportView{Errors: r.Errors})
		},
	})
}

// previewAgain shows the changes that the file makes to the draft now that another user has changed it.
func (h *Handlers) previewAgain(k *web.Request, r web.Rejected, d ratecard.Draft, u upload) error {
	release, err := h.acquireImport(k)
	if err != nil {
		return err
	}
	i, err := h.read(k, d, u)
	release()
	if err != nil {
		return err
	}
	return h.showPreview(k, r.Status, d, u, i, r.Conflict)
}
