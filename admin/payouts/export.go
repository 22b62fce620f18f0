package payouts

import (
	"io"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) prepareExport(k *web.Request) error {
	f, err := h.ledgerFilter(k, k.R.PostForm)
	if err != nil {
		return err
	}
	if f.invalid() {
		return h.showLedger(k, http.StatusUnprocessableEntity, k.R.PostForm, f)
	}
	e, err := h.payouts(k).RequestExport(k.R.Context(), k.Scope, f.Filter)
	if err != nil {
		return err
	}
	return k.Redirect(web.ExportURL(e.ID))
}

// requestedExport returns the export with the id in the URL, if the user requested it.
func (h *Handlers) requestedExport(k *web.Request) (e models.Export, err error) {
	export, err := k.PathID("id", id.Export)
	if err != nil {
		return e, err
	}
	e, err = h.payouts(k).Export(k.R.Context(), export)
	return e, web.OrNotFound(err)
}

func (h *Handlers) exportPage(k *web.Request) error {
	live, err := h.exportPart(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.ExportPage(view.ExportView{
		Shell: k.Shell("Ledger export", allEntries),
		Live:  live,
	}))
}

// exportLive renders the part of the page that reloads automatically.
func (h *Handlers) exportLive(k *web.Request) error {
	live, err := h.exportPart(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.ExportPart(live, k.Now))
}

func (h *Handlers) exportPart(k *web.Request) (v view.ExportLive, err error) {
	e, err := h.requestedExport(k)
	if err != nil {
		return v, err
	}
	work, found, err := h.Jobs.Latest(k.R.Context(), e.ID)
	if err != nil {
		return v, err
	}
	v = view.ExportLive{
		URL:     web.ExportURL(e.ID),
		LiveURL: web.ExportURL(e.ID) + "/live",
		ID:      id.Format(id.Export, e.ID),
		Asked:   e.CreatedAt,
		Until:   e.CreatedAt.Add(h.Payouts.Policy().ExportRetention),
	}
	if found {
		v.Work = k.JobStatus(work)
	}
	if h.Payouts.ExportAvailable(e) {
		v.File = ui.Download{
			URL:   v.URL + "/file",
			Label: "Download CSV",
			Holds: "The file contains " + ui.Plural(e.Rows, "entry", "entries") + ". " + usersNamed,
		}
	}
	return v, nil
}

func (h *Handlers) exportFile(k *web.Request) error {
	e, err := h.requestedExport(k)
	if err != nil {
		return err
	}
	file, err := h.payouts(k).OpenExport(k.R.Context(), k.Scope, e)
	if err != nil {
		return web.OrNotFound(err)
	}
	defer file.Close()
	object := id.Format(id.Export, e.ID)
	return h.sendAuditedCSV(k, "ledger-"+object, audit.Event{
		Action: "ledger.download",
		Kind:   "export",
		Object: object,
	}, func(to io.Writer) error {
		_, err := io.Copy(to, file)
		return err
	})
}
