package soak

import (
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// outcome is the result of a post, or the result of looking up a transaction's lead in the database.
type outcome int

const (
	unknown  outcome = iota // no response or 503, so the lead may or may not be stored
	stored                  // 200 without Idempotent-Replayed
	replayed                // 200 with Idempotent-Replayed
	conflict                // 409: a different body was posted earlier for the transaction
	found                   // at the end, the database contains a lead
	missing                 // at the end, the database does not contain a lead
)

func (o outcome) String() string {
	return [...]string{"unknown", "stored", "replayed", "conflict", "found", "missing"}[o]
}

// answer is an outcome and the lead that it refers to.
type answer struct {
	outcome outcome
	lead    string
}

// transaction is the state of one transaction: which body was stored, if any, and the lead's ID. The ID
// is "" until a response contains it.
type transaction struct {
	body int // 0 for none
	lead string
}

// model describes which responses are possible for one transaction and in which order (decision 3).
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

// never is the end time of an operation that got no response, because it may take effect at any later
// time.
const never = int64(1) << 62

// checkHistory checks one transaction's history against the model.
func checkHistory(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model.ToModel(), history, time.Minute)
}

func TestCheckHistory(t *testing.T) {
	t.Parallel()
	at := func(call, end int64, body int, o outcome, lead string) porcupine.Operation {
		return porcupine.Operation{Input: body, Output: answer{o, lead}, Call: call, Return: end}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		"delivered, then replayed":     {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, replayed, "a"), at(5, 6, 1, found, "a")}, porcupine.Ok},
		"no answer, but stored":        {[]porcupine.Operation{at(1, never, 1, unknown, ""), at(3, 4, 1, replayed, "a"), at(5, 6, 1, found, "a")}, porcupine.Ok},
		"no answer, and not stored":    {[]porcupine.Operation{at(1, never, 1, unknown, ""), at(3, 4, 1, stored, "a"), at(5, 6, 1, found, "a")}, porcupine.Ok},
		"no answer, and no lead":       {[]porcupine.Operation{at(1, never, 1, unknown, ""), at(5, 6, 0, missing, "")}, porcupine.Ok},
		"two bodies, the first wins":   {[]porcupine.Operation{at(1, 5, 1, stored, "a"), at(1, 5, 2, conflict, ""), at(6, 7, 1, found, "a")}, porcupine.Ok},
		"acknowledged and missing":     {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 0, missing, "")}, porcupine.Illegal},
		"acknowledged twice":           {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, stored, "b")}, porcupine.Illegal},
		"the same lead stored twice":   {[]porcupine.Operation{at(1, 5, 1, stored, "a"), at(1, 5, 1, stored, "a")}, porcupine.Illegal},
		"retry returns another lead":   {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, replayed, "b")}, porcupine.Illegal},
		"another lead in the database": {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 1, found, "b")}, porcupine.Illegal},
		"another body in the database": {[]porcupine.Operation{at(1, 2, 1, stored, "a"), at(3, 4, 2, found, "a")}, porcupine.Illegal},
		"replayed before it is stored": {[]porcupine.Operation{at(1, 2, 1, replayed, "a"), at(3, 4, 1, stored, "a")}, porcupine.Illegal},
		"conflict with no other body":  {[]porcupine.Operation{at(1, 2, 2, conflict, ""), at(3, 4, 1, stored, "a")}, porcupine.Illegal},
		"two bodies acknowledged":      {[]porcupine.Operation{at(1, 5, 1, stored, "a"), at(1, 5, 2, stored, "b")}, porcupine.Illegal},
		"replayed before it is posted": {[]porcupine.Operation{at(1, 2, 1, replayed, "a"), at(3, never, 1, unknown, "")}, porcupine.Illegal},
	} {
		if got := checkHistory(c.history); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
