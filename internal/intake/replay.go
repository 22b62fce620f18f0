package intake

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// findTimeout limits how long a rejected post may wait for the lookup of a lead that was already
// delivered.
const findTimeout = time.Second

// findReplay handles a post that checkQuote has rejected. If the partner has already delivered a lead
// for the transaction, the post is handled as a replay of that delivery. If the quote has expired, the
// post is still rejected, but the rejection contains the lead (decisions 3, 31).
//
// If the lookup of the lead fails, the rejection must not look final, because the partner might then
// write off a lead that it is paid for. The post therefore gets a 503. If the quote has expired, the
// rejection gets a Retry-After header instead.
func (in *Intake) findReplay(ctx context.Context, p authenticated, rejection error) (PostResult, error) {
	if !p.mayHaveDelivered(rejection) {
		return PostResult{}, rejection
	}
	receipt, err := in.find(ctx, p)
	f := apperr.As(err)
	switch {
	case err == nil && errors.Is(p.quoteErr, quote.ErrExpired) && p.owner.secret == nil:
		return PostResult{}, errExpiredUnsigned
	case err == nil && errors.Is(p.quoteErr, quote.ErrExpired):
		return PostResult{}, withLead(errExpiredDelivered, receipt)
	case err == nil:
		result, err := p.result(in.Clock.Now())
		if err != nil {
			return PostResult{}, err
		}
		return in.replay(p, result, receipt)
	case f != nil && f.Code == apperr.NotFound:
		return PostResult{}, rejection
	case errors.Is(rejection, errExpired):
		return PostResult{}, errExpiredUnknown
	}
	return PostResult{}, errNotStored.WithCause(err)
}

// mayHaveDelivered reports whether findReplay must look up the lead of the transaction. It returns false
// if the payload or the transactionId is not valid, or the quote belongs to another partner. For an expired
// quote, it returns true only if the post is signed, because rejections of unsigned posts do not contain the
// lead.
func (p authenticated) mayHaveDelivered(rejection error) bool {
	switch {
	case p.payloadErr != nil, p.owner.account == nil, p.quoteErr != nil && !errors.Is(p.quoteErr, quote.ErrExpired):
		return false
	case errors.Is(rejection, errExpired):
		return p.owner.secret != nil
	}
	return p.quote.Partner == uuid.Nil || p.quote.Partner == p.owner.partner().ID
}

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

// replay handles a post for a transaction that already has a lead. If its partner and body are the same as in the first
// post, the result contains this lead. Otherwise the post gets a 409, with the lead if it is a signed post from the
// same partner (decision 3).
func (in *Intake) replay(p authenticated, result PostResult, receipt leads.Receipt) (PostResult, error) {
	own := receipt.PartnerID == p.owner.account.Partner.ID
	switch {
	case own && in.Keys.Matches(keyring.Body, p.Body, receipt.BodyDigest):
		result.Replayed = true
		return result.withReceipt(receipt), nil
	case p.owner.secret == nil:
		return PostResult{}, errDeliveredUnsigned
	case own:
		return PostResult{}, withLead(errDelivered, receipt)
	}
	return PostResult{}, errDeliveredByOther
}

// withLead adds the delivered lead to a rejection. The post must have a verified signature (decision 3).
func withLead(f *apperr.Error, r leads.Receipt) error {
	found := f.WithFields()
	found.LeadID, found.DeliveredAt = id.Format(id.Lead, r.LeadID), r.ReceivedAt
	return found
}
