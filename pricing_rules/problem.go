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
	Line    int // the line, counted from 1; 0 if the problem does not belong to one line
	Rule    int // the index in Card.Rules; -1 if the problem does not belong to one rule
	Message string
}

// String returns the message, preceded by the problem's location: "rate_card.yaml:41: …" if the problem
// is on a line of a file, or "rule 7: …" if it is in the seventh rule of a card that has no file.
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

// Problems is a list of all problems, in the order of their lines. Functions that parse or compile
// return it as their error.
type Problems []Problem

// Error describes each problem on a line of its own.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is the maximum number of problems that are collected while a file is read. A file can be
// wrong in millions of places.
const maxProblems = 1000

// add adds a problem. If there are too many, it adds a message that says so instead.
func (ps *Problems) add(p Problem) {
	switch {
	case !ps.full():
		*ps = append(*ps, p)
	case len(*ps) == maxProblems:
		*ps = append(*ps, Problem{File: p.File, Rule: -1, Message: "there are more problems; fix these first"})
	}
}

// full reports whether the rest of the file need not be read.
func (ps *Problems) full() bool { return len(*ps) >= maxProblems }

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

func (p Problem) order() int {
	if p.Line == 0 {
		return math.MaxInt
	}
	return p.Line
}
