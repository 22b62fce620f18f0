// Package scope represents the partners that a caller may see.
//
// Functions that query data of partners take a Scope directly after ctx, so that every call states
// whose data it reads.
package scope

import (
	"slices"

	"github.com/google/uuid"
)

// Scope is a set of visible partners. It is immutable, and its zero value is empty.
type Scope struct {
	all      bool
	partners []uuid.UUID
}

// System includes all partners. The service itself and the command line use it.
var System = Scope{all: true}

// Everywhere includes all partners. Users with a role for all partners have this scope.
var Everywhere = Scope{all: true}

// Partners returns a scope with the given partners.
func Partners(ids ...uuid.UUID) Scope { return Scope{partners: slices.Clone(ids)} }

// All reports whether the scope includes all partners.
func (s Scope) All() bool { return s.all }

// IDs returns the partners of a scope. It returns nil if the scope includes all partners.
func (s Scope) IDs() []uuid.UUID { return slices.Clone(s.partners) }

// Allows reports whether the scope includes a partner.
func (s Scope) Allows(partner uuid.UUID) bool {
	return s.all || slices.Contains(s.partners, partner)
}
