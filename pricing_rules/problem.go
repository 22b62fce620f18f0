package pricingrules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Problem is an error in a taxonomy, a list of markets or a rate card.
type Problem struct {
	File    string
	Line    int // starting at 1, or 0 if the problem is not on one line
	Rule    int // the index in Card.Rules, or -1 if the problem is not in one rule
	Message string
}

// String starts the message with the problem's location: "rate_card.yaml:41: …" for a line in a file, or
// "rule 7: …" for the seventh rule of another card.
func (p Problem) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	case p.Rule >= 0:
		return fmt.Sprintf("rule %d: %s", p.Rule+1, p.Message)
	case p.File != "":
		return p.File + ": " + p.Message
	}
	return p.Message
}

// Problems contains all problems, in the order of the file. Functions that parse or compile return it as
// their error.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err sorts the problems and returns them as an error. It returns a nil error if there are no problems.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	ps.sort()
	return ps
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(a.Rule, b.Rule))
	})
}

// order returns the line as a sort key. Problems without a line come last.
func (p Problem) order() int {
	if p.Line == 0 {
		return math.MaxInt
	}
	return p.Line
}
