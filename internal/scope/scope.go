// Package scope limits what a caller can see to all partners or to some of them.
//
// Each query for rows of partners takes a Scope directly after ctx, so that a missing limit
// is visible in the call.
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

// System includes all partners. It is for the service itself and for the command line.
var System = Scope{all: true}

// Everywhere includes all partners. It is for users whose role is not limited to some partners.
var Everywhere = Scope{all: true}

// Partners returns a scope of the given partners.
func Partners(ids ...uuid.UUID) Scope { return Scope{partners: slices.Clone(ids)} }

// All reports whether the scope includes all partners.
func (s Scope) All() bool { return s.all }

// IDs returns the partners of a scope that does not include all.
func (s Scope) IDs() []uuid.UUID { return slices.Clone(s.partners) }

// Allows reports whether the scope includes a partner.
func (s Scope) Allows(partner uuid.UUID) bool {
	return s.all || slices.Contains(s.partners, partner)
}
