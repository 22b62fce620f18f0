// Package scope says what a caller may see: every partner, or a named few.
//
// Each query on rows that belong to a partner takes a Scope right after ctx, so
// that a missing restriction is visible where the call is made.
package scope

import (
	"slices"

	"github.com/google/uuid"
)

// Scope is immutable. Its zero value sees nothing.
type Scope struct {
	all      bool
	partners []uuid.UUID
}

// System sees everything. Name it where it is used: the service acting for
// itself, or an operator at the command line.
var System = Scope{all: true}

// Everywhere sees as much: of a person whose role holds at every partner.
var Everywhere = Scope{all: true}

// Partners sees the named partners' rows and no others.
func Partners(ids ...uuid.UUID) Scope { return Scope{partners: slices.Clone(ids)} }

// All reports whether the scope has no restriction.
func (s Scope) All() bool { return s.all }

// IDs lists the partners of a restricted scope.
func (s Scope) IDs() []uuid.UUID { return slices.Clone(s.partners) }

// Allows reports whether rows of this partner may be seen.
func (s Scope) Allows(partner uuid.UUID) bool {
	return s.all || slices.Contains(s.partners, partner)
}
