package reconcile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// UTF8 and Windows1252 are the encodings that a file can have.
const (
	UTF8        = "UTF-8"
	Windows1252 = "Windows-1252"
)

const (
	maxRow     = 1 << 20
	maxColumns = 500
	maxName    = 200
	sampleSize = 64 << 10
)

// invalidFile returns the error for a rejected file. The parameter message states the problem and how
// to fix it.
func invalidFile(reason, message string) *apperr.Error {
	return apperr.AtField(apperr.Invalid, reason, apperr.InvalidValue, "file", message)
}

// table reads a CSV file row by row, without holding the whole file in memory.
type table struct {
	names     []string
	delimiter rune
	rows      int // rows read, without the header

	bom     bool // the file has a UTF-8 byte-order mark
	utf8    bool // a cell contains non-ASCII characters in UTF-8
	western bool // a cell is not UTF-8 and was read as Windows-1252
	csv     *csv.Reader
	guard   *rowLimitReader
	row     int // number of the last row, as shown in a spreadsheet program
	line    int // line at which the last row ended
}

// row is a row of a file. The field cells is valid only until the next row is read. If the row has a
// problem, this field can be nil or have the wrong length.
type row struct {
	number  int
	cells   []string
	problem string
}

func openTable(list io.Reader) (*table, error) {
	in := bufio.NewReaderSize(list, sampleSize)
	sample, err := in.Peek(sampleSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := looksLikeText(sample); err != nil {
		return nil, err
	}
	t := &table{}
	if bom := []byte("\ufeff"); bytes.HasPrefix(sample, bom) {
		sample = sample[len(bom):]
		in.Discard(len(bom)) //nolint:errcheck // these bytes are in the buffer
		t.bom = true
	}
	if line, rest, _ := bytes.Cut(sample, []byte("\n")); len(line) > 4 && bytes.EqualFold(line[:4], []byte("sep=")) {
		if mark := bytes.TrimRight(line[4:], "\r"); len(mark) == 1 && strings.ContainsRune(delimiters, rune(mark[0])) {
			t.delimiter = rune(mark[0])
			// Skip this line, which a spreadsheet does not count as a row.
			in.Discard(len(sample) - len(rest)) //nolint:errcheck // these bytes are in the buffer
			sample = rest
		}
	}
	if t.delimiter == 0 {
		t.delimiter = findDelimiter(sample)
	}
	t.guard = &rowLimitReader{from: in}
	t.csv = csv.NewReader(t.guard)
	t.csv.Comma, t.csv.FieldsPerRecord, t.csv.ReuseRecord = t.delimiter, -1, true
	err = t.readNames()
	return t, err
}

func looksLikeText(sample []byte) error {
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(sample, []byte("\ufeff")))) == 0:
		return invalidFile("file_empty", "The file is empty. Export it again.")
	case bytes.HasPrefix(sample, []byte("PK\x03\x04")), bytes.HasPrefix(sample, []byte("\xd0\xcf\x11\xe0")):
		return invalidFile("file_workbook", "This is a spreadsheet file. Save it as CSV UTF-8 and upload that file.")
	case bytes.HasPrefix(sample, []byte("\xff\xfe")), bytes.HasPrefix(sample, []byte("\xfe\xff")), looksLikeUTF16(sample):
		return invalidFile("file_utf16", "The file is in UTF-16. Save it as CSV UTF-8 and upload it again.")
	case bytes.IndexByte(sample, 0) >= 0, otherFormat.Match(sample):
		return errBinary
	case len(sample) == sampleSize && bytes.IndexByte(sample, '\n') < 0:
		return invalidFile("file_lines",
			"The first 64 KiB of the file contain no line break. Save it as CSV UTF-8 and upload it again.")
	}
	return nil
}

// otherFormat matches the beginning of documents that are text, but not CSV: PDF, RTF, HTML and XML. Some
// programs write such a document to a file whose name ends with .csv or .xls.
var otherFormat = regexp.MustCompile(`(?i)^(\x{feff}|\s)*(%PDF-|\{\\rtf|<!doctype|<html|<table|<\?xml)`)

var errBinary = invalidFile("file_binary", "This is not a CSV file. Save it as CSV UTF-8 and upload that file.")

// looksLikeUTF16 reports whether every other byte at the beginning is 0, as in UTF-16 without a
// byte-order mark.
func looksLikeUTF16(sample []byte) bool {
	sample = sample[:min(len(sample), 64)]
	n := bytes.Count(sample, []byte{0})
	return len(sample) >= 4 && n >= len(sample)/2-1 && n <= len(sample)/2+1 && (sample[0] == 0) != (sample[1] == 0)
}

const delimiters = ",;\t"

// findDelimiter parses the first rows with each delimiter. It returns the delimiter that results in the
// most rows with a leadId. If there is a tie, it prefers the delimiter that results in the most rows
// with as many cells as the first row. If there is still a tie, it prefers the delimiter that results
// in the most cells in the first row.
func findDelimiter(sample []byte) rune {
	if end := bytes.LastIndexByte(sample, '\n'); end > 0 && len(sample) >= sampleSize-len("\ufeff") {
		sample = sample[:end]
	}
	best, most := ',', [3]int{}
	for _, mark := range delimiters {
		r := csv.NewReader(bytes.NewReader(sample))
		r.Comma, r.FieldsPerRecord, r.LazyQuotes = mark, -1, true
		var score [3]int // rows with a leadId, rows with as many cells as the first row, cells in the first row
		for n := range 50 {
			cells, err := r.Read()
			if err != nil {
				break
			}
			if n == 0 {
				score[2] = len(cells)
			} else if len(cells) == score[2] && len(cells) > 1 {
				score[1]++
			}
			if slices.ContainsFunc(cells, isLead) {
				score[0]++
			}
		}
		if slices.Compare(score[:], most[:]) > 0 {
			best, most = mark, score
		}
	}
	return best
}

