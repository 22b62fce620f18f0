package ratecard

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// shownProblems bounds how many problems a message tells of; the pages list them all.
const shownProblems = 20

// refusal is what a person is told of rules that are wrong.
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
		"Somebody else changed this draft meanwhile: look at the change, then decide again.")
	errNothing = apperr.New(apperr.Invalid, "nothing",
		"The draft changes no rule of the version in force: there is nothing to publish.")
	errSame = apperr.New(apperr.Invalid, "nothing", "The version in force has these rules already: no draft was made.")
)

func field(reason string, kind apperr.FieldCode, name, message string) *apperr.Error {
	return apperr.AtField(apperr.Invalid, reason, kind, name, message)
}

// problemsOf are the problems that an error of the engine holds.
func problemsOf(err error) pricingrules.Problems {
	problems, _ := errors.AsType[pricingrules.Problems](err)
	return problems
}
