package csvcell_test

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/pingpost/pingpost/internal/base/csvcell"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a=b": "a=b", "call - no answer": "call - no answer", "it's": "it's", "Müller": "Müller",
		"=1+1": "'=1+1", "@sum": "'@sum", "-x": "'-x", "+x": "'+x", "-": "'-",
		"\t=1": "\t'=1", "\r=1": "\r'=1", " =1": " '=1", "\u00a0=1": "\u00a0'=1", "\ufeff=1": "\ufeff'=1",
		"\u200b=1": "\u200b'=1", `"=1`: `"'=1`, "\x00=1": "\x00'=1",
		"x;=1+1": "x;'=1+1", "x,=1": "x,'=1", "x\t=1": "x\t'=1", "x|=1": "x|'=1", "x; \"=1": "x; \"'=1",
		"x\n=1+1": "x\n'=1+1", "x\r\n@a": "x\r\n'@a", "x\u2028=1": "x\u2028'=1", "=1;=2\n-x": "'=1;'=2\n'-x",
		"＝1+1": "'＝1+1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a", "x;＝1": "x;'＝1", "﹦1": "'﹦1",
		"'=1": "'=1",
		// IDs
		"0": "0", "42": "42", "12345678901": "12345678901", "ld_01JD3Z": "ld_01JD3Z", "E5": "E5", "1a": "1a",
		"007": "'007", "00": "'00", "123456789012": "'123456789012", "4111111111111111": "'4111111111111111",
		"+447700900123": "'+447700900123", "020 7946 0123": "'020 7946 0123", "(020) 1": "'(020) 1",
		"1.50": "'1.50", "1E5": "'1E5", "12e3": "'12e3", "1/2": "'1/2", "1-2": "'1-2", "2026-01-02": "'2026-01-02",
		"12:30": "'12:30", "50%": "'50%", "1,-5": "'1,'-5", "０１": "'０１",
		"MAR1": "'MAR1", "DEC10": "'DEC10", "1-Mar": "'1-Mar", "10DEC26": "'10DEC26", "SEPT-2": "'SEPT-2", "march 2026": "'march 2026",
		"Mar 1, 2026": "'Mar 1, 2026", "1 PM": "'1 PM", "12:30pm": "'12:30pm", "7 a": "'7 a",
		"MARK1": "MARK1", "DECK10": "DECK10", "1MAYBE": "1MAYBE", "MAR": "MAR", "May": "May", "JANUARY": "JANUARY", "A1": "A1", "PM1": "PM1", "1p": "1p",
		"MAR1_2": "MAR1_2", "MAR1 ABC": "MAR1 ABC", "é1": "é1",
	} {
		got := csvcell.Escape(text)
		if got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
		if again := csvcell.Escape(got); again != got {
			t.Errorf("escaping %q twice results in %q, want %q", text, again, got)
		}
	}
}

// TestEscapeDates checks that spreadsheets do not convert an ID that consists of the English name or abbreviation of a
// month, and of digits, in any order.
func TestEscapeDates(t *testing.T) {
	for month := time.January; month <= time.December; month++ {
		names := []string{month.String(), month.String()[:3]}
		if month == time.September {
			names = append(names, "Sept")
		}
		for _, name := range names {
			for _, written := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
				for _, separator := range []string{"", "-", "/", " ", ".", ", "} {
					for _, text := range []string{
						written + separator + "1", "1" + separator + written, written + separator + "2026",
						"31" + separator + written + separator + "26", written + separator + "31" + separator + "2026",
					} {
						escaped := csvcell.Escape(text)
						if escaped != "'"+text || csvcell.Unescape(escaped) != text {
							t.Errorf("Escape(%q) = %q, want an apostrophe before it", text, escaped)
						}
					}
				}
				for _, text := range []string{written, written + "x1", "x" + written + "1", "1" + written + "x", written + "_1"} {
					if escaped := csvcell.Escape(text); escaped != text {
						t.Errorf("Escape(%q) = %q, want no change", text, escaped)
					}
				}
			}
		}
	}
}

func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "'": "'", "a": "a", "'a": "'a", "'007": "007", "'=1": "=1", "''=1": "''=1", "42": "42", "'42": "'42", "'MAR1": "MAR1", "'MARK1": "'MARK1",
	} {
		if got := csvcell.Unescape(text); got != want {
			t.Errorf("Unescape(%q) = %q, want %q", text, got, want)
		}
	}
}

// Cells in number columns stay numbers, but text in these columns is escaped.
func TestWriter(t *testing.T) {
	var file bytes.Buffer
	w, err := csvcell.NewWriter(&file, []string{"id", "amount"}, "amount")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]string{{"007", "-12.50"}, {"-5", "0.05"}, {"Müller", ""}, {"a", "-1+1"}, {"b", "-"}, {"c", "1."}} {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if file.Len() > 0 {
		t.Error("the file was begun before Flush")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "\ufeffid,amount\n'007,-12.50\n'-5,0.05\nMüller,\na,'-1+1\nb,'-\nc,'1.\n"
	if file.String() != want {
		t.Errorf("got %q, want %q", &file, want)
	}
}

// However a spreadsheet separates the cells, no cell starts with a formula, and without the apostrophes
// the text is the same.
func FuzzEscape(f *testing.F) {
	for _, text := range []string{"=1", "x;=1", "x\n\t@a", "＝1", "\"\u200b-1", "1,-5", "a|'=1", "\xff=1", "it's"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		escaped := csvcell.Escape(text)
		if strings.ReplaceAll(escaped, "'", "") != strings.ReplaceAll(text, "'", "") {
			t.Fatalf("Escape(%q) = %q", text, escaped)
		}
		var file bytes.Buffer
		w, err := csvcell.NewWriter(&file, []string{"a"})
		if err == nil {
			err = w.Write([]string{text})
		}
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		rows := strings.TrimPrefix(file.String(), "\ufeffa\n")
		for _, separator := range []string{",", ";", "\t", "|", "\x00"} {
			for _, cell := range strings.FieldsFunc(rows, func(r rune) bool { return strings.ContainsRune("\r\n"+separator, r) }) {
				cell = strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
				if strings.IndexAny(cell, "=+-@＝＋－＠") == 0 {
					t.Errorf("%q is written as %q: the cell %q is a formula", text, rows, cell)
				}
			}
		}
		if strings.ContainsAny(text, "\r") { // the reader changes line endings
			return
		}
		got, err := csv.NewReader(strings.NewReader(rows)).ReadAll()
		if err != nil || text != "" && (len(got) != 1 || !slices.Equal(got[0], []string{escaped})) {
			t.Errorf("%q is read as %q with error %v, want %q", text, got, err, escaped)
		}
	})
}
