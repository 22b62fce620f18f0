package csvcell

import (
	"bufio"
	"encoding/csv"
	"io"
	"slices"
	"strings"
)

// ByteOrderMark is at the start of each file. Without it, Excel does not read the file as UTF-8.
const ByteOrderMark = "\ufeff"

// bufferSize is large enough to write many rows at a time.
const bufferSize = 64 << 10

// Writer writes a CSV file. It passes rows on when its buffer is full, so that an error before that can
// still be reported in place of the file.
type Writer struct {
	csv     *csv.Writer
	numbers []bool // for each column, whether it contains numbers
	row     []string
}

// NewWriter returns a Writer for a file with the given columns. It writes the byte-order mark and the
// header row. The cells of the columns in the list numbers stay numbers, and all other cells are
// escaped.
func NewWriter(to io.Writer, columns []string, numbers ...string) (*Writer, error) {
	buffer := bufio.NewWriterSize(to, bufferSize)
	if _, err := buffer.WriteString(ByteOrderMark); err != nil {
		return nil, err
	}
	w := &Writer{csv: csv.NewWriter(buffer), numbers: make([]bool, len(columns))}
	for i, name := range columns {
		w.numbers[i] = slices.Contains(numbers, name)
	}
	return w, w.csv.Write(columns)
}

// Write writes a row. It does not change or keep the slice.
func (w *Writer) Write(cells []string) error {
	w.row = w.row[:0]
	for i, cell := range cells {
		if i >= len(w.numbers) || !w.numbers[i] || !isDecimal(cell) {
			cell = Escape(cell)
		}
		w.row = append(w.row, cell)
	}
	return w.csv.Write(w.row)
}

// Flush writes the rows that are still in the buffer.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// isDecimal reports whether the text is a number in digits, with an optional minus sign and decimals.
func isDecimal(text string) bool {
	whole, decimals, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	return isDigits(whole) && (!point || isDigits(decimals))
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
