package intake

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
)

// findWithin bounds what a rejection waits for the lead that it may name.
const findWithin = time.Second

// replay answers a post on a transaction that holds a lead already: the post
// that stored it gets its answer again, any other the 409 (D3).
func (in *Intake) replay(p *post, result PostResult, receipt leads.Receipt) (PostResult, error) {
	if receipt.PartnerID != result.Partner {
		return PostResult{}, errDelivered
	}
	if !in.Keys.Matches(keyring.Body, p.Body, receipt.BodyDigest) {
		return PostResult{}, p.withLead(errDelivered, receipt)
	}
	result.Replayed = true
	return result.of(receipt), nil
}

// findReplay answers a post that the check of its quote rejects. If its partner has
// delivered a lead on the transaction, the answer is that of any delivered
// transaction, whatever has changed since; expiry keeps its precedence (D3, D31).
//
// A partner treats "Invalid transactionId format" as final. When the database
// cannot say whether there is a lead, the post gets the 503 of a delivery instead,
// so that a paid lead is not written off. "Transaction has expired" is true either
// way and is sent without the lead, with a Retry-After because it is not the last
// word.
func (in *Intake) findReplay(ctx context.Context, p *post, rejection error) (PostResult, error) {
	if !p.mayHaveDelivered(rejection) {
		return PostResult{}, rejection
	}
	receipt, err := in.find(ctx, p)
	f := apperr.As(err)
	switch {
	case err == nil && errors.Is(p.quoteErr, quote.ErrExpired):
		return PostResult{}, p.withLead(errExpired, receipt)
	case err == nil:
		result, err := in.result(p)
		if err != nil {
			return PostResult{}, err
		}
		return in.replay(p, result, receipt)
	case f != nil && f.Code == apperr.NotFound:
		return PostResult{}, rejection
	case errors.Is(rejection, errExpired):
		return PostResult{}, errExpired.Retry(retryAfter)
	}
	return PostResult{}, errStoring.WithCause(err)
}

// mayHaveDelivered reports whether a lead could change the rejection: not if the
// quote was made for another partner or is not one, and not if it has expired and
// the post is unsigned, because only a verified post learns its lead.
func (p *post) mayHaveDelivered(rejection error) bool {
	switch {
	case errors.Is(rejection, errTransactionID):
		return false
	case errors.Is(rejection, errExpired):
		return p.owner.secret != nil
	}
	return p.quote.Partner == uuid.Nil || p.quote.Partner == p.owner.account.Partner.ID
}

// find reads the lead that the post's partner has delivered on the transaction.
func (in *Intake) find(ctx context.Context, p *post) (leads.Receipt, error) {
	gate := in.admission(p)
	if !gate.enter(ctx) {
		return leads.Receipt{}, errStoring
	}
	defer gate.leave()
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	return in.Leads.Find(ctx, scope.Partners(p.owner.account.Partner.ID), p.quote.ID)
}

// withLead adds the lead of this post's partner to a refusal, if the post proved
// to be that partner's (D3).
func (p *post) withLead(f *apperr.Error, r leads.Receipt) error {
	if p.owner.secret == nil {
		return f
	}
	found := f.WithFields()
	found.LeadID, found.DeliveredAt = leadID(r.LeadID), r.ReceivedAt
	return found
}
