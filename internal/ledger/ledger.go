// Package ledger makes the entries that move money. Their signs, kinds and
// references are decided here and nowhere else; the entries are append-only and
// what is owed to a partner is always their sum.
//
// A reference names what an entry is for, once in a partner's entries of a kind: the
// same thing done twice is refused by the database.
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
func Accrual(lead *models.Lead) models.LedgerEntry {
	return models.LedgerEntry{
		PartnerID: lead.PartnerID, AccountID: lead.AccountID, LeadID: &lead.ID,
		Kind: models.EntryAccrual, Reference: id.Format(id.Lead, lead.ID),
		AmountMinor: lead.PriceMinor, Currency: lead.Currency, OccurredAt: lead.ReceivedAt,
	}
}

// Return takes back what a lead had earned. Its reference is the leadId as well, so
// that a lead can be returned once only. Its note, which the partner reads, is the reason
// and the answer.
func Return(r models.Return, by string, at time.Time) models.LedgerEntry {
	note := string(r.Reason)
	if r.Answer != "" {
		note += ": " + r.Answer
	}
	return models.LedgerEntry{
		PartnerID: r.PartnerID, AccountID: r.AccountID, LeadID: &r.LeadID,
		Kind: models.EntryReturn, Reference: id.Format(id.Lead, r.LeadID),
		AmountMinor: -r.AmountMinor, Currency: r.Currency, OccurredAt: at, Note: note, MadeBy: by,
	}
}

// Adjustment corrects what is owed, up or down, and says why. Its reference is its own:
// the form that it is made with carries it, so that sending the form twice adjusts once.
// lead is nil for what is not about one lead.
func Adjustment(
	partner, account uuid.UUID, lead *uuid.UUID, amount money.Amount, own uuid.UUID, why, by string, at time.Time,
) models.LedgerEntry {
	return models.LedgerEntry{
		PartnerID: partner, AccountID: account, LeadID: lead,
		Kind: models.EntryAdjustment, Reference: id.Format(id.Adjustment, own),
		AmountMinor: amount.Minor, Currency: amount.Currency.String(), OccurredAt: at, Note: why, MadeBy: by,
	}
}

// Payment is what a run pays an account. Its reference names run and account: a run
// pays an account once only.
func Payment(run models.PayoutRun, s models.Statement, bank, by string, at time.Time) models.LedgerEntry {
	return models.LedgerEntry{
		PartnerID: s.PartnerID, AccountID: s.AccountID,
		Kind: models.EntryPayment, Reference: id.Format(id.Payout, run.ID) + "/" + id.Format(id.Account, s.AccountID),
		AmountMinor: -s.NetMinor, Currency: run.Currency, OccurredAt: at, Note: bank, MadeBy: by,
	}
}
