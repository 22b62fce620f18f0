package jobs

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/jobs"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) list(k *web.Request) error { return h.show(k, http.StatusOK) }

func (h *Handlers) show(k *web.Request, status int) error {
	q := k.R.URL.Query()
	all, newer, older, err := h.Jobs.List(k.R.Context(), k.Scope, k.Session.Staff.ID, web.NumberPage(q))
	if err != nil {
		return err
	}
	v := view.ListView{Shell: k.Shell("Background jobs", ui.Link{Label: "Ledger", URL: "/payouts"})}
	if v.Rows, err = h.rows(k, all...); err != nil {
		return err
	}
	v.Pager = web.Pager("/jobs", q, all, newer, older, func(w models.Job) string { return web.Number(w.ID) })
	return k.Show(status, view.List(v))
}

func (h *Handlers) job(k *web.Request) (w models.Job, err error) {
	number, err := strconv.ParseInt(k.R.PathValue("id"), 10, 64)
	if err != nil || number < 1 {
		return w, web.ErrNotFound
	}
	w, err = h.Jobs.Get(k.R.Context(), k.Scope, k.Session.Staff.ID, number)
	return w, web.OrNotFound(err)
}

// live renders one row of the list of jobs. The browser reloads the row of an open job automatically.
func (h *Handlers) live(k *web.Request) error {
	w, err := h.job(k)
	if err != nil {
		return err
	}
	rows, err := h.rows(k, w)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.Line(rows[0], k.Now))
}

var jobKinds = map[models.JobKind]string{
	models.JobReconciliation: "Reconciliation",
	models.JobPayoutRun:      "Payout run",
	models.JobExport:         "Ledger export",
	models.JobReplay:         "Price replay",
	models.JobRetentionRun:   "Retention run",
}

func (h *Handlers) rows(k *web.Request, all ...models.Job) (rows []view.Row, err error) {
	var whose []uuid.UUID
	for _, w := range all {
		if w.PartnerID != nil {
			whose = append(whose, *w.PartnerID)
		}
	}
	names, err := k.NamesOfPartners(whose)
	for _, w := range all {
		rows = append(rows, h.row(k, w, names))
	}
	return rows, err
}

func (h *Handlers) row(k *web.Request, w models.Job, names web.PartnerNames) view.Row {
	number := strconv.FormatInt(w.ID, 10)
	row := view.Row{
		LiveURL:    "/jobs/" + number + "/live",
		Key:        number,
		Kind:       jobKinds[w.Kind],
		For:        h.object(k, w),
		EnqueuedBy: w.EnqueuedBy,
		EnqueuedAt: w.EnqueuedAt,
		Ended:      web.TimeOf(w.EndedAt),
		Status:     k.JobStatus(w),
	}
	if w.PartnerID != nil {
		row.Partner = names.Of(*w.PartnerID)
	}
	return row
}

// object returns a link to the object that a job processes or creates. The link has no URL if the
// user cannot see the object.
func (h *Handlers) object(k *web.Request, w models.Job) ui.Link {
	var kind id.Kind
	var may bool
	var url string
	switch w.Kind {
	case models.JobPayoutRun:
		kind, may, url = id.Payout, k.Scope.All(), web.RunURL(w.ObjectID)
	case models.JobExport:
		kind, may = id.Export, w.StaffID != nil && *w.StaffID == k.Session.Staff.ID
		url = web.ExportURL(w.ObjectID)
	case models.JobReplay:
		kind, may, url = id.RateCard, k.May(web.ReadPricing), web.DraftURL(w.ObjectID)+"?tab=replay"
	case models.JobRetentionRun:
		kind, may, url = id.RetentionRun, k.May(web.ReadRetention), "/privacy/retention"
	case models.JobReconciliation:
		kind, may = id.Reconciliation, k.May(web.ReadReconciliation)
		url = "/reconciliation/" + id.Format(kind, w.ObjectID)
	}
	l := ui.Link{Label: id.Format(kind, w.ObjectID)}
	if may {
		l.URL = url
	}
	return l
}

func (h *Handlers) cancel(k *web.Request) error {
	w, err := h.job(k)
	if err != nil {
		return err
	}
	if !k.MayStopJob(w) {
		k.Route.Needs = web.WritePayouts // the permission that the error page shows
		return web.ErrForbidden
	}
	err = h.Jobs.Cancel(k.R.Context(), k.Scope, k.By, w.ID)
	if f := apperr.As(err); f != nil && f.Code == apperr.Conflict {
		k.Notices = append(k.Notices, web.Notice{Kind: "warn", Text: "The job had already ended. Its result is shown below."})
		return h.show(k, http.StatusConflict)
	}
	if err != nil {
		return web.OrNotFound(err)
	}
	if back := web.Local(k.R.PostForm.Get("return")); back != "/" {
		return k.Redirect(back)
	}
	return k.Redirect("/jobs")
}
