package admin

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// workRoutes are the pages about work that takes longer than a page may. Whoever may
// ask for an export may stop that one; for others' work it takes more (mayStop).
func (c *Console) workRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/work", needs: readPayouts, handle: (*call).workList},
		{method: http.MethodGet, path: "/work/{id}/live", needs: readPayouts, handle: (*call).workLive},
		{method: http.MethodPost, path: "/work/{id}/cancel", needs: exportPayouts, handle: (*call).cancelWork},
	}
}

func (k *call) workList() error { return k.showWork(http.StatusOK) }

func (k *call) showWork(status int) error {
	q := k.r.URL.Query()
	all, newer, older, err := k.Jobs.List(k.r.Context(), k.scope, k.session.Staff.ID, pageByKey(q))
	if err != nil {
		return err
	}
	v := templates.WorkView{Shell: k.shell("Long work", templates.Link{Label: "Ledger", URL: "/payouts"})}
	if v.Rows, err = k.workRows(all...); err != nil {
		return err
	}
	if n := len(all); n > 0 {
		v.Pager = pagerByKey("/work", q, newer, older, all[0].ID, all[n-1].ID)
	}
	return k.show(status, templates.WorkList(v))
}

// theWork is the piece that the address names.
func (k *call) theWork() (w models.Work, err error) {
	number, err := strconv.ParseInt(k.r.PathValue("id"), 10, 64)
	if err != nil || number < 1 {
		return w, errNoPage
	}
	w, err = k.Jobs.Get(k.r.Context(), k.scope, k.session.Staff.ID, number)
	return w, orNoPage(err)
}

// workLive is a row of the list, which comes anew by itself.
func (k *call) workLive() error {
	w, err := k.theWork()
	if err != nil {
		return err
	}
	rows, err := k.workRows(w)
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.WorkLine(rows[0], k.now))
}

var workKinds = map[models.WorkKind]string{models.WorkReconciliation: "Reconciliation", models.WorkPayoutRun: "Payout run", models.WorkExport: "Export of the ledger"}

func (k *call) workRows(all ...models.Work) (rows []templates.WorkRow, err error) {
	var whose []uuid.UUID
	for _, w := range all {
		if w.PartnerID != nil {
			whose = append(whose, *w.PartnerID)
		}
	}
	names, err := k.slugsOf(whose)
	for _, w := range all {
		rows = append(rows, k.workRow(w, names))
	}
	return rows, err
}

func (k *call) workRow(w models.Work, names slugs) templates.WorkRow {
	number := strconv.FormatInt(w.ID, 10)
	row := templates.WorkRow{
		LiveURL: "/work/" + number + "/live", Key: number, Kind: workKinds[w.Kind], For: k.workObject(w), AskedBy: w.AskedBy, Asked: w.AskedAt, Ended: timeOf(w.EndedAt), Status: k.workStatus(w),
	}
	if w.PartnerID != nil {
		row.Partner = names.of(*w.PartnerID)
	}
	return row
}

// workObject is what the work is for, with its page where this person may see it.
func (k *call) workObject(w models.Work) templates.Link {
	switch w.Kind {
	case models.WorkPayoutRun:
		l := templates.Link{Label: payouts.RunID(w.ObjectID)}
		if k.scope.All() {
			l.URL = runURL(w.ObjectID)
		}
		return l
	case models.WorkExport:
		l := templates.Link{Label: id.Format(id.Export, w.ObjectID)}
		if w.StaffID != nil && *w.StaffID == k.session.Staff.ID {
			l.URL = exportURL(w.ObjectID)
		}
		return l
	default:
		l := templates.Link{Label: id.Format(id.Reconciliation, w.ObjectID)}
		if k.may(readReconciliation) {
			l.URL = "/reconciliation/" + l.Label
		}
		return l
	}
}

// workStatus is how far work is, and where it is stopped.
func (k *call) workStatus(w models.Work) templates.WorkStatus {
	s := templates.WorkStatus{State: string(w.State), Phase: w.Phase, Done: w.Done, Total: w.Total, Failure: w.Failure}
	if s.Open() && k.mayStop(w) {
		s.StopURL = "/work/" + strconv.FormatInt(w.ID, 10) + "/cancel"
	}
	return s
}

// mayStop reports whether this person may stop work: their own, or that of partners whose
// payouts they do. What is of no one partner is the whole platform's.
func (k *call) mayStop(w models.Work) bool {
	switch {
	case w.StaffID != nil && *w.StaffID == k.session.Staff.ID:
		return true
	case w.PartnerID == nil:
		return k.everywhere(writePayouts)
	}
	return k.mayAt(writePayouts, *w.PartnerID)
}

func (k *call) cancelWork() error {
	if err := k.form(); err != nil {
		return err
	}
	w, err := k.theWork()
	if err != nil {
		return err
	}
	if !k.mayStop(w) {
		k.route.needs = writePayouts // which is what they lack
		return errForbidden
	}
	err = k.Jobs.Cancel(k.r.Context(), k.scope, k.by, w.ID)
	if f := apperr.As(err); f != nil && f.Code == apperr.Conflict {
		k.notices = append(k.notices, notice{Kind: "warn", Text: "It had ended already: this is how it ended."})
		return k.showWork(http.StatusConflict)
	}
	if err != nil {
		return orNoPage(err)
	}
	if back := local(k.r.PostForm.Get("return")); back != "/" {
		return k.to(back)
	}
	return k.to("/work")
}
