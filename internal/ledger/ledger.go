// Package ledger creates ledger entries. It is the only package that sets their signs, kinds and
// references. Entries are append-only, and a balance is the sum of its entries.
//
// A reference identifies the lead, adjustment or payment that an entry is for. For all kinds except
// accruals, the database rejects a second entry with the same partner, kind and reference. A lead has
// only one accrual, because the same SQL statement stores the lead and its accrual.
package ledger

import (
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
)

// Accrual returns the entry for a delivered lead. Its reference is the leadId, and its time is the
// time when the lead was received.
func Accrual(lead *models.Lead) models.LedgerEntry {
	return models.LedgerEntry{
		PartnerID: lead.PartnerID, AccountID: lead.AccountID, LeadID: &lead.ID,
		Kind: models.EntryAccrual, Reference: id.Format(id.Lead, lead.ID),
		AmountMinor: lead.PriceMinor, Currency: lead.Currency, OccurredAt: lead.ReceivedAt,
	}
}

// Return returns the entry that reverses a lead's accrual. Its reference is the leadId, so that a lead
// can be returned only once. Its note, which the partner sees, contains the reason for the return and,
// if there is one, the note of the user who accepted it.
func Return(r models.Return, by string, at time.Time) models.LedgerEntry {
	note := string(r.Reason)
	if r.DecisionNote != "" {
		note += ": " + r.DecisionNote
	}
	return models.LedgerEntry{
		PartnerID: r.PartnerID, AccountID: r.AccountID, LeadID: &r.LeadID,
		Kind: models.EntryReturn, Reference: id.Format(id.Lead, r.LeadID),
		AmountMinor: -r.AmountMinor, Currency: r.Currency, OccurredAt: at, Note: note, CreatedBy: by,
	}
}

// Adjustment returns the entry that increases or reduces a balance. Its reference is the id of the adjustment. The form
// contains this id, so that submitting the form twice adds only one entry.
func Adjustment(a models.Adjustment, why, by string, at time.Time) models.LedgerEntry {
	return models.LedgerEntry{
		PartnerID: a.PartnerID, AccountID: a.AccountID, LeadID: a.LeadID,
		Kind: models.EntryAdjustment, Reference: id.Format(id.Adjustment, a.ID),
		AmountMinor: a.AmountMinor, Currency: a.Currency, OccurredAt: at, Note: why, CreatedBy: by,
	}
}

// Payment returns the entry for a run's payment to an account. Its reference contains the ids of the run
// and the account, so that a run can pay an account only once. The parameter bank is the bank reference.
func Payment(run models.PayoutRun, s models.Statement, bank, by string, at time.Time) models.LedgerEntry {
	return models.LedgerEntry{
		PartnerID: s.PartnerID, AccountID: s.AccountID,
		Kind: models.EntryPayment, Reference: id.Format(id.Payout, run.ID) + "/" + id.Format(id.Account, s.AccountID),
		AmountMinor: -s.NetMinor, Currency: run.Currency, OccurredAt: at, Note: bank, CreatedBy: by,
	}
}
