package payouts

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/protocol/payload"
)

func field(name string, kind apperr.FieldCode, message string) *apperr.Error {
	return apperr.AtField(apperr.Invalid, name, kind, name, message)
}

// MaxNote is the maximum length, in characters, of the texts that users enter for returns,
// adjustments and runs.
const MaxNote = 2000

// requiredText is like optionalText, but rejects an empty value. The parameter missing is the error
// message for an empty value.
func requiredText(name, value, missing string) (string, error) {
	value, err := optionalText(name, value)
	if err == nil && value == "" {
		err = field(name, apperr.Required, missing)
	}
	return value, err
}

// optionalText validates and trims the value of a text field that allows several lines. It replaces
// CRLF line breaks, which browsers send, with LF.
func optionalText(name, value string) (string, error) {
	value = payload.Trim(strings.ReplaceAll(value, "\r\n", "\n"))
	switch {
	case utf8.RuneCountInString(value) > MaxNote:
		return "", field(name, apperr.TooLong, fmt.Sprintf("Enter at most %d characters.", MaxNote))
	case !isPlainText(value):
		return "", field(name, apperr.InvalidValue, "This text contains a control character. Type it again.")
	}
	return value, nil
}

func isPlainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return (r < ' ' && r != '\n' && r != '\t') || r == 0x7f })
}
