package web

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
)

// PartnerNames are partners' short names by partner id.
type PartnerNames map[uuid.UUID]string

// NamesOfPartners reads the short names of partners, as far as the user may see them.
func NamesOfPartners(k *Request, ids []uuid.UUID) (PartnerNames, error) {
	all, err := k.console.Partners.ByIDs(k.R.Context(), k.Scope, ids)
	names := make(PartnerNames, len(all))
	for partner, p := range all {
		names[partner] = p.Slug
	}
	return names, err
}

// Of returns a partner's short name, or its id if the name was not read.
func (s PartnerNames) Of(partner uuid.UUID) string {
	if name, ok := s[partner]; ok {
		return name
	}
	return id.Format(id.Partner, partner)
}

// AllPartnerNames reads the short names of all partners, for pages about roles.
func AllPartnerNames(k *Request) (PartnerNames, error) {
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
