package partners

import "github.com/pingpost/pingpost/models"

// NewDirectory returns a directory of partners and accounts without a database.
func NewDirectory(partners []models.Partner, accounts []models.Account) *Directory {
	d := newDirectory()
	for _, row := range partners {
		d.addPartner(row)
	}
	for _, row := range accounts {
		d.addAccount(row)
	}
	return d
}

// FoldAt makes Count add ledger entries to daily_lead_counts once it finds n entries.
func (c *Caps) FoldAt(n int) { c.foldAt = n }

// RollUpLimit is the maximum number of ledger entries that a count reads.
const RollUpLimit = rollUpLimit

// Constraints maps the schema's constraints to errors.
var Constraints = constraints
