package payouts

import (
	"io"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/payouts"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// ledgerExport returns the export that the page offers for the filter q. The filter matches n entries,
// or more than n if the parameter more is true.
func (h *Handlers) ledgerExport(k *web.Request, q url.Values, n int64, more bool) (e view.LedgerExport) {
	if !k.May(web.ExportPayouts) || n == 0 {
		return e
	}
	filter := url.Values{}
	for _, name := range LedgerFilters {
		if value := q.Get(name); value != "" {
			filter.Set(name, value)
			e.Prepare = append(e.Prepare, ui.Hidden{Name: name, Value: web.Short(value)})
		}
	}
	e.CSV = ui.Download{
		URL:   "/payouts/ledger.csv?" + filter.Encode(),
		Label: "Export CSV",
		Holds: "The file contains " + web.CountText(n, more, "entry", "entries") + ". " + notesCanName,
	}
	e.Large = more
	return e
}

// notesCanName describes the personal data in exports of the ledger.
const notesCanName = "It contains no contact data, but the notes can contain personal data."

func (h *Handlers) ledgerCSV(k *web.Request) error {
	q := k.R.URL.Query()
	f, err := h.ledgerFilter(k, q)
	if err != nil {
		return err
	}
	if len(f.mistakes) > 0 {
		return h.showLedger(k, http.StatusUnprocessableEntity, q, f)
	}
	return h.streamEntries(k, f.Filter, "ledger-"+k.Now.UTC().Format("20060102-1504"), audit.Event{
		Action:  "ledger.export",
		Kind:    "ledger",
		Partner: f.partner.ID,
	})
}

// streamEntries writes the audit event e and then streams the entries.
func (h *Handlers) streamEntries(k *web.Request, f payouts.Filter, name string, e audit.Event) error {
	e.After = f.Describe()
	if e.Partner == uuid.Max {
		e.Partner = uuid.Nil
	}
	return web.SendCSV(k, name, func(to io.Writer) error {
		_, err := h.Payouts.CSV(k.R.Context(), k.Scope, f, to, func() error { return h.Audit.LogDone(k.R.Context(), k.By, e) })
		return err
	})
}

// sendAuditedCSV writes the audit event e and then sends the file.
func (h *Handlers) sendAuditedCSV(k *web.Request, name string, e audit.Event, write func(to io.Writer) error) error {
	if err := h.Audit.LogDone(k.R.Context(), k.By, e); err != nil {
		return err
	}
	return web.SendCSV(k, name, write)
}