func (t *table) readNames() error {
	head, err := t.next()
	switch {
	case errors.Is(err, io.EOF):
		return invalidFile("file_empty", "The file is empty. Export it again.")
	case err != nil:
		return err
	case head.problem != "":
		return invalidFile("file_head", "The row with the column names cannot be read. "+ProblemText(head.problem))
	case len(head.cells) > maxColumns:
		return invalidFile("file_columns",
			fmt.Sprintf("The file has %d columns, but at most %d are allowed. Remove columns that are not needed.",
				len(head.cells), maxColumns))
	}
	t.rows = 0
	for i, name := range head.cells {
		if name = strings.TrimSpace(name); name == "" {
			name = fmt.Sprintf("column %d", i+1)
		}
		if isLead(name) || isAmount(name) {
			return invalidFile("file_head",
				"The first row contains a leadId or an amount instead of column names. Insert a row with column names.")
		}
		if len(name) > maxName || strings.ContainsAny(name, "\r\n") {
			return invalidFile("file_head",
				fmt.Sprintf("The name of column %d is too long or contains a line break. Shorten it and keep it on one line.",
					i+1))
		}
		if slices.Contains(t.names, name) {
			return invalidFile("file_head", fmt.Sprintf("Two columns are named %q. Rename one of them.", name))
		}
		t.names = append(t.names, name)
	}
	return nil
}

func isAmount(text string) bool {
	for _, form := range NumberForms {
		if _, problem := parseAmount(text, form); problem == "" {
			return true
		}
	}
	return false
}

// next returns the next row that is not blank, or io.EOF after the last.
func (t *table) next() (r row, err error) {
	for {
		t.guard.left = maxRow
		cells, err := t.csv.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(t.guard.failed, errLongRow):
			return r, invalidFile("file_row",
				fmt.Sprintf("Row %d is longer than 1 MiB. Check the row for an unclosed quotation mark.",
					t.row+1))
		case t.guard.failed != nil:
			return r, t.guard.failed
		case errors.As(err, &wrong) && wrong.Line > wrong.StartLine:
			return r, invalidFile("file_quotes",
				fmt.Sprintf("A quotation mark in row %d is not closed. Correct the row.",
					t.row+wrong.StartLine-t.line))
		case wrong != nil:
			t.row += wrong.Line - t.line
			t.line, t.rows = wrong.Line, t.rows+1
			return row{number: t.row, problem: problemQuotes}, nil //nolint:nilerr // the problem is reported with the row, and reading continues
		case err != nil:
			return r, err
		}
		first, _ := t.csv.FieldPos(0)
		last, _ := t.csv.FieldPos(len(cells) - 1)
		t.row += first - t.line // spreadsheets number blank lines too
		t.line = last + strings.Count(cells[len(cells)-1], "\n")
		if blank(cells) {
			continue
		}
		t.rows++
		r = row{number: t.row, cells: cells}
		for i := range cells {
			if err := t.decode(&cells[i]); err != nil {
				return r, err
			}
		}
		switch {
		case t.names == nil:
		case len(cells) != len(t.names):
			r.problem = problemCells
		case t.isRepeatedHeader(cells):
			r.problem = problemHead
		}
		return r, nil
	}
}

// decode converts a cell that is not valid UTF-8 from Windows-1252, which Excel uses for CSV files
// in much of Europe. It rejects such a cell if the file starts with a UTF-8 byte-order mark or
// contains non-ASCII characters in UTF-8.
func (t *table) decode(cell *string) error {
	if utf8.ValidString(*cell) {
		t.utf8 = t.utf8 || len(*cell) != utf8.RuneCountInString(*cell)
	} else {
		text, err := charmap.Windows1252.NewDecoder().String(*cell)
		if err != nil || t.bom || strings.ContainsRune(text, utf8.RuneError) {
			return invalidFile("file_utf8",
				fmt.Sprintf("Row %d contains bytes that are neither UTF-8 nor Windows-1252. Save the file as CSV UTF-8 and upload it again.",
					t.row))
		}
		*cell, t.western = text, true
	}
	if t.utf8 && t.western {
		return invalidFile("file_encoding",
			fmt.Sprintf("The file mixes UTF-8 and Windows-1252 (found at row %d). Save it as CSV UTF-8 and upload it again.",
				t.row))
	}
	return nil
}

func (t *table) encoding() string {
	if t.western {
		return Windows1252
	}
	return UTF8
}

func (t *table) isRepeatedHeader(cells []string) bool {
	for i, name := range t.names {
		if cell := strings.TrimSpace(cells[i]); cell != name && (cell != "" || !strings.HasPrefix(name, "column ")) {
			return false
		}
	}
	return true
}

func blank(cells []string) bool {
	for _, cell := range cells {
		if strings.TrimSpace(cell) != "" {
			return false
		}
	}
	return true
}

// rowLimitReader limits the length of a row and rejects NUL bytes. After an error other than io.EOF,
// each further call returns that error again.
type rowLimitReader struct {
	from   io.Reader
	left   int // number of bytes left for the current row
	failed error
}

var errLongRow = errors.New("row too long")

func (g *rowLimitReader) Read(p []byte) (int, error) {
	if g.left <= 0 {
		g.failed = errLongRow
	}
	if g.failed != nil {
		return 0, g.failed
	}
	n, err := g.from.Read(p)
	g.left -= n
	if bytes.IndexByte(p[:n], 0) >= 0 {
		err = errBinary
	}
	if err != nil && !errors.Is(err, io.EOF) {
		g.failed = err
	}
	return n, err
}
