package reconcile

import (
	"encoding/hex"
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
	entry                  int // of the number of the ledger entry; -1 if the file is not an export of the ledger
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

// copyReader converts the rows of a file to the text format of the Postgres command COPY. It calls the
// function report with the number of rows that it has read.
type copyReader struct {
	from   *reader
	line   int
	refs   bool // a row has a partner reference
	report func(rows int64)
	buf    []byte
	left   []byte
	err    error
}

// copyChunkSize is the approximate size of the chunks that are sent to Postgres, in bytes.
const copyChunkSize = 64 << 10

func (c *copyReader) Read(p []byte) (int, error) {
	if len(c.left) == 0 && c.err == nil {
		c.fill()
	}
	if len(c.left) == 0 {
		return 0, c.err
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *copyReader) fill() {
	c.buf = c.buf[:0]
	for len(c.buf) < copyChunkSize {
		e, err := c.from.next()
		if err != nil {
			c.err = err
			break
		}
		c.line++
		c.refs = c.refs || e.reference != ""
		c.buf = e.append(c.buf, c.line)
	}
	c.report(int64(c.line))
	c.left = c.buf
}

func (e *entry) append(b []byte, line int) []byte {
	b = strconv.AppendInt(b, int64(line), 10)
	b = append(b, '\t')
	b = strconv.AppendInt(b, int64(e.row), 10)
	b = append(b, '\t')
	if e.lead == uuid.Nil {
		b = append(b, `\N`...)
	} else {
		b = hex.AppendEncode(b, e.lead[:])
	}
	b = append(b, '\t')
	if e.problem != "" && e.problem != problemLeadless {
		b = append(b, "\\N\t\\N\t"...)
	} else {
		b = strconv.AppendInt(b, e.minor, 10)
		b = append(b, '\t')
		b = append(b, e.currency.String()...)
		b = append(b, '\t')
	}
	b = append(b, e.problem...)
	b = append(b, '\t')
	b = append(b, strings.ReplaceAll(e.reference, `\`, `\\`)...)
	return append(b, '\n')
}
