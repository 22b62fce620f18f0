// Package plaintext trims and checks the texts that users enter in forms.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// MaxNote is the maximum number of characters in a note.
const MaxNote = 2000

// CheckNote returns the trimmed note, or an Invalid error at the field note (see Check).
func CheckNote(note string) (string, error) { return Check("note", note, MaxNote) }

// Check returns the value of a field that allows several lines, trimmed and with LF line breaks. It returns an
// Invalid error at the field if the value is longer than limit, in characters, or contains a control character
// other than a line break or a tab.
func Check(field, value string, limit int) (string, error) {
	value = Trim(LineFeeds(value))
	switch {
	case utf8.RuneCountInString(value) > limit:
		return "", apperr.InvalidField(field, apperr.TooLong, fmt.Sprintf("Enter at most %d characters.", limit))
	case !IsValid(value):
		return "", apperr.InvalidField(field, apperr.InvalidValue, "This text contains a control character. Type it again.")
	}
	return value, nil
}

// IsValid reports whether a text is UTF-8 and contains no control characters except LF and tabs.
func IsValid(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text,
		func(r rune) bool { return (r < ' ' && r != '\n' && r != '\t') || r == 0x7f })
}

// LineFeeds replaces CRLF line breaks, which browsers send, with LF.
func LineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// Trim removes white space and invisible format characters from both ends of a text (decision 62).
func Trim(text string) string { return strings.TrimFunc(text, IsBlank) }

// IsBlank reports whether r is white space or an invisible format character. Consumers copy and paste such
// characters without seeing them (decision 62).
func IsBlank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }
