package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) reconciliationPage() error {
	r, err := k.reconciliation()
	if err != nil {
		return err
	}
	return k.showReconciliation(http.StatusOK, r, shownReconciliation{})
}

// shownReconciliation is what a page shows besides the reconciliation as it is.
type shownReconciliation struct {
	typed    *mapping // what was sent, and refused
	conflict *templates.Conflict
	errors   templates.Errors
}

func (k *call) showReconciliation(status int, r reconcile.Reconciliation, s shownReconciliation) error {
	canWrite := k.mayAt(writeReconciliation, r.PartnerID)
	v := templates.ReconciliationView{
		Shell: k.shell(r.FileName, allReconciliations), URL: reconciliationURL(r.ID), ID: reconcile.ID(r.ID), Partner: templates.Link{Label: r.PartnerName},
		FileName: r.FileName, FileSize: sizeWords(r.FileSize), Rows: r.Profile.Rows, State: string(r.State), Maker: r.Maker, Made: r.MadeAt,
		From: dayWords(r.PeriodFrom), To: dayWords(r.PeriodTo), AsOf: timeOf(r.AsOf), Keeper: r.Keeper, Kept: timeOf(r.KeptAt),
		CanWrite: canWrite, Version: int64(r.RowVersion), Conflict: s.conflict, Errors: s.errors,
	}
	if k.mayAt(readPartners, r.PartnerID) {
		v.Partner.URL = partnerURL(r.PartnerID)
	}
	if canWrite {
		v.NewURL = "/reconciliation/new?partner=" + escape(r.Partner)
	}
	if err := k.fillReconciliation(&v, r, s); err != nil {
		return err
	}
	return k.show(status, templates.Reconciliation(v))
}

// fillReconciliation adds what the state asks for.
func (k *call) fillReconciliation(v *templates.ReconciliationView, r reconcile.Reconciliation, s shownReconciliation) (err error) {
	if err = k.fillSame(v, r); err != nil {
		return err
	}
	switch r.State {
	case models.ReconciliationComparing:
		part, err := k.comparisonPart(r)
		v.Live = &part
		return err
	case models.ReconciliationUploaded:
		if v.Failure, err = k.lastFailure(r); err != nil {
			return err
		}
	case models.ReconciliationCompared, models.ReconciliationKept:
		if v.Result, err = k.reconciliationResult(r); err != nil {
			return err
		}
	}
	if r.State != models.ReconciliationUploaded && r.State != models.ReconciliationCompared {
		return nil
	}
	if v.CanWrite {
		discard := k.discardResultView(r, nil)
		v.Discard = &discard
	}
	if v.FileGone = r.FileID == nil; v.FileGone {
		return nil
	}
	typed := s.typed
	if typed == nil {
		if typed, err = k.mappingOf(r); err != nil {
			return err
		}
	}
	v.Mapping = mappingForm(r.Profile, *typed)
	return nil
}

func (k *call) fillSame(v *templates.ReconciliationView, r reconcile.Reconciliation) error {
	same, err := k.Reconcile.SameFile(k.r.Context(), k.scope, r)
	for _, other := range same {
		v.Same = append(v.Same, templates.SameFile{URL: reconciliationURL(other.ID), State: string(other.State), Made: other.MadeAt})
	}
	return err
}

// lastFailure is why the last comparison came to nothing, "" where there was none.
func (k *call) lastFailure(r reconcile.Reconciliation) (string, error) {
	w, found, err := k.Jobs.Of(k.r.Context(), r.ID)
	if err != nil || !found || w.State != models.WorkFailed && w.State != models.WorkCancelled {
		return "", err
	}
	return w.Failure, nil
}

// comparisonLive is the part of the page that comes anew by itself. Once the comparison
// is over, the whole page is another.
func (k *call) comparisonLive() error {
	r, err := k.reconciliation()
	if err != nil {
		return err
	}
	part, err := k.comparisonPart(r)
	if err != nil {
		return err
	}
	if part.Ended {
		k.w.Header().Set("HX-Refresh", "true")
	}
	return k.show(http.StatusOK, templates.ComparisonPart(part))
}

func (k *call) comparisonPart(r reconcile.Reconciliation) (v templates.ComparisonLive, err error) {
	v = templates.ComparisonLive{URL: reconciliationURL(r.ID), CanStop: k.mayAt(writeReconciliation, r.PartnerID), Ended: r.State != models.ReconciliationComparing}
	w, found, err := k.Jobs.Of(k.r.Context(), r.ID)
	if err != nil || !found || v.Ended {
		return v, err
	}
	v.Waiting, v.Phase, v.Done, v.Total = w.State == models.WorkWaiting, w.Phase, w.Done, w.Total
	return v, nil
}

// refusedReconciliation shows why nothing was done, on the reconciliation as it is now.
func (k *call) refusedReconciliation(r reconcile.Reconciliation, typed *mapping, refused error) error {
	status, mistakes, err := k.mistakes(refused)
	if err != nil {
		return err
	}
	s := shownReconciliation{typed: typed, errors: mistakes}
	if status == http.StatusConflict { // it is no more what the page was
		if r, err = k.reconciliation(); err != nil {
			return err
		}
	}
	if isStale(refused) {
		s.errors = nil
		if s.conflict, err = k.conflictOf(audit.Filter{Kind: "reconciliation", Object: reconcile.ID(r.ID)}, k.now); err != nil {
			return err
		}
	}
	return k.showReconciliation(status, r, s)
}

func dayWords(day *time.Time) string {
	if day == nil {
		return ""
	}
	return day.Format(time.DateOnly)
}

// sizeWords is a file's size as a person says it.
func sizeWords(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return countWords(bytes, false, "byte", "bytes")
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}
