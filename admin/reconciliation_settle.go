package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func settleURL(r reconcile.Reconciliation, line int) string {
	return reconciliationURL(r.ID) + "/lines/" + strconv.Itoa(line) + "/settle"
}

// line is the one that the address names, of a kept result, if it is one to be settled.
func (k *call) line(r reconcile.Reconciliation) (l reconcile.Line, err error) {
	n := lineNumber(k.r.PathValue("line"))
	if n < 1 || r.State != models.ReconciliationKept {
		return l, errNoPage
	}
	found, _, _, err := k.Reconcile.Lines(k.r.Context(), k.scope, reconcile.LineQuery{Reconciliation: r.ID, After: n - 1, Size: 1})
	if err != nil {
		return l, err
	}
	if len(found) == 0 || found[0].Line != n || !reconcile.Settleable(found[0].Finding) {
		return l, errNoPage
	}
	return found[0], nil
}

func (k *call) settlePage() error {
	r, err := k.reconciliation()
	if err != nil {
		return err
	}
	l, err := k.line(r)
	if err != nil {
		return err
	}
	return k.showSettle(http.StatusOK, r, l, "", nil)
}

func (k *call) showSettle(status int, r reconcile.Reconciliation, l reconcile.Line, note string, mistakes templates.Errors) error {
	row := k.lineRow(r, l)
	title := "Settle row " + templates.Number(int64(row.Row))
	if row.Row == 0 {
		title = "Settle a missing lead"
	}
	f, _ := findingOf(l.Finding)
	address := reconciliationURL(r.ID)
	return k.show(status, templates.Settle(templates.SettleView{
		Shell: k.shell(title, allReconciliations, templates.Link{Label: r.FileName, URL: address}), Action: settleURL(r, l.Line),
		Cancel: k.lineURL(r, l), Finding: f.name, Line: row, Note: note, Errors: mistakes,
	}))
}

// lineURL is where a line stands on the page of its finding.
func (k *call) lineURL(r reconcile.Reconciliation, l reconcile.Line) string {
	q := "?finding=" + escape(string(l.Finding))
	if l.Line > 1 {
		q += "&after=" + strconv.Itoa(l.Line-1)
	}
	return reconciliationURL(r.ID) + q + "#" + lineAnchor(l.Line)
}

func (k *call) settle() error {
	r, err := k.reconciliationForm()
	if err != nil {
		return err
	}
	l, err := k.line(r)
	if err != nil {
		return err
	}
	note := k.r.PostForm.Get("note")
	if !validText(note) {
		err = atField("note", apperr.Invalid, "note", "The note holds characters that are no text: write it anew.")
	} else {
		err = k.reconciliations().Settle(k.r.Context(), k.scope, r.ID, l.Line, note)
	}
	if err == nil {
		return k.to(k.lineURL(r, l))
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	return k.showSettle(status, r, l, shortNote(note), mistakes)
}

// shortNote is a note as far as the form repeats it.
func shortNote(note string) string {
	const most = 4000
	runes := []rune(strings.ToValidUTF8(strings.ReplaceAll(note, "\x00", "\ufffd"), "\ufffd"))
	return string(runes[:min(len(runes), most)])
}
