package payouts

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/apperr"
)

func field(name string, kind apperr.FieldCode, message string) *apperr.Error {
	return apperr.AtField(apperr.Invalid, name, kind, name, message)
}

// MaxNote is the maximum length of a text about a return, an adjustment or a run, in characters.
const MaxNote = 2000

// requiredText is like optionalText, but returns an error with the message missing if the value is
// empty.
func requiredText(name, value, missing string) (string, error) {
	value, err := optionalText(name, value)
	if err == nil && value == "" {
		err = field(name, apperr.Required, missing)
	}
	return value, err
}

// optionalText validates and trims a text, which may have several lines. It replaces the CRLF line
// breaks of browsers with LF.
func optionalText(name, value string) (string, error) {
	value = strings.TrimSpace(strings.ReplaceAll(value, "\r\n", "\n"))
	switch {
	case utf8.RuneCountInString(value) > MaxNote:
		return "", field(name, apperr.TooLong, fmt.Sprintf("Enter at most %d characters.", MaxNote))
	case !isPlainText(value):
		return "", field(name, apperr.InvalidValue, "This text contains a control character. Type it again.")
	}
	return value, nil
}

// isPlainText reports whether s is UTF-8 without control characters other than tabs and line feeds.
func isPlainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return (r < ' ' && r != '\n' && r != '\t') || r == 0x7f })
}
