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

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
)

func lead(n int) string { return id.Format(id.Lead, uuid.UUID{14: byte(n >> 8), 15: byte(n)}) }

// columnOf puts texts into a list of their own.
func columnOf(t *testing.T, texts ...string) Column {
	t.Helper()
	p, err := profile(strings.NewReader("x\tfill\n" + strings.Join(texts, "\t.\n") + "\t.\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Columns[0]
}

func TestFormsOfColumns(t *testing.T) {
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
		"plain":                  {texts: []string{"12", "13"}, numbers: []NumberForm{DotDecimal}},
		"dots":                   {texts: []string{"12.5", "13"}, numbers: []NumberForm{DotDecimal}},
		"commas":                 {texts: []string{"12,50", "13"}, numbers: []NumberForm{CommaDecimal}},
		"who knows":              {texts: []string{"1,234", "13"}, numbers: NumberForms},
		"who knows, with a dot":  {texts: []string{"1.234", "13"}, numbers: NumberForms},
		"proved by decimals":     {texts: []string{"1,234", "12,50"}, numbers: []NumberForm{CommaDecimal}},
		"proved by both marks":   {texts: []string{"1,234", "1.234,56"}, numbers: []NumberForm{CommaDecimal}},
		"proved by groups":       {texts: []string{"1,234", "1,234,567"}, numbers: []NumberForm{DotDecimal}},
		"a few are something":    {texts: many(40, "12,50", "n/a"), numbers: []NumberForm{CommaDecimal}},
		"too many are something": {texts: many(10, "12,50", "n/a"), numbers: nil},
		"both ways":              {texts: many(100, "12", "12,50", "12.50"), numbers: NumberForms},
		"days": {
			texts: []string{"2026-01-31", "2026-02-01T10:00:00Z"},
			dates: []DateForm{YearFirst},
			days:  "2026-01-31..2026-02-01",
		},
		"zones": {
			texts: []string{"2026-01-31T23:30:00-01:00", "2026-01-31 09:00"},
			dates: []DateForm{YearFirst},
			days:  "2026-01-31..2026-02-01",
		},
		"either day": {
			texts: []string{"01/02/2026", "03.04.2026"},
			dates: []DateForm{DayFirst, MonthFirst},
			days:  "2026-02-01..2026-04-03 2026-01-02..2026-03-04",
		},
		"a slip among many":   {texts: many(39, "1,234", "12,50"), numbers: NumberForms},
		"decimals among many": {texts: many(39, "12.50", "12.345"), numbers: []NumberForm{DotDecimal}},
		"proved day":          {texts: []string{"01/02/2026", "13/02/2026"}, dates: []DateForm{DayFirst}, days: "2026-02-01..2026-02-13"},
		"proved month":        {texts: []string{"1-2-2026", "1-31-2026 3:04 PM"}, dates: []DateForm{MonthFirst}, days: "2026-01-02..2026-01-31"},
		"all the same":        {texts: []string{"02/02/2026", "03/03/2026"}, dates: []DateForm{DayFirst}, days: "2026-02-02..2026-03-03"},
		"no such day":         {texts: []string{"2026-02-30"}},
		"short years":         {texts: []string{"26-01-02", "01/02/26"}},
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
			t.Errorf("%s: %s, want %s", name, days, c.days)
		}
	}
	if got := columnOf(t, "GBP", "eur", " GBP "); !slices.Equal(got.Currencies, []string{"GBP", "EUR"}) {
		t.Errorf("currencies %v", got.Currencies)
	}
	if got := columnOf(t, many(40, "GBP", "EUR", "CHF", "n/a")...); !slices.Equal(got.Currencies, []string{"GBP", "EUR"}) {
		t.Errorf("currencies with two that are none: %v", got.Currencies)
	}
	if got := columnOf(t, many(10, "GBP", "CHF")...); len(got.Currencies) != 0 {
		t.Errorf("currencies with too many that are none: %v", got.Currencies)
	}
	if got := columnOf(t, lead(1), strings.ToLower(lead(2)), "  "+lead(3)+" ", "ld_1"); got.LeadIDs != 3 || got.Filled != 4 {
		t.Errorf("%d leadIds of %d", got.LeadIDs, got.Filled)
	}
}

