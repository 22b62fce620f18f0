package intake

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
)

// findTimeout bounds what a rejection waits for the lead that it may name.
const findTimeout = time.Second

// findReplay answers a post that the check of its quote rejects. If its partner has
// delivered a lead on the transaction, the answer is that of any delivered
// transaction, whatever has changed since; expiry keeps its precedence (decisions 3, 31).
//
// A partner treats "Invalid transactionId format" as final. When the database
// cannot say whether there is a lead, the post gets the 503 of a delivery instead,
// so that a paid lead is not written off. "Transaction has expired" is true either
// way and is sent without the lead, with a Retry-After because it is not the last
// word.
func (in *Intake) findReplay(ctx context.Context, p authenticated, rejection error) (PostResult, error) {
	if !p.mayHaveDelivered(rejection) {
		return PostResult{}, rejection
	}
	receipt, err := in.find(ctx, p)
	f := apperr.As(err)
	switch {
	case err == nil && errors.Is(p.quoteErr, quote.ErrExpired):
		return PostResult{}, withDeliveredLead(errExpired, p.owner, receipt)
	case err == nil:
		result, err := in.newResult(p)
		if err != nil {
			return PostResult{}, err
		}
		return in.replay(p, result, receipt)
	case f != nil && f.Code == apperr.NotFound:
		return PostResult{}, rejection
	case errors.Is(rejection, errExpired):
		return PostResult{}, errExpired.Retry(retryAfter)
	}
	return PostResult{}, errNotStored.WithCause(err)
}

// mayHaveDelivered reports whether a lead could change the rejection: not if the
// quote was made for another partner or is not one, and not if it has expired and
// the post is unsigned, because only a verified post learns its lead.
func (p authenticated) mayHaveDelivered(rejection error) bool {
	switch {
	case errors.Is(rejection, errTransactionID):
		return false
	case errors.Is(rejection, errExpired):
		return p.owner.secret != nil
	}
	return p.quote.Partner == uuid.Nil || p.quote.Partner == p.owner.account.Partner.ID
}

// find reads the lead that the post's partner has delivered on the transaction.
func (in *Intake) find(ctx context.Context, p authenticated) (leads.Receipt, error) {
	gate := in.admission(p.claim)
	if !gate.enter(ctx) {
		return leads.Receipt{}, errNotStored
	}
	defer gate.leave()
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	return in.Leads.Find(ctx, scope.Partners(p.owner.account.Partner.ID), p.quote.ID)
}

// replay answers a post on a transaction that holds a lead already: the post
// that stored it gets its answer again, any other the 409 (decision 3).
func (in *Intake) replay(p authenticated, result PostResult, receipt leads.Receipt) (PostResult, error) {
	if receipt.PartnerID != p.owner.account.Partner.ID {
		return PostResult{}, errDelivered
	}
	if !in.Keys.Matches(keyring.Body, p.Body, receipt.BodyDigest) {
		return PostResult{}, withDeliveredLead(errDelivered, p.owner, receipt)
	}
	result.Replayed = true
	return result.withReceipt(receipt), nil
}

// withDeliveredLead adds the lead that the post's owner has delivered to a rejection, if the
// post proved to be that owner's (decision 3).
func withDeliveredLead(f *apperr.Error, who owner, r leads.Receipt) error {
	if who.secret == nil {
		return f
	}
	found := f.WithFields()
	found.LeadID, found.DeliveredAt = id.Format(id.Lead, r.LeadID), r.ReceivedAt
	return found
}
