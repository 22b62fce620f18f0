package reconciliation

import (
	"fmt"
	"net/http"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) reconciliationPage(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	return h.showReconciliation(k, http.StatusOK, r, shownReconciliation{Rejected: web.Rejected{Version: r.RowVersion}})
}

// shownReconciliation contains the rejected form, if any, that a reconciliation's page shows.
type shownReconciliation struct {
	typed *mapping // submitted values of a rejected form
	web.Rejected
}

func (h *Handlers) showReconciliation(
	k *web.Request, status int, r reconcile.Reconciliation, s shownReconciliation,
) error {
	canWrite := k.MayAt(web.WriteReconciliation, r.PartnerID)
	v := view.DetailsView{
		Shell:     k.Shell(r.FileName, allReconciliations),
		URL:       reconciliationURL(r.ID),
		ID:        reconcile.ID(r.ID),
		Partner:   ui.Link{Label: r.PartnerName},
		FileName:  r.FileName,
		FileSize:  sizeText(r.FileSize),
		Rows:      r.Profile.Rows,
		State:     string(r.State),
		CreatedBy: r.CreatedBy,
		Made:      r.CreatedAt,
		From:      dayText(r.PeriodFrom),
		To:        dayText(r.PeriodTo),
		AsOf:      web.TimeOf(r.AsOf),
		SavedBy:   r.SavedBy,
		Saved:     web.TimeOf(r.SavedAt),
		CanWrite:  canWrite,
		Version:   s.Version,
		Conflict:  s.Conflict,
		Errors:    s.Errors,
	}
	if k.MayAt(web.ReadPartners, r.PartnerID) {
		v.Partner.URL = web.PartnerURL(r.PartnerID)
	}
	if canWrite {
		v.NewURL = "/reconciliation/new?partner=" + web.Escape(r.Partner)
	}
	if err := h.fillReconciliation(k, &v, r, s); err != nil {
		return err
	}
	return k.Show(status, view.Details(v))
}

// fillReconciliation adds the parts of the page that depend on the reconciliation's state.
func (h *Handlers) fillReconciliation(
	k *web.Request, v *view.DetailsView, r reconcile.Reconciliation, s shownReconciliation,
) (err error) {
	if err = h.fillSame(k, v, r); err != nil {
		return err
	}
	switch r.State {
	case models.ReconciliationComparing:
		part, err := h.comparisonPart(k, r)
		v.Live = &part
		return err
	case models.ReconciliationUploaded:
		if v.Failure, err = h.lastFailure(k, r); err != nil {
			return err
		}
	case models.ReconciliationCompared, models.ReconciliationSaved:
		if v.Result, err = h.reconciliationResult(k, r); err != nil {
			return err
		}
	case models.ReconciliationDiscarded:
	}
	if r.State != models.ReconciliationUploaded && r.State != models.ReconciliationCompared {
		return nil
	}
	if v.CanWrite {
		discard := h.discardResultView(k, r, nil)
		v.Discard = &discard
	}
	if v.FileGone = r.FileID == nil; v.FileGone {
		return nil
	}
	typed := s.typed
	if typed == nil {
		if typed, err = h.mappingOf(k, r); err != nil {
			return err
		}
	}
	v.Mapping = mappingForm(r.Profile, *typed)
	return nil
}

func (h *Handlers) fillSame(k *web.Request, v *view.DetailsView, r reconcile.Reconciliation) error {
	same, err := h.Reconcile.SameFile(k.R.Context(), k.Scope, r)
	for _, other := range same {
		v.Same = append(v.Same, view.SameFile{
			URL:   reconciliationURL(other.ID),
			State: string(other.State),
			Made:  other.CreatedAt,
		})
	}
	return err
}

// lastFailure returns the reason why the last comparison failed or was cancelled. It returns "" if the
// last comparison succeeded, or if there was none.
func (h *Handlers) lastFailure(k *web.Request, r reconcile.Reconciliation) (string, error) {
	w, found, err := h.Jobs.Latest(k.R.Context(), r.ID)
	if err != nil || !found || w.State != models.JobFailed && w.State != models.JobCancelled {
		return "", err
	}
	return w.Failure, nil
}

// comparisonLive renders the part of the page that reloads automatically. When the comparison has ended,
// it makes the browser reload the whole page.
func (h *Handlers) comparisonLive(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	part, err := h.comparisonPart(k, r)
	if err != nil {
		return err
	}
	if part.Ended {
		k.W.Header().Set("HX-Refresh", "true")
	}
	return k.Show(http.StatusOK, view.ComparisonPart(part))
}

func (h *Handlers) comparisonPart(k *web.Request, r reconcile.Reconciliation) (v view.ComparisonLive, err error) {
	v = view.ComparisonLive{
		URL:     reconciliationURL(r.ID),
		CanStop: k.MayAt(web.WriteReconciliation, r.PartnerID),
		Ended:   r.State != models.ReconciliationComparing,
	}
	w, found, err := h.Jobs.Latest(k.R.Context(), r.ID)
	if err != nil || !found || v.Ended {
		return v, err
	}
	v.Waiting, v.Phase, v.Done, v.Total = w.State == models.JobWaiting, w.Phase, w.Done, w.Total
	return v, nil
}

// submit handles a submitted form on a reconciliation's page. If the form is rejected, it is shown
// again with the current state of the reconciliation.
func (h *Handlers) submit(k *web.Request, r reconcile.Reconciliation, typed *mapping, do func() (string, error)) error {
	return k.Submit(web.Form{
		Do: do,
		Reload: func() (version int, conflict *ui.Conflict, err error) {
			if r, err = h.reconciliation(k); err != nil {
				return 0, nil, err
			}
			conflict, err = k.ConflictOf(audit.Filter{Kind: "reconciliation", Object: reconcile.ID(r.ID)}, k.Now)
			return r.RowVersion, conflict, err
		},
		Show: func(rejected web.Rejected) (err error) {
			if rejected.Status == http.StatusConflict && rejected.Conflict == nil { // the state has changed
				if r, err = h.reconciliation(k); err != nil {
					return err
				}
				rejected.Version = r.RowVersion
			}
			return h.showReconciliation(k, rejected.Status, r, shownReconciliation{typed, rejected})
		},
	})
}

func dayText(day *time.Time) string {
	if day == nil {
		return ""
	}
	return day.Format(time.DateOnly)
}

func sizeText(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return ui.Plural(bytes, "byte", "bytes")
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}
