// Package csvcell escapes the cells of CSV files, so that spreadsheets do not evaluate them as formulas.
package csvcell

import "strings"

// Escape returns text, preceded by an apostrophe if a spreadsheet could evaluate the text as a formula.
func Escape(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
