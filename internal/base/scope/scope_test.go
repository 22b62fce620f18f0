package scope

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

func TestScopeAllows(t *testing.T) {
	one, two, other := uuid.New(), uuid.New(), uuid.New()
	for _, c := range []struct {
		name  string
		scope Scope
		all   bool
		sees  []uuid.UUID
	}{
		{"zero value", Scope{}, false, nil},
		{"no partners", Partners(), false, nil},
		{"one partner", Partners(one), false, []uuid.UUID{one}},
		{"two partners", Partners(one, two), false, []uuid.UUID{one, two}},
		{"system", System, true, []uuid.UUID{one, two, other, uuid.Nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.scope.All() != c.all {
				t.Errorf("All() = %t, want %t", c.scope.All(), c.all)
			}
			for _, partner := range []uuid.UUID{one, two, other, uuid.Nil} {
				if want := slices.Contains(c.sees, partner); c.scope.Allows(partner) != want {
					t.Errorf("Allows(%s) = %t, want %t", partner, !want, want)
				}
			}
			if ids := c.scope.IDs(); !c.all && !slices.Equal(ids, c.sees) {
				t.Errorf("IDs() = %v, want %v", ids, c.sees)
			}
		})
	}
}

// If a caller changes a slice that it passed to a scope or received from one, the scope must stay the
// same.
func TestScopeIsImmutable(t *testing.T) {
	one, other := uuid.New(), uuid.New()
	given := []uuid.UUID{one}
	s := Partners(given...)
	given[0] = other
	s.IDs()[0] = other
	if s.Allows(other) || !s.Allows(one) {
		t.Error("changing a slice changed the scope")
	}
}
