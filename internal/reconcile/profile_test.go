package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/text/encoding/charmap"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
)

func lead(n int) string { return id.Format(id.Lead, uuid.UUID{14: byte(n >> 8), 15: byte(n)}) }

// columnOf profiles a column with the given values.
func columnOf(t *testing.T, texts ...string) Column {
	t.Helper()
	p, err := profile(strings.NewReader("x\tfill\n" + strings.Join(texts, "\t.\n") + "\t.\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Columns[0]
}

func TestColumnFormats(t *testing.T) {
	t.Parallel()
	many := func(n int, text string, more ...string) []string {
		for range n {
			more = append(more, text)
		}
		return more
	}
	for name, c := range map[string]struct {
		texts   []string
		numbers []NumberForm
		dates   []DateForm
		days    string
	}{
		"plain":                 {texts: []string{"12", "13"}, numbers: []NumberForm{DotDecimal}},
		"dots":                  {texts: []string{"12.5", "13"}, numbers: []NumberForm{DotDecimal}},
		"commas":                {texts: []string{"12,50", "13"}, numbers: []NumberForm{CommaDecimal}},
		"ambiguous comma":       {texts: []string{"1,234", "13"}, numbers: NumberForms},
		"ambiguous dot":         {texts: []string{"1.234", "13"}, numbers: NumberForms},
		"shown by decimals":     {texts: []string{"1,234", "12,50"}, numbers: []NumberForm{CommaDecimal}},
		"shown by both marks":   {texts: []string{"1,234", "1.234,56"}, numbers: []NumberForm{CommaDecimal}},
		"shown by groups":       {texts: []string{"1,234", "1,234,567"}, numbers: []NumberForm{DotDecimal}},
		"few other values":      {texts: many(40, "12,50", "n/a"), numbers: []NumberForm{CommaDecimal}},
		"too many other values": {texts: many(10, "12,50", "n/a"), numbers: nil},
		"both formats":          {texts: many(100, "12", "12,50", "12.50"), numbers: NumberForms},
		"dates": {
			texts: []string{"2026-01-31", "2026-02-01T10:00:00Z"},
			dates: []DateForm{YearFirst},
			days:  "2026-01-31..2026-02-01",
		},
		"time zones": {
			texts: []string{"2026-01-31T23:30:00-01:00", "2026-01-31 09:00"},
			dates: []DateForm{YearFirst},
			days:  "2026-01-31..2026-02-01",
		},
		"ambiguous dates": {
			texts: []string{"01/02/2026", "03.04.2026"},
			dates: []DateForm{DayFirst, MonthFirst},
			days:  "2026-02-01..2026-04-03 2026-01-02..2026-03-04",
		},
		"one contradicting value":       {texts: many(39, "1,234", "12,50"), numbers: NumberForms},
		"one value with three decimals": {texts: many(39, "12.50", "12.345"), numbers: []NumberForm{DotDecimal}},
		"shown day first":               {texts: []string{"01/02/2026", "13/02/2026"}, dates: []DateForm{DayFirst}, days: "2026-02-01..2026-02-13"},
		"shown month first":             {texts: []string{"1-2-2026", "1-31-2026 3:04 PM"}, dates: []DateForm{MonthFirst}, days: "2026-01-02..2026-01-31"},
		"same in both formats":          {texts: []string{"02/02/2026", "03/03/2026"}, dates: []DateForm{DayFirst}, days: "2026-02-02..2026-03-03"},
		"invalid date":                  {texts: []string{"2026-02-30"}},
		"two-digit years":               {texts: []string{"26-01-02", "01/02/26"}},
	} {
		got := columnOf(t, c.texts...)
		if diff := cmp.Diff(c.numbers, got.Numbers) + cmp.Diff(c.dates, got.Dates); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var days []string
		for _, d := range got.Days {
			days = append(days, d.First+".."+d.Last)
		}
		if strings.Join(days, " ") != c.days {
			t.Errorf("%s: days %s, want %s", name, days, c.days)
		}
	}
	if got := columnOf(t, "GBP", "eur", " GBP "); !slices.Equal(got.Currencies, []string{"GBP", "EUR"}) {
		t.Errorf("currencies = %v, want GBP and EUR", got.Currencies)
	}
	if got := columnOf(t, many(40, "GBP", "EUR", "CHF", "n/a")...); !slices.Equal(got.Currencies, []string{"GBP", "EUR"}) {
		t.Errorf("currencies with two invalid values = %v, want GBP and EUR", got.Currencies)
	}
	if got := columnOf(t, many(10, "GBP", "CHF")...); len(got.Currencies) != 0 {
		t.Errorf("currencies with too many invalid values = %v, want none", got.Currencies)
	}
	if got := columnOf(t, lead(1), strings.ToLower(lead(2)), "  "+lead(3)+" ", "ld_1"); got.LeadIDs != 3 || got.Filled != 4 {
		t.Errorf("got %d leadIds in %d filled rows, want 3 in 4", got.LeadIDs, got.Filled)
	}
}

func TestFileFormats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, delimiter string }{
		"commas":                       {"lead,amount\n" + lead(1) + ",12.50\n", ","},
		"semicolons":                   {"lead;amount, GBP\r\n" + lead(1) + ";12,50\r\n", ";"},
		"tabs":                         {"lead\tamount\n" + lead(1) + "\t1,250.00\n", "\t"},
		"no leadIds":                   {"a;b\n1,5;2,5\n1,5;2,5\n", ";"},
		"byte-order mark":              {"\ufefflead,amount\n" + lead(1) + ",1\n", ","},
		"sep line":                     {"sep=;\r\nlead;amount\r\n" + lead(1) + ";12,50\r\n", ";"},
		"byte-order mark and sep line": {"\ufeffsep=;\nlead;amount\n" + lead(1) + ";12,50\n", ";"},
		"quotes":                       {"\"lead\",\"amount\"\n\"" + lead(1) + "\",\"1,250.00\"\n", ","},
	} {
		p, err := profile(strings.NewReader(c.text))
		if err != nil || p.Delimiter != c.delimiter || len(p.Columns) != 2 || p.Rows < 1 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// Excel in Germany writes files in Windows-1252 with semicolons, decimal commas and euro signs.
func TestFileEncodings(t *testing.T) {
	t.Parallel()
	const utf8File = "leadId;W\u00e4hrung;Betrag;Notiz\n%s;EUR;1234,50;J\u00fcrgen \u20ac \u201eneu\u201c\n"
	western, err := charmap.Windows1252.NewEncoder().String(fmt.Sprintf(utf8File, lead(1)))
	if err != nil {
		t.Fatal(err)
	}
	ascii := fmt.Sprintf("leadId;Notiz\n%s;x\n", lead(1))
	for name, c := range map[string]struct{ file, encoding, column string }{
		"Windows-1252":                    {western, Windows1252, "W\u00e4hrung"},
		"UTF-8":                           {fmt.Sprintf(utf8File, lead(1)), UTF8, "W\u00e4hrung"},
		"UTF-8 with a byte-order mark":    {"\ufeff" + fmt.Sprintf(utf8File, lead(1)), UTF8, "W\u00e4hrung"},
		"ASCII":                           {ascii, UTF8, "Notiz"},
		"Windows-1252 in a late row":      {ascii + strings.Repeat(lead(2)+";y\n", 10_000) + lead(3) + ";J\xfcrgen\n", Windows1252, "Notiz"},
		"non-breaking space in an amount": {"leadId;Betrag\n" + lead(1) + ";1\xa0234,50\n", Windows1252, "Betrag"},
	} {
		p, err := profile(strings.NewReader(c.file))
		if err != nil || p.Encoding != c.encoding {
			t.Errorf("%s: encoding = %q, %v, want %q", name, p.Encoding, err, c.encoding)
		}
		if _, ok := p.Column(c.column); !ok {
			t.Errorf("%s: columns %v, want %q", name, p.Columns, c.column)
		}
	}
	table, err := openTable(strings.NewReader(western))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := table.next(); err != nil || r.cells[3] != "J\u00fcrgen \u20ac \u201eneu\u201c" {
		t.Errorf("cells = %q, %v", r.cells, err)
	}
}

func TestRejectsInvalidFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 70<<10)
	for name, c := range map[string]struct{ text, reason, message string }{
		"empty":                                {"", "file_empty", ""},
		"only a byte-order mark":               {"\ufeff \n", "file_empty", ""},
		"header without rows":                  {"lead,amount\n", "file_empty", ""},
		"workbook":                             {"PK\x03\x04\x14\x00", "file_workbook", ""},
		"UTF-16":                               {"\xff\xfel\x00e\x00", "file_utf16", ""},
		"UTF-16 without a byte-order mark":     {"l\x00e\x00a\x00d\x00\n\x00", "file_utf16", ""},
		"NUL":                                  {"lead,amount\nx\x00,1\n", "file_binary", ""},
		"NUL in a late row":                    {"lead,amount\n" + strings.Repeat("x,1\n", 30_000) + "x\x00,1\n", "file_binary", ""},
		"PDF":                                  {"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n", "file_binary", ""},
		"RTF":                                  {"{\\rtf1\\ansi\nlead,amount\n", "file_binary", ""},
		"HTML":                                 {"\ufeff\n<HTML><table>\n<tr><td>x\n", "file_binary", ""},
		"XML":                                  {"<?xml version=\"1.0\"?>\n<leads>\n", "file_binary", ""},
		"no line break":                        {long, "file_lines", ""},
		"leadId in the header":                 {lead(1) + ",x\n" + lead(2) + ",y\n", "file_head", ""},
		"amount in the header":                 {"x,12.50\ny,13\n", "file_head", ""},
		"duplicate column name":                {"lead,amount,amount\nx,1,2\n", "file_head", `"amount"`},
		"duplicate of a default column name":   {"lead,,column 2\nx,1,2\n", "file_head", `"column 2"`},
		"CR line breaks":                       {"lead,amount\rx,1\ry,2\r", "file_head", ""},
		"neither UTF-8 nor 1252":               {"lead,amount\nx,1\n\ny\x81,2\nz\xe9,1\n", "file_utf8", "Row 4 "},
		"byte-order mark, but not UTF-8":       {"\ufefflead,amount\nx,1\n\ny\xe9,2\n", "file_utf8", "Row 4 "},
		"UTF-8, then Windows-1252":             {"lead,name\nx,J\u00fcrgen\ny,J\xfcrgen\n", "file_encoding", "row 3"},
		"Windows-1252, then UTF-8":             {"lead,name\nx,J\xfcrgen\ny,J\u00fcrgen\n", "file_encoding", "row 3"},
		"quotation mark not closed":            {"lead,amount\nx,1\n\"y,2\nz,3\n", "file_quotes", "row 3 "},
		"quotation mark closed in a later row": {"lead,amount\nx,1\n\"y,2\nz,\"3\n", "file_quotes", "row 3 "},
		"long row of many lines":               {"lead,amount\nx,1\n\"" + strings.Repeat("y,2\n", 300_000), "file_row", "Row 3 "},
		"long line":                            {"lead,amount\nx,1\n" + strings.Repeat("y", 2<<20), "file_row", "Row 3 "},
	} {
		_, err := profile(strings.NewReader(c.text))
		f := apperr.As(err)
		if f == nil || f.Code != apperr.Invalid || f.Reason != c.reason || !strings.Contains(f.Message, c.message) ||
			len(f.Fields) != 1 {
			t.Errorf("%s: %v (%+v), want %s with %q", name, err, f, c.reason, c.message)
		}
	}
}

