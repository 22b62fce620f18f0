// Package scope represents the partners that a caller may see.
//
// Functions that query partners' data take a Scope as their first parameter after ctx, so that every
// call states whose data it may read.
package scope

import (
	"slices"

	"github.com/google/uuid"
)

// Scope is the set of partners whose data is visible. It is immutable. The zero value contains no
// partners.
type Scope struct {
	all      bool
	partners []uuid.UUID
}

// System includes all partners. It is for the service itself and the command line.
var System = Scope{all: true}

// Everywhere includes all partners. It is for users whose role is not limited to specific partners.
var Everywhere = Scope{all: true}

// Partners returns a scope that includes only the given partners.
func Partners(ids ...uuid.UUID) Scope { return Scope{partners: slices.Clone(ids)} }

// All reports whether the scope includes all partners.
func (s Scope) All() bool { return s.all }

// IDs returns the partners that the scope includes, or nil if it includes all partners.
func (s Scope) IDs() []uuid.UUID { return slices.Clone(s.partners) }

// Allows reports whether the scope includes a partner.
func (s Scope) Allows(partner uuid.UUID) bool {
	return s.all || slices.Contains(s.partners, partner)
}
