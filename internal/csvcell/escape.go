// Package csvcell escapes the cells of CSV files that people open in a spreadsheet.
package csvcell

import "strings"

// Escape puts an apostrophe before a text that a spreadsheet would run as a formula.
func Escape(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