func TestListFormats(t *testing.T) {
	for name, c := range map[string]struct{ text, delimiter string }{
		"commas":               {"lead,amount\n" + lead(1) + ",12.50\n", ","},
		"semicolons":           {"lead;amount, GBP\r\n" + lead(1) + ";12,50\r\n", ";"},
		"tabs":                 {"lead\tamount\n" + lead(1) + "\t1,250.00\n", "\t"},
		"no leadIds at all":    {"a;b\n1,5;2,5\n1,5;2,5\n", ";"},
		"a mark":               {"\ufefflead,amount\n" + lead(1) + ",1\n", ","},
		"Excel's line":         {"sep=;\r\nlead;amount\r\n" + lead(1) + ";12,50\r\n", ";"},
		"Excel's line, marked": {"\ufeffsep=;\nlead;amount\n" + lead(1) + ";12,50\n", ";"},
		"quotes":               {"\"lead\",\"amount\"\n\"" + lead(1) + "\",\"1,250.00\"\n", ","},
	} {
		p, err := profile(strings.NewReader(c.text))
		if err != nil || p.Delimiter != c.delimiter || len(p.Columns) != 2 || p.Rows < 1 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// A list as Excel writes it in Germany: Windows-1252, semicolons, a decimal comma, and a
// euro sign, which is one byte there. What is UTF-8 stays UTF-8.
func TestListsInWindows1252(t *testing.T) {
	t.Parallel()
	const utf8List = "leadId;W\u00e4hrung;Betrag;Notiz\n%s;EUR;1234,50;J\u00fcrgen \u20ac \u201eneu\u201c\n"
	western, err := charmap.Windows1252.NewEncoder().String(fmt.Sprintf(utf8List, lead(1)))
	if err != nil {
		t.Fatal(err)
	}
	ascii := fmt.Sprintf("leadId;Notiz\n%s;x\n", lead(1))
	for name, c := range map[string]struct{ list, encoding, column string }{
		"Windows-1252":                  {western, Windows1252, "W\u00e4hrung"},
		"UTF-8":                         {fmt.Sprintf(utf8List, lead(1)), UTF8, "W\u00e4hrung"},
		"UTF-8 with a mark":             {"\ufeff" + fmt.Sprintf(utf8List, lead(1)), UTF8, "W\u00e4hrung"},
		"ASCII":                         {ascii, UTF8, "Notiz"},
		"Windows-1252 far off":          {ascii + strings.Repeat(lead(2)+";y\n", 10_000) + lead(3) + ";J\xfcrgen\n", Windows1252, "Notiz"},
		"a no-break space in an amount": {"leadId;Betrag\n" + lead(1) + ";1\xa0234,50\n", Windows1252, "Betrag"},
	} {
		p, err := profile(strings.NewReader(c.list))
		if err != nil || p.Encoding != c.encoding {
			t.Errorf("%s: read as %q, %v", name, p.Encoding, err)
		}
		if _, ok := p.Column(c.column); !ok {
			t.Errorf("%s: the columns are %v", name, p.Columns)
		}
	}
	table, err := openTable(strings.NewReader(western))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := table.next(); err != nil || r.cells[3] != "J\u00fcrgen \u20ac \u201eneu\u201c" {
		t.Errorf("read %q, %v", r.cells, err)
	}
}

func TestListsThatAreRejected(t *testing.T) {
	long := strings.Repeat("a", 70<<10)
	for name, c := range map[string]struct{ text, reason, says string }{
		"nothing":                    {"", "file_empty", ""},
		"only a mark":                {"\ufeff \n", "file_empty", ""},
		"a head alone":               {"lead,amount\n", "file_empty", ""},
		"a workbook":                 {"PK\x03\x04\x14\x00", "file_workbook", ""},
		"UTF-16":                     {"\xff\xfel\x00e\x00", "file_utf16", ""},
		"UTF-16 without a mark":      {"l\x00e\x00a\x00d\x00\n\x00", "file_utf16", ""},
		"a NUL":                      {"lead,amount\nx\x00,1\n", "file_binary", ""},
		"a NUL far off":              {"lead,amount\n" + strings.Repeat("x,1\n", 30_000) + "x\x00,1\n", "file_binary", ""},
		"no line end":                {long, "file_lines", ""},
		"no head: a leadId":          {lead(1) + ",x\n" + lead(2) + ",y\n", "file_head", ""},
		"no head: an amount":         {"x,12.50\ny,13\n", "file_head", ""},
		"the same name twice":        {"lead,amount,amount\nx,1,2\n", "file_head", `"amount"`},
		"a name that was given":      {"lead,,column 2\nx,1,2\n", "file_head", `"column 2"`},
		"old line ends":              {"lead,amount\rx,1\ry,2\r", "file_head", ""},
		"neither UTF-8 nor 1252":     {"lead,amount\nx,1\n\ny\x81,2\nz\xe9,1\n", "file_utf8", "Row 4 "},
		"a mark, and not UTF-8":      {"\ufefflead,amount\nx,1\n\ny\xe9,2\n", "file_utf8", "Row 4 "},
		"UTF-8, then not":            {"lead,name\nx,J\u00fcrgen\ny,J\xfcrgen\n", "file_encoding", "row 3"},
		"not UTF-8, then UTF-8":      {"lead,name\nx,J\xfcrgen\ny,J\u00fcrgen\n", "file_encoding", "row 3"},
		"a quote that is not closed": {"lead,amount\nx,1\n\"y,2\nz,3\n", "file_quotes", "row 3 "},
		"a quote closed far off":     {"lead,amount\nx,1\n\"y,2\nz,\"3\n", "file_quotes", "row 3 "},
		"a row without end":          {"lead,amount\nx,1\n\"" + strings.Repeat("y,2\n", 300_000), "file_row", "Row 3 "},
		"a line without end":         {"lead,amount\nx,1\n" + strings.Repeat("y", 2<<20), "file_row", "Row 3 "},
	} {
		_, err := profile(strings.NewReader(c.text))
		f := apperr.As(err)
		if f == nil || f.Code != apperr.Invalid || f.Reason != c.reason || !strings.Contains(f.Message, c.says) ||
			len(f.Fields) != 1 {
			t.Errorf("%s: %v (%+v), want %s with %q", name, err, f, c.reason, c.says)
		}
	}
}

func TestRowsThatCannotBeRead(t *testing.T) {
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
		t.Errorf("%v, want %s", got, want)
	}
}

func TestTooManyRows(t *testing.T) {
	rows := &endless{line: []byte(strings.Repeat("x,1\n", 10_000))}
	if _, err := profile(rows); apperr.As(err) == nil || apperr.As(err).Reason != "file_rows" {
		t.Errorf("without end: %v", err)
	}
	if _, err := profile(&limited{from: &endless{line: []byte("x," + strings.Repeat("1", 1<<12) + "\n")}, left: 1 << 20}); !errors.Is(err, errTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

// endless is a list without an end.
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

func FuzzList(f *testing.F) {
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
			t.Errorf("%q has %d rows", text, p.Rows)
		}
	})
}
