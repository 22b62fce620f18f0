package ratecard

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/internal/base/apperr"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// shownProblems limits how many problems an error message lists. The console lists all of them.
const shownProblems = 20

func rejection(problems pricingrules.Problems) *apperr.Error {
	var lines []string
	for i, p := range problems {
		if i == shownProblems {
			lines = append(lines, fmt.Sprintf("And %d more.", len(problems)-shownProblems))
			break
		}
		lines = append(lines, p.String())
	}
	return apperr.New(apperr.Invalid, "rules", strings.Join(lines, "\n"))
}

var (
	errNoDraft   = apperr.New(apperr.NotFound, "draft", "There is no such draft.")
	errNoVersion = apperr.New(apperr.NotFound, "version", "There is no such version.")
	// ErrStale means that the draft has changed since the form was opened.
	ErrStale = apperr.New(apperr.Conflict, "changed",
		"Another user has changed this draft since you opened it. Review the change, then try again.")
	errNothing = apperr.New(apperr.Invalid, "nothing",
		"There is nothing to publish. The current version already has these rules.")
	errSame = apperr.New(apperr.Invalid, "nothing",
		"No draft was created, because the current version already has these rules.")
)

func field(reason string, kind apperr.FieldCode, name, message string) *apperr.Error {
	return apperr.AtField(apperr.Invalid, reason, kind, name, message)
}

func problemsOf(err error) pricingrules.Problems {
	problems, _ := errors.AsType[pricingrules.Problems](err)
	return problems
}
