package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// comparisonView is the JSON output of `pingpost reconcile`, without the lines.
type comparisonView struct {
	ID      string                     `json:"id"`
	Partner string                     `json:"partner"`
	State   models.ReconciliationState `json:"state"`
	From    string                     `json:"from"`
	To      string                     `json:"to"`
	AsOf    time.Time                  `json:"as_of"`
	Mapping *reconcile.Mapping         `json:"mapping"`
	Result  resultView                 `json:"result"`
}

// resultView is the result of a reconciliation. Amounts are exact and in major units, such as
// 12.50.
type resultView struct {
	Rows     int          `json:"rows"`
	Tallies  []tallyView  `json:"tallies"`
	Compared comparedView `json:"compared"`
	LeftOut  leftOutView  `json:"left_out"`
	Took     string       `json:"took"`
}

// comparedView describes which of the period's leads were compared.
type comparedView struct {
	Leads      int64    `json:"leads"`
	Currencies []string `json:"currencies,omitempty"` // empty for all
}

// leftOutView counts the period's leads that were not compared. resultView.Tallies contains the counts
// for each currency.
type leftOutView struct {
	Leads        int64    `json:"leads"`
	Accounts     int      `json:"accounts,omitempty"`      // accounts left out in compared currencies
	AccountNames []string `json:"account_names,omitempty"` // the first few accounts
}

type tallyView struct {
	Finding      models.Finding `json:"finding"`
	Currency     string         `json:"currency,omitempty"`
	Lines        int64          `json:"lines"`
	FileAmount   json.Number    `json:"file_amount"`
	LedgerAmount json.Number    `json:"ledger_amount"`
}

func viewResult(r *reconcile.Result) resultView {
	v := resultView{
		Rows:     r.Rows,
		Took:     r.Took,
		Tallies:  []tallyView{},
		Compared: comparedView{Leads: r.Covered.Leads, Currencies: r.Covered.Currencies},
		LeftOut: leftOutView{
			Leads:        r.Counts()[models.LeftOut],
			Accounts:     r.Covered.Accounts,
			AccountNames: r.Covered.AccountNames,
		},
	}
	for _, t := range r.Tallies {
		v.Tallies = append(v.Tallies, tallyView{
			Finding: t.Finding, Currency: t.Currency, Lines: t.Lines,
			FileAmount: json.Number(decimal(t.FileAmount)), LedgerAmount: json.Number(decimal(t.LedgerAmount)),
		})
	}
	return v
}

// lineView is a line that can be resolved. Amounts have the same
// format as in resultView.
type lineView struct {
	Row            int            `json:"row,omitempty"` // the row number in a spreadsheet; 0 if the lead is not in the file
	Finding        models.Finding `json:"finding"`
	Problem        string         `json:"problem,omitempty"`
	LeadID         string         `json:"lead_id,omitempty"`
	PartnerID      string         `json:"partner_id,omitempty"`
	OtherPartner   string         `json:"other_partner,omitempty"`
	FirstRow       int            `json:"first_row,omitempty"`
	FileAmount     json.Number    `json:"file_amount,omitempty"`
	FileCurrency   string         `json:"file_currency,omitempty"`
	LedgerAmount   json.Number    `json:"ledger_amount,omitempty"`
	LedgerCurrency string         `json:"ledger_currency,omitempty"`
	ReceivedAt     *time.Time     `json:"received_at,omitempty"`
}

func viewLine(l reconcile.Line) lineView {
	v := lineView{
		Row: value(l.FileRow), Finding: l.Finding, Problem: l.Problem,
		PartnerID: l.Account, OtherPartner: l.OtherPartner, FirstRow: value(l.FirstRow),
		FileAmount: exact(l.FileMinor), FileCurrency: value(l.FileCurrency),
		LedgerAmount: exact(l.LedgerMinor), LedgerCurrency: value(l.LedgerCurrency), ReceivedAt: l.ReceivedAt,
	}
	if l.LeadID != nil {
		v.LeadID = id.Format(id.Lead, *l.LeadID)
	}
	return v
}

