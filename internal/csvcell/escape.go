// Package csvcell writes CSV files that can be opened in a spreadsheet. Spreadsheets do not evaluate
// text in these files as formulas, and do not convert IDs to numbers or dates.
package csvcell

import (
	"strings"
	"unicode"
)

// formulaStarts are the characters with which a formula can start. Spreadsheets also accept the
// full-width and small forms of these characters.
const formulaStarts = "=+-@＝＋－＠﹦﹢﹣﹫"

// maxShownDigits is the number of digits up to which spreadsheets show a whole number in full.
const maxShownDigits = 11

// Escape adds apostrophes to a text, so that spreadsheets neither evaluate it as a formula nor convert
// it to a number or a date. It adds them wherever a cell can start: at the start of the text and after
// the separators that spreadsheets use. White space and quotes can precede a formula.
func Escape(text string) string {
	var out strings.Builder
	start, copied := true, 0
	for i, r := range text {
		switch {
		case !start:
			start = separates(r)
		case strings.ContainsRune(formulaStarts, r):
			out.WriteString(text[copied:i] + "'")
			start, copied = false, i
		default:
			start = separates(r) || r == '"' || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
		}
	}
	escaped := text
	if copied > 0 || out.Len() > 0 {
		escaped = out.String() + text[copied:]
	}
	if isConverted(text) && !strings.HasPrefix(escaped, "'") {
		escaped = "'" + escaped
	}
	return escaped
}

// Unescape removes an apostrophe that Escape added at the start of a text.
func Unescape(text string) string {
	if rest, ok := strings.CutPrefix(text, "'"); ok && Escape(rest) == text {
		return rest
	}
	return text
}

// separates reports whether a spreadsheet can start a new cell or row after the character.
func separates(r rune) bool {
	return r == ',' || r == ';' || r == '|' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// isConverted reports whether spreadsheets convert the text to a number, a date or a time that they
// show differently, such as 0044, 447700900123, 1.50, 1E5 and 1/2.
func isConverted(text string) bool {
	digits := 0
	for i, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits++
		case i == 0 && unicode.IsLetter(r), !unicode.IsSpace(r) && !strings.ContainsRune(".,:/+-()%eE", r):
			return false
		}
	}
	exact := digits == len(text) && digits <= maxShownDigits && (digits == 1 || !strings.HasPrefix(text, "0"))
	return digits > 0 && !exact
}
