package web

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
)

// PartnerNames maps ids of partners to their slugs.
type PartnerNames map[uuid.UUID]string

// NamesOfPartners reads the slugs of the partners with the given ids, except for partners that the
// user cannot see.
func (k *Request) NamesOfPartners(ids []uuid.UUID) (PartnerNames, error) {
	all, err := k.console.Partners.ByIDs(k.R.Context(), k.Scope, ids)
	names := make(PartnerNames, len(all))
	for partner, p := range all {
		names[partner] = p.Slug
	}
	return names, err
}

// Of returns the slug of a partner, or its id if the slug is missing.
func (s PartnerNames) Of(partner uuid.UUID) string {
	if name, ok := s[partner]; ok {
		return name
	}
	return id.Format(id.Partner, partner)
}

// AllPartnerNames reads the slugs of all partners, for pages that show the scopes of roles.
func (k *Request) AllPartnerNames() (PartnerNames, error) {
	all, err := k.console.Partners.List(k.R.Context(), scope.System)
	if err != nil {
		return nil, err
	}
	names := make(PartnerNames, len(all))
	for _, p := range all {
		names[p.ID] = p.Slug
	}
	return names, nil
}
