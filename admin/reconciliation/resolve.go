package reconciliation

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

func resolveURL(r reconcile.Reconciliation, line int) string {
	return reconciliationURL(r.ID) + "/lines/" + strconv.Itoa(line) + "/resolve"
}

// line returns the line with the number in the URL. It returns web.ErrNotFound if the line does not
// exist or cannot be resolved.
func (h *Handlers) line(k *web.Request, r reconcile.Reconciliation) (l reconcile.Line, err error) {
	n, err := parseLine(k.R.PathValue("line"))
	if err != nil || r.State != models.ReconciliationSaved {
		return l, web.ErrNotFound
	}
	found, _, _, err := h.Reconcile.Lines(k.R.Context(), k.Scope, reconcile.LineQuery{
		Reconciliation: r.ID,
		Page:           postgres.Page[int]{After: n - 1, Size: 1},
	})
	if err != nil {
		return l, err
	}
	if len(found) == 0 || found[0].Line != n || !reconcile.Resolvable(found[0].Finding) {
		return l, web.ErrNotFound
	}
	return found[0], nil
}

func (h *Handlers) resolvePage(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	l, err := h.line(k, r)
	if err != nil {
		return err
	}
	return h.showResolve(k, http.StatusOK, r, l, "", nil)
}

func (h *Handlers) showResolve(
	k *web.Request, status int, r reconcile.Reconciliation, l reconcile.Line, note string, mistakes ui.Errors,
) error {
	row := h.lineRow(k, r, l)
	title := "Resolve row " + ui.Number(int64(row.Row))
	if row.Row == 0 {
		title = "Resolve missing lead"
	}
	f, _ := findingOf(l.Finding)
	address := reconciliationURL(r.ID)
	return k.Show(status, view.Resolve(view.ResolveView{
		Shell:   k.Shell(title, allReconciliations, ui.Link{Label: r.FileName, URL: address}),
		Action:  resolveURL(r, l.Line),
		Cancel:  h.lineURL(k, r, l),
		Finding: f.Name,
		Line:    row,
		Note:    note,
		Errors:  mistakes,
	}))
}

// lineURL returns a URL that shows a line in the list of lines with the same finding.
func (h *Handlers) lineURL(k *web.Request, r reconcile.Reconciliation, l reconcile.Line) string {
	q := "?finding=" + web.Escape(string(l.Finding))
	if l.Line > 1 {
		q += "&after=" + strconv.Itoa(l.Line-1)
	}
	return reconciliationURL(r.ID) + q + "#" + lineAnchor(l.Line)
}

func (h *Handlers) resolve(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	l, err := h.line(k, r)
	if err != nil {
		return err
	}
	note := k.R.PostForm.Get("note")
	return k.Submit(web.Form{
		Do: func() (string, error) {
			if !web.ValidText(note) {
				return "", atField("note", apperr.Invalid, "note", "The note contains invalid characters. Enter it again.")
			}
			return h.lineURL(k, r, l), h.reconciliations(k).Resolve(k.R.Context(), k.Scope, r.ID, l.Line, note)
		},
		Show: func(rejected web.Rejected) error {
			return h.showResolve(k, rejected.Status, r, l, shortNote(note), rejected.Errors)
		},
	})
}

// shortNote truncates a note for the form and replaces invalid characters.
func shortNote(note string) string {
	const most = 4000
	runes := []rune(strings.ToValidUTF8(strings.ReplaceAll(note, "\x00", "\ufffd"), "\ufffd"))
	return string(runes[:min(len(runes), most)])
}
