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

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// comparisonView is a comparison as the command line shows it; its lines come after.
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

// resultView is what it came to. Amounts are in major units, exact: 12.50.
type resultView struct {
	Rows     int          `json:"rows"`
	Tallies  []tallyView  `json:"tallies"`
	Compared comparedView `json:"compared"`
	LeftOut  leftOutView  `json:"left_out"`
	Took     string       `json:"took"`
}

// comparedView says which leads of the period were compared.
type comparedView struct {
	Leads      int64    `json:"leads"`
	Currencies []string `json:"currencies,omitempty"` // none for all
}

// leftOutView says how many leads of the period were not; tallies have them by currency.
type leftOutView struct {
	Leads        int64    `json:"leads"`
	Accounts     int      `json:"accounts,omitempty"`      // left out in a compared currency
	AccountNames []string `json:"account_names,omitempty"` // the first of them
}

type tallyView struct {
	Finding  models.Finding `json:"finding"`
	Currency string         `json:"currency,omitempty"`
	Lines    int64          `json:"lines"`
	Theirs   json.Number    `json:"theirs"`
	Ours     json.Number    `json:"ours"`
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
			Theirs: json.Number(decimal(t.Theirs)), Ours: json.Number(decimal(t.Ours)),
		})
	}
	return v
}

// lineView is a line other than matched and left-out ones. Amounts are as resultView's.
type lineView struct {
	Row          int            `json:"row,omitempty"` // as a spreadsheet numbers it; none of what the list lacks
	Finding      models.Finding `json:"finding"`
	Problem      string         `json:"problem,omitempty"`
	LeadID       string         `json:"lead_id,omitempty"`
	PartnerID    string         `json:"partner_id,omitempty"`
	OtherPartner string         `json:"other_partner,omitempty"`
	FirstRow     int            `json:"first_row,omitempty"`
	Theirs       json.Number    `json:"theirs,omitempty"`
	Currency     string         `json:"currency,omitempty"`
	Ours         json.Number    `json:"ours,omitempty"`
	OurCurrency  string         `json:"our_currency,omitempty"`
	ReceivedAt   *time.Time     `json:"received_at,omitempty"`
}

func viewLine(l reconcile.Line) lineView {
	v := lineView{
		Row: value(l.FileRow), Finding: l.Finding, Problem: l.Problem,
		PartnerID: l.Account, OtherPartner: l.OtherPartner, FirstRow: value(l.FirstRow),
		Theirs: exact(l.TheirsMinor), Currency: value(l.Currency),
		Ours: exact(l.OursMinor), OurCurrency: value(l.OurCurrency), ReceivedAt: l.ReceivedAt,
	}
	if l.LeadID != nil {
		v.LeadID = id.Format(id.Lead, *l.LeadID)
	}
	return v
}

// exact is an amount that a line may lack.
func exact(minor *int64) json.Number {
	if minor == nil {
		return ""
	}
	return json.Number(decimal(*minor))
}

// value is what a pointer points to, or nothing.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// linesRead is how many lines are in memory while they are printed.
const linesRead = 1000

// eachFinding calls do for the settleable lines, finding by finding.
func eachFinding(ctx context.Context, s *reconcile.Service, r reconcile.Reconciliation, do func(lineView) error) error {
	for _, finding := range reconcile.Findings {
		q := reconcile.LineQuery{Reconciliation: r.ID, Finding: finding, Size: linesRead}
		for more := reconcile.Settleable(finding); more; {
			lines, _, older, err := s.Lines(ctx, scope.System, q)
			if err != nil {
				return err
			}
			for _, l := range lines {
				if err := do(viewLine(l)); err != nil {
					return err
				}
				q.After = l.Line
			}
			more = older
		}
	}
	return nil
}

// printComparisonJSON prints one object, its lines as they are read.
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

// mappingText says how the list is read.
func mappingText(m reconcile.Suggestion) string {
	var says []string
	say := func(known bool, form string, values ...any) {
		if known {
			says = append(says, fmt.Sprintf(form, values...))
		}
	}
	say(true, "leadIds in %q, amounts in %q, written as %s", m.LeadID, m.Amount, m.Numbers)
	say(m.Currency != "", "currencies in %q", m.Currency)
	say(m.Fixed.Valid(), "all in %s", m.Fixed)
	say(m.Date != "", "dates in %q, written as %s", m.Date, m.Dates)
	say(m.Coverage == reconcile.FullCoverage, "all leads of the period")
	say(true, "%s to %s", m.From.Format(time.DateOnly), m.To.Format(time.DateOnly))
	how := "The list is read with "
	if m.Remembered {
		how = "The list is read as this partner's last one with the same columns, and with what was given: "
	}
	return how + strings.Join(says, ", ") + ".\n"
}

func printComparison(ctx context.Context, w io.Writer, s *reconcile.Service, r reconcile.Reconciliation) error {
	var rows [][]any
	for _, t := range r.Result.Tallies {
		rows = append(rows, []any{t.Finding, t.Lines, t.Currency, decimal(t.Theirs), decimal(t.Ours), decimal(t.Theirs - t.Ours)})
	}
	if err := printTable(w, "FINDING\tLINES\tCURRENCY\tTHEIRS\tOURS\tDIFFERENCE", rows); err != nil {
		return err
	}
	compared, leftOut := r.Result.Summary(func(n int64) string { return strconv.FormatInt(n, 10) })
	if leftOut == "" {
		leftOut = "none"
	} else {
		leftOut += " (--coverage all compares them)"
	}
	fmt.Fprintf(w, "Compared: %s. Left out: %s.\n", compared, leftOut)
	if err := eachFinding(ctx, s, r, func(l lineView) error { return l.print(w) }); err != nil {
		return err
	}
	became := "This was a dry run, and its result is gone: --keep makes it stay."
	if r.State == models.ReconciliationKept {
		became = "Kept as " + reconcile.ID(r.ID) + "."
	}
	_, err := fmt.Fprintf(w, "%s of %s, %s to %s, compared in %s. %s\n", rowsText(int64(r.Result.Rows)), r.Partner,
		r.PeriodFrom.Format(time.DateOnly), r.PeriodTo.Format(time.DateOnly), r.Result.Took, became)
	return err
}

func rowsText(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

func decimal(minor int64) string { return money.Amount{Minor: minor}.Decimal() }

// print is a line in words.
func (l lineView) print(w io.Writer) error {
	var says []string
	if l.Row > 0 {
		says = append(says, fmt.Sprintf("row %d", l.Row))
	}
	if l.LeadID != "" {
		says = append(says, l.LeadID)
	}
	if l.Theirs != "" {
		says = append(says, "theirs "+l.Theirs.String()+" "+l.Currency)
	}
	if l.Ours != "" {
		says = append(says, "ours "+l.Ours.String()+" "+l.OurCurrency)
	}
	switch {
	case l.OtherPartner != "":
		says = append(says, "a lead of "+l.OtherPartner)
	case l.FirstRow > 0:
		says = append(says, fmt.Sprintf("row %d has this lead already", l.FirstRow))
	case l.Problem != "":
		says = append(says, reconcile.ProblemText(l.Problem))
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", l.Finding, strings.Join(says, ", "))
	return err
}
