package admin

import (
	"io"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// ledgerExport is how what the filter chooses is taken away.
func (k *call) ledgerExport(q url.Values, n int64, more bool) (e templates.LedgerExport) {
	if !k.may(exportPayouts) || n == 0 {
		return e
	}
	filter := url.Values{}
	for _, name := range ledgerFilters {
		if value := q.Get(name); value != "" {
			filter.Set(name, value)
			e.Prepare = append(e.Prepare, templates.Hidden{Name: name, Value: short(value)})
		}
	}
	e.CSV = templates.Download{URL: "/payouts/ledger.csv?" + filter.Encode(), Label: "Export CSV", Holds: "The current filter, " + countWords(n, more, "entry", "entries") + ", no personal data."}
	e.Large = more
	return e
}

// ledgerCSV streams what the filter of the address chooses.
func (k *call) ledgerCSV() error {
	q := k.r.URL.Query()
	f, err := k.ledgerFilter(q)
	if err != nil {
		return err
	}
	if len(f.mistakes) > 0 {
		return k.showLedger(http.StatusUnprocessableEntity, q, f)
	}
	return k.streamEntries(f.Filter, "ledger-"+k.now.UTC().Format("20060102-1504"), audit.Event{Action: "ledger.export", Kind: "ledger", Partner: f.partner.ID})
}

// streamEntries sends entries of the ledger, once it is written down that they were taken.
func (k *call) streamEntries(f payouts.Filter, name string, e audit.Event) error {
	e.After = f.Words()
	if e.Partner == uuid.Max {
		e.Partner = uuid.Nil
	}
	return k.sendCSV(name, func(to io.Writer) error {
		_, err := k.Payouts.CSV(k.r.Context(), k.scope, f, to, func() error { return k.Audit.Done(k.r.Context(), k.by, e) })
		return err
	})
}

// takenCSV sends a file, once it is written down that it was taken.
func (k *call) takenCSV(name string, e audit.Event, write func(to io.Writer) error) error {
	if err := k.Audit.Done(k.r.Context(), k.by, e); err != nil {
		return err
	}
	return k.sendCSV(name, write)
}

// prepareExport asks for the file of what would take too long to wait for.
func (k *call) prepareExport() error {
	if err := k.form(); err != nil {
		return err
	}
	f, err := k.ledgerFilter(k.r.PostForm)
	if err != nil {
		return err
	}
	if len(f.mistakes) > 0 {
		return k.showLedger(http.StatusUnprocessableEntity, k.r.PostForm, f)
	}
	if f.Partner == uuid.Max {
		return errNoPage
	}
	e, err := k.payouts().RequestExport(k.r.Context(), k.scope, f.Filter)
	if err != nil {
		return err
	}
	return k.to(exportURL(e.ID))
}

// ownExport is the one that the address names, for whoever asked for it.
func (k *call) ownExport() (e models.Export, err error) {
	export, err := k.objectOf(id.Export, "id")
	if err != nil {
		return e, err
	}
	e, err = k.payouts().Export(k.r.Context(), export)
	return e, orNoPage(err)
}

func (k *call) exportPage() error {
	live, err := k.exportPart()
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.ExportPage(templates.ExportView{Shell: k.shell("Export of the ledger", allEntries), Live: live}))
}

// exportLive is the part of the page that comes anew by itself.
func (k *call) exportLive() error {
	live, err := k.exportPart()
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.ExportPart(live, k.now))
}

func (k *call) exportPart() (v templates.ExportLive, err error) {
	e, err := k.ownExport()
	if err != nil {
		return v, err
	}
	work, found, err := k.Jobs.Of(k.r.Context(), e.ID)
	if err != nil {
		return v, err
	}
	v = templates.ExportLive{URL: exportURL(e.ID), LiveURL: exportURL(e.ID) + "/live", ID: id.Format(id.Export, e.ID), Asked: e.MadeAt, Until: e.MadeAt.Add(payouts.ExportsKept)}
	if found {
		v.Work = k.workStatus(work)
	}
	if k.Payouts.Kept(e) {
		v.File = templates.Download{URL: v.URL + "/file", Label: "Fetch the file", Holds: "CSV, " + countWords(e.Rows, false, "entry", "entries") + ", no personal data."}
	}
	return v, nil
}

// exportFile sends the file that was prepared; that it was asked for is written down already.
func (k *call) exportFile() error {
	e, err := k.ownExport()
	if err != nil {
		return err
	}
	file, err := k.payouts().Fetch(k.r.Context(), k.scope, e)
	if err != nil {
		return orNoPage(err)
	}
	defer file.Close()
	object := id.Format(id.Export, e.ID)
	return k.takenCSV("ledger-"+object, audit.Event{Action: "ledger.fetch", Kind: "export", Object: object}, func(to io.Writer) error {
		_, err := io.Copy(to, file)
		return err
	})
}