func exact(minor *int64) json.Number {
	if minor == nil {
		return ""
	}
	return json.Number(decimal(*minor))
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// linesRead is the number of lines that are read from the database at a time.
const linesRead = 1000

// eachFinding passes each line that is neither matched nor left out to the given function, in the order
// of reconcile.Findings.
func eachFinding(ctx context.Context, s *reconcile.Service, r reconcile.Reconciliation, do func(lineView) error) error {
	for _, finding := range reconcile.Findings {
		q := reconcile.LineQuery{Reconciliation: r.ID, Finding: finding, Page: postgres.Page[int]{Size: linesRead}}
		for more := reconcile.Resolvable(finding); more; {
			lines, _, older, err := s.Lines(ctx, scope.System, q)
			if err != nil {
				return err
			}
			for _, l := range lines {
				if err := do(viewLine(l)); err != nil {
					return err
				}
				q.Page.After = l.Line
			}
			more = older
		}
	}
	return nil
}

// printComparisonJSON prints the result as one JSON object. It does not keep all lines in memory.
func printComparisonJSON(ctx context.Context, w io.Writer, s *reconcile.Service, r reconcile.Reconciliation) error {
	head, err := json.MarshalIndent(comparisonView{
		ID:      reconcile.ID(r.ID),
		Partner: r.Partner,
		State:   r.State,
		From:    r.PeriodFrom.Format(time.DateOnly),
		To:      r.PeriodTo.Format(time.DateOnly),
		AsOf:    r.AsOf.UTC(),
		Mapping: r.Mapping,
		Result:  viewResult(r.Result),
	}, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s,\n  \"lines\": [", bytes.TrimSuffix(head, []byte("\n}")))
	between := "\n    "
	err = eachFinding(ctx, s, r, func(l lineView) error {
		line, err := json.Marshal(l)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s%s", between, line)
		}
		between = ",\n    "
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, "\n  ]\n}")
	return err
}

func mappingText(m reconcile.Suggestion) string {
	var parts []string
	add := func(known bool, format string, values ...any) {
		if known {
			parts = append(parts, fmt.Sprintf(format, values...))
		}
	}
	add(true, "lead IDs in %q, amounts in %q, written as %s", m.LeadID, m.Amount, m.Numbers)
	add(m.Currency != "", "currencies in %q", m.Currency)
	add(m.Fixed.Valid(), "all in %s", m.Fixed)
	add(m.Date != "", "dates in %q, written as %s", m.Date, m.Dates)
	add(m.Coverage == reconcile.FullCoverage, "compared with all leads in the period")
	add(true, "%s to %s", m.From.Format(time.DateOnly), m.To.Format(time.DateOnly))
	how := "Reading the file: "
	if m.Remembered {
		how = "Reading the file like this partner's last file with these columns, unless flags are set: "
	}
	return how + strings.Join(parts, ", ") + ".\n"
}

func printComparison(ctx context.Context, w io.Writer, s *reconcile.Service, r reconcile.Reconciliation) error {
	var rows [][]any
	for _, t := range r.Result.Tallies {
		difference := decimal(t.FileAmount - t.LedgerAmount)
		if t.Finding == models.LeftOut || t.Finding == models.NotCompared {
			difference = "not compared"
		}
		rows = append(rows, []any{
			t.Finding, t.Lines, t.Currency, decimal(t.FileAmount), decimal(t.LedgerAmount), difference,
		})
	}
	if err := printTable(w, "FINDING\tLINES\tCURRENCY\tFILE\tLEDGER\tDIFFERENCE", rows); err != nil {
		return err
	}
	compared, leftOut := r.Result.Summary(func(n int64) string { return strconv.FormatInt(n, 10) })
	if leftOut == "" {
		leftOut = "none"
	} else {
		leftOut += " (add --coverage all to compare them)"
	}
	fmt.Fprintf(w, "Compared with the file: %s. Left out, because the file does not cover them: %s.\n", compared, leftOut)
	if err := eachFinding(ctx, s, r, func(l lineView) error { return l.print(w) }); err != nil {
		return err
	}
	saved := "This was a dry run; add --save to save the result."
	if r.State == models.ReconciliationSaved {
		saved = "Saved as " + reconcile.ID(r.ID) + "."
	}
	_, err := fmt.Fprintf(w, "%s from %s, %s to %s, compared in %s. %s\n", counted(int64(r.Result.Rows), "row"), r.Partner,
		r.PeriodFrom.Format(time.DateOnly), r.PeriodTo.Format(time.DateOnly), r.Result.Took, saved)
	return err
}

func decimal(minor int64) string { return money.Amount{Minor: minor}.Decimal() }

func (l lineView) print(w io.Writer) error {
	var parts []string
	if l.Row > 0 {
		parts = append(parts, fmt.Sprintf("row %d", l.Row))
	}
	if l.LeadID != "" {
		parts = append(parts, l.LeadID)
	}
	if l.FileAmount != "" {
		parts = append(parts, "file "+l.FileAmount.String()+" "+l.FileCurrency)
	}
	if l.LedgerAmount != "" {
		parts = append(parts, "ledger "+l.LedgerAmount.String()+" "+l.LedgerCurrency)
	}
	switch {
	case l.OtherPartner != "":
		parts = append(parts, "a lead from "+l.OtherPartner)
	case l.FirstRow > 0:
		parts = append(parts, fmt.Sprintf("same lead as row %d", l.FirstRow))
	case l.Problem != "":
		parts = append(parts, reconcile.ProblemText(l.Problem))
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", l.Finding, strings.Join(parts, ", "))
	return err
}
