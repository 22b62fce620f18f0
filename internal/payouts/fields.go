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

// MaxNote bounds what people write to a return, an adjustment or a run, in characters.
const MaxNote = 2000

// requiredText is what a person must write.
func requiredText(name, value, ask string) (string, error) {
	value, err := optionalText(name, value)
	if err == nil && value == "" {
		err = field(name, apperr.Required, ask)
	}
	return value, err
}

// optionalText is what a person may write, on several lines: browsers end each with CR and LF.
func optionalText(name, value string) (string, error) {
	value = strings.TrimSpace(strings.ReplaceAll(value, "\r\n", "\n"))
	switch {
	case utf8.RuneCountInString(value) > MaxNote:
		return "", field(name, apperr.TooLong, fmt.Sprintf("Write at most %d characters.", MaxNote))
	case !isPlainText(value):
		return "", field(name, apperr.InvalidValue, "There is a control character in it: type it anew.")
	}
	return value, nil
}

// isPlainText is a text that a database and a page can hold: UTF-8 without control
// characters, other than the ends of lines.
func isPlainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return (r < ' ' && r != '\n' && r != '\t') || r == 0x7f })
}
