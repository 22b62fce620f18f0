package payouts

import (
	"io"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// paymentColumns are the columns of the payments file. Amounts are in major units.
var paymentColumns = []string{"partner", "partner_id", "legal_name", "amount", "currency", "reference"}

// paymentBatchSize is the number of payments that are read and written at a time.
const paymentBatchSize = 500

func (h *Handlers) paymentsCSV(k *web.Request) error {
	r, err := h.run(k)
	if err != nil {
		return err
	}
	if err := payouts.CheckPayments(r); err != nil {
		return err
	}
	name := payouts.RunID(r.ID)
	// The kind is not payout_run, so that the download does not count as a change to the run.
	e := audit.Event{
		Action: "payout_run.payments",
		Kind:   "ledger",
		Object: name,
		After:  map[string]any{"payments": r.Payouts},
	}
	return h.sendAuditedCSV(k, "payments-"+name, e, func(to io.Writer) error {
		w, err := csvcell.NewWriter(to, paymentColumns, "amount")
		if err != nil {
			return err
		}
		err = h.eachPayment(k, r, func(s payouts.AccountStatement) error {
			return w.Write([]string{
				s.Partner, s.Identifier, s.LegalName,
				money.AmountOf(s.NetMinor, r.Currency).Decimal(), r.Currency, paymentReference(r),
			})
		})
		if err == nil { // no flush after an error, so that an error page can still be sent
			err = w.Flush()
		}
		return err
	})
}

// eachPayment calls the function each with the statement of every account that the run pays. It reads
// the statements in batches.
func (h *Handlers) eachPayment(k *web.Request, r models.PayoutRun, each func(payouts.AccountStatement) error) error {
	q := payouts.StatementQuery{
		Run: r.ID, Outcome: models.StatementPays, Page: postgres.Page[string]{Size: paymentBatchSize},
	}
	for {
		all, _, more, err := h.Payouts.Statements(k.R.Context(), k.Scope, q)
		if err != nil {
			return err
		}
		for _, s := range all {
			if err := each(s); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		q.Page.After = all[len(all)-1].Identifier
	}
}
