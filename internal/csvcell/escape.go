// Package csvcell escapes the cells of CSV files for spreadsheets.
package csvcell

import "strings"

// Escape adds an apostrophe before text that a spreadsheet would evaluate as a formula.
func Escape(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
