package partners

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/models"
)

// These are the maximum lengths of text fields, in code points.
const (
	maxLine  = 200
	maxLines = 2000
	maxPhone = 40
)

func invalid(reason string, kind apperr.FieldCode, field, message string) *apperr.Error {
	return apperr.AtField(apperr.Invalid, reason, kind, field, message)
}

func clash(reason, field, message string) *apperr.Error {
	return apperr.AtField(apperr.Conflict, reason, apperr.FieldClash, field, message)
}

// joinProblems combines the problems in a form into one error, or returns nil if all of them are nil.
// The error's message contains the messages of all problems, because the command line shows only the
// message.
func joinProblems(problems ...*apperr.Error) error {
	problems = slices.DeleteFunc(problems, func(p *apperr.Error) bool { return p == nil })
	if len(problems) == 0 {
		return nil
	}
	// Put invalid values before conflicts.
	slices.SortStableFunc(problems, func(a, b *apperr.Error) int { return clashes(a) - clashes(b) })
	var messages []string
	var fields []apperr.Field
	for _, p := range problems {
		messages, fields = append(messages, p.Message), append(fields, p.Fields...)
	}
	return apperr.New(problems[0].Code, problems[0].Reason, strings.Join(messages, " ")).WithFields(fields...)
}

func clashes(p *apperr.Error) int {
	if p.Code == apperr.Conflict {
		return 1
	}
	return 0
}

func checkMode(m models.SigningMode, inherits models.SigningMode) *apperr.Error {
	switch m {
	case models.SigningRequired, models.SigningReportOnly, models.SigningOff, inherits:
		return nil
	default:
		return invalid("signing_mode", apperr.InvalidValue, "signing",
			"Choose a signing mode: required, report_only, off or "+string(inherits)+".")
	}
}

var (
	errNoPartnerName = invalid("name", apperr.Required, "name", "Enter a name for the partner.")
	errNoAccountName = invalid("name", apperr.Required, "name", "Enter a name for the account.")
)

func checkName(name string, missing *apperr.Error) *apperr.Error {
	if name == "" {
		return missing
	}
	return checkLine("name", "name", name)
}

// checkLine rejects text that is too long, or that contains control characters, which could break the
// layout of a list or terminal.
func checkLine(field, what, text string) *apperr.Error {
	return checkText(field, text, maxLine, unicode.IsControl,
		fmt.Sprintf("The %s can have at most %d characters and cannot contain control characters.", what, maxLine))
}

func checkLines(field, what, text string) *apperr.Error {
	return checkText(field, text, maxLines, func(r rune) bool { return r != '\n' && unicode.IsControl(r) },
		fmt.Sprintf("The %s can have at most %d characters and cannot contain control characters except line breaks.", what, maxLines))
}

func checkText(field, text string, most int, rejected func(rune) bool, message string) *apperr.Error {
	switch {
	case utf8.RuneCountInString(text) > most:
		return invalid("text", apperr.TooLong, field, message)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, rejected):
		return invalid("text", apperr.InvalidValue, field, message)
	}
	return nil
}

func lines(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}
