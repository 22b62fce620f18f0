// Package ledger makes the entries that move money. Their signs, kinds and
// references are decided here and nowhere else; the entries are append-only and
// what is owed to a partner is always their sum.
package ledger

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/models"
)

// Accrual is what a delivered lead earns its partner. Its reference is the
// leadId, so that a lead can earn once only.
func Accrual(partner, account, lead uuid.UUID, payout money.Amount, at time.Time) models.LedgerEntry {
	return models.LedgerEntry{
		PartnerID: partner, AccountID: account, LeadID: &lead,
		Kind: models.EntryAccrual, Reference: id.Format(id.Lead, lead),
		AmountMinor: payout.Minor, Currency: payout.Currency.String(), OccurredAt: at,
	}
}
