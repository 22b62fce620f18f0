package web

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
)

// Slugs are partners' names by their ids, for roles that hold at some.
type Slugs map[uuid.UUID]string

// PartnerNames are the names of the partners of a page.
func (k *Request) PartnerNames(ids []uuid.UUID) (Slugs, error) {
	all, err := k.console.Partners.Named(k.R.Context(), k.Scope, ids)
	names := make(Slugs, len(all))
	for partner, p := range all {
		names[partner] = p.Slug
	}
	return names, err
}

func (s Slugs) Of(partner uuid.UUID) string {
	if name, ok := s[partner]; ok {
		return name
	}
	return id.Format(id.Partner, partner)
}

// Slugs reads the partners' names, which roles are given for.
func (k *Request) Slugs() (Slugs, error) {
	all, err := k.console.Partners.List(k.R.Context(), scope.System) // names alone, for people who look after roles
	if err != nil {
		return nil, err
	}
	names := make(Slugs, len(all))
	for _, p := range all {
		names[p.ID] = p.Slug
	}
	return names, nil
}
