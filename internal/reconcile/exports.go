package reconcile

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Columns lists the columns of an exported result. Amounts are in major units, and times are in UTC. If
// the file and the ledger have different currencies for a lead, the currency column contains both, as in
// GBP/EUR, and the difference column is empty.
var Columns = []string{
	"row", "finding", "problem", "lead_id", "partner_id", "file_amount", "ledger_amount", "difference", "currency", "received_at", "resolved_by", "resolved_at", "note", "partner_reference", "sub_id",
}

const exportBatchSize = 2000

// CSV writes a header row and the lines with the given finding. If the parameter finding is "", CSV
// writes all lines. It returns the number of lines. It does not hold all lines in memory at once.
func (s *Service) CSV(
	ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, finding models.Finding, to io.Writer,
) (rows int64, err error) {
	r, err := s.Get(ctx, sc, reconciliation)
	if err != nil {
		return 0, err
	}
	end, err := s.db.AcquireDownload() // a download occupies a database connection until the client has read it
	if err != nil {
		return 0, err
	}
	defer end()
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		return s.auditChange(tx, "reconciliation.export", r.Reconciliation, map[string]any{"finding": finding})
	})
	if err != nil {
		return 0, err
	}
	w, err := csvcell.NewWriter(to, Columns, "row", "file_amount", "ledger_amount", "difference")
	if err != nil {
		return 0, err
	}
	record := make([]string, len(Columns))
	err = s.eachLine(ctx, sc, LineQuery{Reconciliation: reconciliation, Finding: finding}, func(l *Line) error {
		rows++
		return w.Write(l.csvRecord(record))
	})
	if err == nil {
		err = w.Flush()
	}
	return rows, err
}

// eachLine calls do for every line that matches the query, in file order. It reads
// all lines as they are at the start, even if some of them change while it runs.
func (s *Service) eachLine(ctx context.Context, sc scope.Scope, q LineQuery, do func(*Line) error) error {
	tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	for q.Page.Size = exportBatchSize; ; {
		rows, err := readPage(ctx, tx, sc, q)
		if err != nil {
			return err
		}
		for i := range rows[:min(len(rows), q.Page.Size)] {
			if err := do(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) <= q.Page.Size {
			return nil
		}
		q.Page.After = rows[q.Page.Size-1].Line
	}
}

// csvRecord returns the cells of a line in the order of Columns. The result uses the memory of
// the slice into.
func (l *Line) csvRecord(into []string) []string {
	row, problem, lead, received, resolved := "", l.Problem, "", "", ""
	if l.FileRow != nil {
		row = strconv.Itoa(*l.FileRow)
	}
	switch {
	case l.FirstRow != nil:
		problem = fmt.Sprintf("first_row=%d", *l.FirstRow)
	case l.OtherPartner != "":
		problem = "other_partner=" + l.OtherPartner
	}
	if l.LeadID != nil {
		lead = id.Format(id.Lead, *l.LeadID)
	}
	if l.ReceivedAt != nil {
		received = l.ReceivedAt.Format(payouts.TimeLayout)
	}
	if !l.ResolvedAt.IsZero() {
		resolved = l.ResolvedAt.Format(payouts.TimeLayout)
	}
	fileAmount, ledgerAmount, difference, currency := l.amounts()
	return append(into[:0], row, string(l.Finding), problem, lead, l.Account, fileAmount, ledgerAmount, difference, currency,
		received, l.ResolvedBy, resolved, l.Note, l.Lead.PartnerReference, l.Lead.SubID)
}

func (l *Line) amounts() (fileAmount, ledgerAmount, difference, currency string) {
	decimal := func(minor int64) string { return money.Amount{Minor: minor}.Decimal() }
	if l.FileMinor != nil {
		fileAmount, currency = decimal(*l.FileMinor), *l.FileCurrency
	}
	if l.LedgerMinor != nil {
		ledgerAmount = decimal(*l.LedgerMinor)
		switch {
		case currency == "":
			currency = *l.LedgerCurrency
		case currency == *l.LedgerCurrency:
			difference = decimal(*l.FileMinor - *l.LedgerMinor)
		default:
			currency += "/" + *l.LedgerCurrency
		}
	}
	return fileAmount, ledgerAmount, difference, currency
}
