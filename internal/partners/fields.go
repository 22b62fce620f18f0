package partners

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/models"
)

// Bounds of what people write about partners, in code points.
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

// joinProblems makes one fault of all problems of a form, nil ones left out. Its message
// holds theirs, for whoever sees no fields; its reason is the first one's.
func joinProblems(problems ...*apperr.Error) error {
	problems = slices.DeleteFunc(problems, func(p *apperr.Error) bool { return p == nil })
	if len(problems) == 0 {
		return nil
	}
	// What is malformed comes before what merely clashes.
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
			"A signing mode is required, report_only, off or "+string(inherits)+".")
	}
}

var (
	errNoPartnerName = invalid("name", apperr.Required, "name", "A partner needs a name.")
	errNoAccountName = invalid("name", apperr.Required, "name", "An account needs a name.")
)

// checkName checks a name and returns missing where there is none.
func checkName(name string, missing *apperr.Error) *apperr.Error {
	if name == "" {
		return missing
	}
	return checkLine("name", "name", name)
}

// checkLine refuses what would break a list or a terminal that shows it.
func checkLine(field, what, text string) *apperr.Error {
	return checkText(field, text, maxLine, unicode.IsControl,
		fmt.Sprintf("A %s has at most %d characters and no control characters.", what, maxLine))
}

// checkLines is checkLine for what may have several.
func checkLines(field, what, text string) *apperr.Error {
	return checkText(field, text, maxLines, func(r rune) bool { return r != '\n' && unicode.IsControl(r) },
		fmt.Sprintf("%s have at most %d characters, and no control characters but line breaks.", what, maxLines))
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

// lines trims a text of several lines, as a form sends it.
func lines(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}
