package pricingrules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Problem is an error in a taxonomy, a list of markets or a rate card. Line counts from 1 and is 0 if the
// problem has no line. Rule is the index in Card.Rules, -1 if the problem is not in one rule.
type Problem struct {
	File    string
	Line    int
	Rule    int
	Message string
}

// String returns "rate_card.yaml:41: …" for a rule from a file and "rule 7: …", counted from 1, for other
// rules.
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

// Problems holds all problems, in the order of the file. It is the error type of the functions that parse
// and compile.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err sorts the problems and returns them as an error. It returns nil if there are none, because an error
// that holds empty Problems is not nil.
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

// order sorts problems of the whole file after problems with a line.
func (p Problem) order() int {
	if p.Line == 0 {
		return math.MaxInt
	}
	return p.Line
}
