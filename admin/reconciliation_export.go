package admin

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// linesCSV sends the lines, or those of one finding, while they are read.
func (k *call) linesCSV() error {
	r, err := k.reconciliation()
	if err != nil {
		return err
	}
	if r.State != models.ReconciliationCompared && r.State != models.ReconciliationKept {
		return errNoPage
	}
	name, f := "reconciliation-"+reconcile.ID(r.ID), models.Finding(k.r.URL.Query().Get("finding"))
	if f != "" {
		if _, known := findingOf(f); !known {
			return fault.New(fault.Invalid, "finding", "There is no such finding.")
		}
		name += "-" + strings.ReplaceAll(string(f), "_", "-")
	}
	out := &fileAnswer{k: k, name: name + ".csv"}
	_, err = k.reconciliations().CSV(k.r.Context(), k.scope, r.ID, f, out)
	if err == nil || !out.begun {
		return err
	}
	// What is cut off must not look whole.
	k.Log.Error("an export broke off", "request_id", k.by.RequestID, "route", k.route.path, "error", err.Error())
	panic(http.ErrAbortHandler)
}

// fileAnswer answers with a file from its first byte on: before it, what goes wrong can
// still be told on a page.
type fileAnswer struct {
	k     *call
	name  string
	begun bool
}

func (a *fileAnswer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.k.w.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	}
	return longAnswer{a.k}.Write(p)
}
