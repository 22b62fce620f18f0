package reconcile

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/csvcell"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Columns are those of an exported result. row is as a spreadsheet numbers the list;
// amounts are in major units and difference is theirs less ours; of two currencies the
// list's is first and there is no difference. partner_id is what the partner sends as
// partnerId; times are UTC.
var Columns = []string{
	"row", "finding", "problem", "lead_id", "partner_id", "theirs", "ours", "difference", "currency", "received_at", "settled_by", "settled_at", "note",
}

// exportBatchSize is how many lines are in memory while they are written.
const exportBatchSize = 2000

// CSV writes the lines, with a head, in bounded memory; finding "" is all of them.
func (s *Service) CSV(
	ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, finding models.Finding, to io.Writer,
) (rows int64, err error) {
	r, err := s.Get(ctx, sc, reconciliation)
	if err != nil {
		return 0, err
	}
	end, err := s.db.AcquireDownload() // it holds a connection for as long as somebody reads
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
	w := csv.NewWriter(bufio.NewWriterSize(to, 64<<10)) // whose buffer it takes for its own
	if err := w.Write(Columns); err != nil {
		return 0, err
	}
	record := make([]string, len(Columns))
	err = s.each(ctx, sc, LineQuery{Reconciliation: reconciliation, Finding: finding}, func(l *Line) error {
		rows++
		return w.Write(l.record(record))
	})
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return rows, err
}

// each calls do for every line that is asked for, in order, as they were when it began.
func (s *Service) each(ctx context.Context, sc scope.Scope, q LineQuery, do func(*Line) error) error {
	tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	for q.Size = exportBatchSize; ; {
		some, err := page(ctx, tx, sc, q)
		if err != nil {
			return err
		}
		for i := range some[:min(len(some), q.Size)] {
			if err := do(&some[i]); err != nil {
				return err
			}
		}
		if len(some) <= q.Size {
			return nil
		}
		q.After = some[q.Size-1].Line
	}
}

// record is the line's row.
func (l *Line) record(into []string) []string {
	row, problem, lead, received, settled := "", l.Problem, "", "", ""
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
	if !l.SettledAt.IsZero() {
		settled = l.SettledAt.Format(payouts.TimeLayout)
	}
	theirs, ours, difference, currency := l.amounts()
	return append(into[:0], row, string(l.Finding), problem, lead, csvcell.Escape(l.Account), theirs, ours, difference, currency,
		received, csvcell.Escape(l.Settler), settled, csvcell.Escape(l.Note))
}

// amounts are the line's as they are written: "" for what there is none of.
func (l *Line) amounts() (theirs, ours, difference, currency string) {
	decimal := func(minor int64) string { return money.Amount{Minor: minor}.Decimal() }
	if l.TheirsMinor != nil {
		theirs, currency = decimal(*l.TheirsMinor), *l.Currency
	}
	if l.OursMinor != nil {
		ours = decimal(*l.OursMinor)
		switch {
		case currency == "":
			currency = *l.OurCurrency
		case currency == *l.OurCurrency:
			difference = decimal(*l.TheirsMinor - *l.OursMinor)
		default:
			currency += "/" + *l.OurCurrency
		}
	}
	return theirs, ours, difference, currency
}
