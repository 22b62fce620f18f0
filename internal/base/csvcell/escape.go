// Package csvcell writes CSV files that can be opened in a spreadsheet. Spreadsheets do not evaluate
// text in these files as formulas, and do not convert IDs to numbers or dates.
package csvcell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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
// show differently, such as 0044, 447700900123, 1.50, 1E5, 1/2 and MAR1.
func isConverted(text string) bool {
	digits := 0
	for at := 0; at < len(text); {
		if letters := leadingLetters(text[at:]); letters > 0 {
			if !isNumeric(text[at:at+letters], text[:at]) {
				return false
			}
			at += letters
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsDigit(r):
			digits++
		case !unicode.IsSpace(r) && !strings.ContainsRune(".,:/+-()%", r):
			return false
		}
		at += size
	}
	exact := digits == len(text) && digits <= maxShownDigits && (digits == 1 || !strings.HasPrefix(text, "0"))
	return digits > 0 && !exact
}

func leadingLetters(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, unicode.IsLetter))
}

// months are the names and abbreviations of months that spreadsheets recognise in English.
var months = []string{
	"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "january", "february", "march",
	"april", "june", "july", "august", "september", "october", "november", "december",
}

// isNumeric reports whether a word can be part of a number, a date or a time: the exponent in 1E5, a month, or AM or PM.
func isNumeric(word, before string) bool {
	is := func(other string) bool { return strings.EqualFold(word, other) }
	switch {
	case slices.ContainsFunc(months, is):
		return true
	case is("e") || is("am") || is("pm"):
		return before != ""
	case is("a") || is("p"):
		return strings.HasSuffix(before, " ")
	}
	return false
}
