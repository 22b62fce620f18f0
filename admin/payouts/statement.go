package payouts

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// statement returns the statement for the run and the partner in the URL, if the partner is in the
// user's scope.
func (h *Handlers) statement(k *web.Request) (s payouts.PartnerStatement, err error) {
	run, err := k.PathID("id", id.Payout)
	if err != nil {
		return s, err
	}
	partner, err := k.PathID("partner", id.Partner)
	if err != nil {
		return s, err
	}
	s, err = h.Payouts.PartnerStatement(k.R.Context(), k.Scope, run, partner)
	return s, web.OrNotFound(err)
}

func (h *Handlers) statementPage(k *web.Request) error {
	s, err := h.statement(k)
	if err != nil {
		return err
	}
	above := []ui.Link{allEntries}
	if k.Scope.All() {
		above = []ui.Link{allRuns, {Label: payouts.RunID(s.Run.ID), URL: web.RunURL(s.Run.ID)}}
	}
	v := view.StatementView{
		Shell:         k.Shell("Statement for "+s.Partner.Name, above...),
		LegalName:     s.Payee.LegalName,
		Slug:          s.Partner.Slug,
		Address:       s.Payee.Address,
		TaxID:         s.Payee.TaxID,
		RunID:         payouts.RunID(s.Run.ID),
		State:         string(s.Run.State),
		Cutoff:        s.Run.Cutoff,
		Prepared:      web.TimeOf(s.Run.PreparedAt),
		Paid:          web.TimeOf(s.Run.PaidAt),
		Reference:     paymentReference(s.Run),
		BankReference: s.Run.Reference,
		Currency:      s.Run.Currency,
		Total:         money.AmountOf(0, s.Run.Currency),
		Minimum:       money.AmountOf(s.Run.MinimumMinor, s.Run.Currency),
	}
	if s.Run.State != models.RunCancelled { // a cancelled run has no entries
		v.LedgerURL = ledgerURL(s.Partner.ID, id.Format(id.Partner, s.Partner.ID), s.Accounts[0].AccountID) + "&run=" +
			payouts.RunID(s.Run.ID)
	}
	var entries int64
	for _, a := range s.Accounts {
		in := func(minor int64) money.Amount { return money.AmountOf(minor, s.Run.Currency) }
		v.Accounts = append(v.Accounts, view.StatementAccount{
			Identifier: a.Identifier,
			Outcome:    string(a.Outcome),
			Entries:    a.Entries,
			Earned:     in(a.AccruedMinor),
			Returned:   in(a.ReturnedMinor),
			Adjusted:   in(a.AdjustedMinor),
			Net:        in(a.NetMinor),
		})
		if a.Outcome == models.StatementPays {
			v.Total.Minor += a.NetMinor
		}
		if a.Outcome == models.StatementPays || a.Outcome == models.StatementEven {
			entries += a.Entries
		}
	}
	if k.MayAt(web.ExportPayouts, s.Partner.ID) && s.Run.State != models.RunCancelled {
		v.CSV = ui.Download{
			URL:   web.StatementURL(s.Run.ID, s.Partner.ID) + "/entries.csv",
			Label: "Download CSV",
			Holds: "The file contains the entries that this statement pays (" +
				ui.Plural(entries, "entry", "entries") +
				") and, once the payout run is paid, the payment. " + notesCanName,
		}
	}
	if err := h.fillCorrections(k, &v, s); err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.Statement(v))
}

// correctionsShown is the maximum number of returns and adjustments that a statement lists. The CSV
// file contains all of them.
const correctionsShown = 200

func (h *Handlers) fillCorrections(k *web.Request, v *view.StatementView, s payouts.PartnerStatement) error {
	all, more, err := h.Payouts.Corrections(k.R.Context(), k.Scope, s.Run.ID, s.Partner.ID, correctionsShown)
	if err != nil {
		return err
	}
	for _, e := range all {
		row := view.StatementCorrection{
			At:      e.OccurredAt,
			Kind:    string(e.Kind),
			Account: e.Identifier,
			Amount:  e.Amount(),
			Note:    k.EntryNote(e),

			Reference: k.Erasable(e.PartnerReference),
			SubID:     k.Erasable(e.SubID),
		}
		if e.LeadID != nil {
			row.Lead = id.Format(id.Lead, *e.LeadID)
		}
		v.Corrections = append(v.Corrections, row)
	}
	v.MoreCorrections = more
	return nil
}

// paymentReference returns the reference for a bank transfer. Banks accept at most 35 characters.
func paymentReference(r models.PayoutRun) string { return payouts.RunID(r.ID) }

func (h *Handlers) statementCSV(k *web.Request) error {
	s, err := h.statement(k)
	if err != nil {
		return err
	}
	name := payouts.RunID(s.Run.ID)
	f := payouts.Filter{Run: s.Run.ID, Partner: s.Partner.ID}
	return h.streamEntries(k, h.Payouts.StatementCSV, f, "statement-"+name+"-"+web.FileNamePart(s.Partner.Slug),
		audit.Event{Action: "ledger.export", Kind: "ledger", Object: name, Partner: s.Partner.ID})
}
