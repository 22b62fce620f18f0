package pricingrules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a taxonomy, a list of markets or a
// rate card. Line counts from 1; it is 0 when the problem has no place in a file.
// Rule is the position in Card.Rules, -1 when the problem is not one rule's.
type Problem struct {
	File    string
	Line    int
	Rule    int
	Message string
}

// String is "rate_card.yaml:41: …" for a rule read from a file and "rule 7: …",
// counted from 1, for one that was not.
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

// Problems is every problem that was found, in the order of the file. It is the
// error of all that reads or compiles here; errors.As finds it.
type Problems []Problem

// Error has one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err sorts the problems and returns them as an error, nil when there are none:
// an empty Problems in an error would not be nil.
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

// order puts what belongs to the whole file after what belongs to a line.
func (p Problem) order() int {
	if p.Line == 0 {
		return math.MaxInt
	}
	return p.Line
}