func TestUnreadableRows(t *testing.T) {
	t.Parallel()
	list, err := openTable(strings.NewReader("lead,amount\nx,1\n\nx,1,2\n,\nx\nx,\"a\nb\"\nlead,amount\nx,a\"b\ny,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		r, err := list.next()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%d%s", r.number, r.problem))
	}
	if want := "2 4cells 6cells 7 8head_again 9quotes 10"; strings.Join(got, " ") != want {
		t.Errorf("rows = %v, want %s", got, want)
	}
}

func TestTooManyRows(t *testing.T) {
	t.Parallel()
	rows := &endless{line: []byte(strings.Repeat("x,1\n", 10_000))}
	if _, err := profile(rows); apperr.As(err) == nil || apperr.As(err).Reason != "file_rows" {
		t.Errorf("file without end: %v, want file_rows", err)
	}
	if _, err := profile(&limited{from: &endless{line: []byte("x," + strings.Repeat("1", 1<<12) + "\n")}, left: 1 << 20}); !errors.Is(err, errTooLarge) {
		t.Errorf("file over the limit: %v, want errTooLarge", err)
	}
}

// endless is a file without an end.
type endless struct {
	line []byte
	left []byte
	head bool
}

func (e *endless) Read(p []byte) (n int, err error) {
	if len(e.left) == 0 {
		if e.left = e.line; !e.head {
			e.head, e.left = true, []byte("lead,amount\n")
		}
	}
	n = copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

func FuzzProfile(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\ufeffsep=;\na;b\n\"1\n\";2\n", "a\tb\n\"\n", "a,b\n,\n\n1\n\"x\"y\n",
		"\xff\xfe"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := profile(strings.NewReader(text))
		if err != nil && apperr.As(err) == nil {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && (p.Rows < 1 || p.Rows > strings.Count(text, "\n")+1) {
			t.Errorf("profile(%q) has %d rows", text, p.Rows)
		}
	})
}
