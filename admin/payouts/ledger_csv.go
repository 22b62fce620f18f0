package payouts

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// ledgerExport returns the export that the page offers for the filter q. The filter matches n entries,
// or more than n if the parameter more is true.
func (h *Handlers) ledgerExport(k *web.Request, q url.Values, n int64, more bool) (e view.LedgerExport) {
	if !k.May(web.ExportPayouts) || n == 0 {
		return e
	}
	filter := web.SetFilters(q, LedgerFilters)
	for _, name := range LedgerFilters {
		if value := filter.Get(name); value != "" {
			e.Prepare = append(e.Prepare, ui.Hidden{Name: name, Value: web.Short(value)})
		}
	}
	e.CSV = ui.Download{
		URL:   "/payouts/ledger.csv?" + filter.Encode(),
		Label: "Export CSV",
		Holds: "The file contains " + web.CountText(n, more, "entry", "entries") + ". " + usersNamed,
	}
	e.Large, e.KeptFor = more, ui.Plural(h.ExportDays, "day", "days")
	return e
}

// These texts describe the personal data in the CSV file of a statement and in exports of the ledger.
const (
	notesCanName = "It contains no contact data, but the notes can contain personal data."
	usersNamed   = "It contains no contact data of consumers, but the notes can contain personal data. " +
		"The column created_by contains the email addresses of users."
)

func (h *Handlers) ledgerCSV(k *web.Request) error {
	q := k.R.URL.Query()
	f, err := h.ledgerFilter(k, q)
	if err != nil {
		return err
	}
	if f.invalid() {
		return h.showLedger(k, http.StatusUnprocessableEntity, q, f)
	}
	return h.streamEntries(k, h.Payouts.CSV, f.Filter, "ledger-"+k.Now.UTC().Format("20060102-1504"), audit.Event{
		Action:  "ledger.export",
		Kind:    "ledger",
		Partner: f.partner.ID,
	})
}

// entriesWriter is the type of [payouts.Service.CSV] and of [payouts.Service.StatementCSV].
type entriesWriter func(
	ctx context.Context, sc scope.Scope, f payouts.Filter, to io.Writer, begin func() error,
) (rows int64, err error)

// streamEntries writes the audit event e and then streams the entries.
func (h *Handlers) streamEntries(
	k *web.Request, write entriesWriter, f payouts.Filter, name string, e audit.Event,
) error {
	e.After = f.Describe()
	if e.Partner == uuid.Max {
		e.Partner = uuid.Nil
	}
	return k.SendCSV(name, func(to io.Writer) error {
		_, err := write(k.R.Context(), k.Scope, f, to, func() error { return h.Audit.LogDone(k.R.Context(), k.By, e) })
		return err
	})
}

// sendAuditedCSV writes the audit event e and then sends the file.
func (h *Handlers) sendAuditedCSV(k *web.Request, name string, e audit.Event, write func(to io.Writer) error) error {
	if err := h.Audit.LogDone(k.R.Context(), k.By, e); err != nil {
		return err
	}
	return k.SendCSV(name, write)
}
