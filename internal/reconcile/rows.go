package reconcile

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/protocol/payload"
)

// entry is a parsed row. If problem is not "", the other fields may be zero.
type entry struct {
	row       int
	lead      uuid.UUID // uuid.Nil if it cannot be read
	reference string    // the lead's partner reference, if the row contains one instead of a leadId
	minor     int64
	currency  money.Currency
	problem   string
}

type reader struct {
	*table
	Mapping
	lead, amount, currency int // column indexes; currency is -1 if there is no currency column
	entry                  int // column with the ledger entry's number; -1 if the file is not an export of the ledger
}

// ledgerColumns are columns of the ledger's CSV export. In a file that has all of them, rows without a lead
// are payments or adjustments of a whole account.
var ledgerColumns = []string{"entry", "kind", "occurred_at"}

func newReader(list io.Reader, m Mapping) (*reader, error) {
	t, err := openTable(list)
	if err != nil {
		return nil, err
	}
	r := &reader{table: t, Mapping: m, lead: -1, amount: -1, currency: -1, entry: -1}
	for i, name := range t.names {
		switch name {
		case m.LeadID:
			r.lead = i
		case m.Amount:
			r.amount = i
		case m.Currency:
			r.currency = i
		}
	}
	if !slices.ContainsFunc(ledgerColumns, func(name string) bool { return !slices.Contains(t.names, name) }) {
		r.entry = slices.Index(t.names, ledgerColumns[0])
	}
	if r.lead < 0 || r.amount < 0 || m.Currency != "" && r.currency < 0 {
		return nil, errors.New("reading reconciliation file: a mapped column is missing")
	}
	return r, nil
}

func (r *reader) next() (e entry, err error) {
	row, err := r.table.next()
	if err != nil {
		return e, err
	}
	e = entry{row: row.number, problem: row.problem}
	if e.problem != "" {
		return e, nil
	}
	e.lead, e.problem = parseLead(row.cells[r.lead])
	text := csvcell.Unescape(strings.TrimSpace(row.cells[r.lead]))
	if e.problem == problemLeadPrefix && payload.IsTag(text, payload.MaxReference) {
		e.reference, e.problem = text, ""
	}
	leadless := e.problem == problemNoLead && r.entry >= 0 && isNumber(row.cells[r.entry])
	if e.problem != "" && !leadless {
		return e, nil
	}
	var a amount
	if a, e.problem = parseAmount(row.cells[r.amount], r.Numbers); e.problem != "" {
		return e, nil
	}
	e.minor, e.currency = a.minor, r.Fixed
	if r.currency >= 0 {
		e.currency, e.problem = readCode(row.cells[r.currency])
	}
	if e.problem == "" && !a.signed.allows(e.currency) {
		e.problem = problemSign
	}
	if leadless && e.problem == "" {
		e.problem = problemLeadless
	}
	return e, nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
	return err == nil
}

func readCode(text string) (money.Currency, string) {
	c, ok := parseCode(text)
	switch {
	case ok:
		return c, ""
	case blank([]string{text}):
		return 0, problemNoCurrency
	case formula(text):
		return 0, problemFormula
	}
	return 0, problemCurrency
}

// listSource passes the rows of a file to the Postgres command COPY. It calls the function report with the number of
// rows that it has read.
type listSource struct {
	from   *reader
	line   int
	row    entry
	refs   bool // a row has a partner reference
	report func(rows int64)
	err    error
}

// reportEvery is the number of rows after which the progress is reported.
const reportEvery = 1000

// Next implements pgx.CopyFromSource.
func (s *listSource) Next() bool {
	s.row, s.err = s.from.next()
	if s.err != nil || s.line%reportEvery == 0 {
		s.report(int64(s.line))
	}
	s.line++
	s.refs = s.refs || s.row.reference != ""
	return s.err == nil
}

var listColumns = []string{"line", "file_row", "lead_id", "minor", "currency", "problem", "reference"}

// Values implements pgx.CopyFromSource. The order is that of listColumns.
func (s *listSource) Values() ([]any, error) {
	e := s.row
	values := []any{s.line, e.row, nil, nil, nil, e.problem, e.reference}
	if e.lead != uuid.Nil {
		values[2] = e.lead
	}
	if e.problem == "" || e.problem == problemLeadless {
		values[3], values[4] = e.minor, e.currency.String()
	}
	return values, nil
}

// Err implements pgx.CopyFromSource.
func (s *listSource) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}
