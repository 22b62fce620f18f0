package partners

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// PingDirectory is the part of a Directory that pings need. It contains no secrets and no caps.
// Caps do not apply when the database is unavailable (decision 29).
type PingDirectory []ExcerptPartner

// ExcerptPartner is a partner in a PingDirectory.
type ExcerptPartner struct {
	ID     uuid.UUID
	Slug   string
	Status models.PartnerStatus
	// HasAccount reports whether there is a default account. AccountActive and Sandbox describe
	// that account.
	HasAccount, AccountActive, Sandbox bool
	Price                              *pricingrules.PartnerPricing
}

// Excerpt returns the part of the directory that pings need.
func (d *Directory) Excerpt() PingDirectory {
	e := make(PingDirectory, 0, len(d.byID))
	for _, p := range d.byID {
		x := ExcerptPartner{ID: p.ID, Slug: p.Slug, Status: p.Status}
		if a := p.Default; a != nil {
			x.HasAccount, x.AccountActive, x.Sandbox = true, a.active, a.Sandbox
		}
		if p.Price != nil {
			x.Price = &p.Price.PartnerPricing
		}
		e = append(e, x)
	}
	return e
}

// Directory returns a Directory that can serve only pings.
func (e PingDirectory) Directory() *Directory {
	d := newDirectory()
	d.forPings = true
	for _, x := range e {
		p := &Partner{ID: x.ID, Slug: x.Slug, Status: x.Status}
		if x.HasAccount {
			p.Default = &Account{Partner: p, Sandbox: x.Sandbox, active: x.AccountActive}
		}
		if x.Price != nil {
			p.Price = &Price{PartnerPricing: *x.Price}
		}
		d.bySlug[p.Slug], d.byID[p.ID] = p, p
	}
	return d
}

// ServesPosts reports whether the directory can serve posts. A directory that was built from a
// PingDirectory cannot, because it has no account identifiers and no secrets.
func (d *Directory) ServesPosts() bool { return !d.forPings }
