package soak

import (
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// outcome is what a client knows of one of its posts.
type outcome int

const (
	unknown  outcome = iota // no answer, or 503: stored or not
	stored                  // 200, for the first time
	replayed                // 200 again
	conflict                // 409: the transaction holds another body
	found                   // the last look into the database: a lead
	missing                 // the last look: none
)

func (o outcome) String() string {
	return [...]string{"unknown", "stored", "replayed", "conflict", "found", "missing"}[o]
}

// answer is an outcome with the lead that it names.
type answer struct {
	outcome outcome
	lead    string
}

// transaction is what the platform holds for one transaction: nothing, or one
// lead with the body that it came from. The lead's id is "" as long as no answer
// has told it.
type transaction struct {
	body int // 0 for none
	lead string
}

// model says which answers one transaction can give, in which order (decision 3).
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{transaction{}} },
	Step: func(state, input, output any) []any {
		return steps(state.(transaction), input.(int), output.(answer))
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("body %d: %s %s", input, output.(answer).outcome, output.(answer).lead)
	},
}

func steps(t transaction, body int, a answer) []any {
	known := t.lead == "" || t.lead == a.lead
	delivered := transaction{body, a.lead}
	switch a.outcome {
	case unknown:
		if t.body == 0 {
			return []any{t, transaction{body: body}}
		}
		return []any{t}
	case stored:
		if t.body == 0 {
			return []any{delivered}
		}
	case replayed, found:
		if t.body == body && known {
			return []any{delivered}
		}
	case conflict:
		if t.body != 0 && t.body != body {
			return []any{t}
		}
	case missing:
		if t.body == 0 {
			return []any{t}
		}
	}
	return nil
}

// never is when an operation without an answer ends: it may take effect at any
// later moment.
const never = int64(1) << 62

// judge checks one transaction's history.
func judge(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model.ToModel(), history, time.Minute)
}

// The judge finds every way in which a platform can break its promise, and lets
// pass what keeps it.
func TestJudge(t *testing.T) {
	t.Parallel()
	at := func(call, end int64, body int, o outcome, lead string) porcupine.Operation {
		return porcupine.Operation{Input: body, Output: answer{o, lead}, Call: call, Return: end}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		"delivered, and again":          {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, replayed, "a"), at(5, 6, 1, found, "a")}, porcupine.Ok},
		"no answer, but stored":         {[]porcupine.Operation{at(1, never, 1, unknown, ""), at(3, 4, 1, replayed, "a"), at(5, 6, 1, found, "a")}, porcupine.Ok},
		"no answer, and not stored":     {[]porcupine.Operation{at(1, never, 1, unknown, ""), at(3, 4, 1, stored, "a"), at(5, 6, 1, found, "a")}, porcupine.Ok},
		"no answer, and nothing":        {[]porcupine.Operation{at(1, never, 1, unknown, ""), at(5, 6, 0, missing, "")}, porcupine.Ok},
		"two bodies, the first wins":    {[]porcupine.Operation{at(1, 5, 1, stored, "a"), at(1, 5, 2, conflict, ""), at(6, 7, 1, found, "a")}, porcupine.Ok},
		"acknowledged and missing":      {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 0, missing, "")}, porcupine.Illegal},
		"acknowledged twice":            {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, stored, "b")}, porcupine.Illegal},
		"the same lead twice new":       {[]porcupine.Operation{at(1, 5, 1, stored, "a"), at(1, 5, 1, stored, "a")}, porcupine.Illegal},
		"another lead on the retry":     {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, replayed, "b")}, porcupine.Illegal},
		"another lead than the answer":  {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, found, "b")}, porcupine.Illegal},
		"another body than the answer":  {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 2, found, "a")}, porcupine.Illegal},
		"a replay of nothing":           {[]porcupine.Operation{at(1, 2, 1, replayed, "a"), at(3, 4, 1, stored, "a")}, porcupine.Illegal},
		"a conflict with nothing":       {[]porcupine.Operation{at(1, 2, 2, conflict, ""), at(3, 4, 1, stored, "a")}, porcupine.Illegal},
		"two bodies acknowledged":       {[]porcupine.Operation{at(1, 5, 1, stored, "a"), at(1, 5, 2, stored, "b")}, porcupine.Illegal},
		"a replay before it was stored": {[]porcupine.Operation{at(1, 2, 1, replayed, "a"), at(3, never, 1, unknown, "")}, porcupine.Illegal},
	} {
		if got := judge(c.history); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
