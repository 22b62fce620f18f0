package intake

import (
	"context"
	"errors"
	"time"

	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/sealed"
)

// locateWithin bounds what a refusal waits for the lead that it may name.
const locateWithin = time.Second

// replay answers a post on a transaction that holds a lead already: the post
// that stored it gets its answer again, any other the 409 (D3).
func (in *Intake) replay(p *post, result PostResult, receipt leads.Receipt) (PostResult, error) {
	if receipt.PartnerID != result.Partner {
		return PostResult{}, errDelivered
	}
	if !in.Keys.Matches(sealed.Body, p.Body, receipt.BodyDigest) {
		return PostResult{}, p.withLead(errDelivered, receipt)
	}
	result.Replayed = true
	return result.of(receipt), nil
}

// findAgain judges a post on a quote that names nobody, of a partner with prices
// of its own. What the partner delivered before it had them is answered as on any
// delivered transaction (D3); on all else the refusal stands (D5).
//
// When the database cannot say which it is, the post gets the 503 that a delivery
// would get, and never the refusal: to a partner that is final, and a lead that
// is stored and paid for would be written off. The same post again tells.
func (in *Intake) findAgain(ctx context.Context, p *post, refusal error) (PostResult, error) {
	gate := in.gate(p)
	if !gate.enter(ctx) {
		return PostResult{}, errStoring
	}
	defer gate.leave()
	receipt, err := in.Leads.Find(ctx, scope.Partners(p.owner.account.Partner.ID), p.quote.ID)
	if f := fault.As(err); f != nil && f.Code == fault.NotFound {
		return PostResult{}, refusal
	}
	if err != nil {
		return PostResult{}, errStoring.WithCause(err)
	}
	if errors.Is(p.quoteErr, quote.ErrExpired) { // judged first (D3)
		return PostResult{}, p.withLead(errExpired, receipt)
	}
	result, err := in.result(p)
	if err != nil {
		return PostResult{}, err
	}
	return in.replay(p, result, receipt)
}

// locate adds the lead to a refusal of its own transaction. When the database
// cannot say, the refusal stands as it is.
func (in *Intake) locate(ctx context.Context, p *post, refusal error) error {
	f := fault.As(refusal)
	if f == nil || f.Code != fault.Expired || p.owner.secret == nil {
		return refusal
	}
	ctx, cancel := context.WithTimeout(ctx, locateWithin)
	defer cancel()
	receipt, err := in.Leads.Find(ctx, scope.Partners(p.owner.account.Partner.ID), p.quote.ID)
	if err != nil {
		return refusal
	}
	return p.withLead(f, receipt)
}

// withLead adds the lead of this post's partner to a refusal, if the post proved
// to be that partner's (D3).
func (p *post) withLead(f *fault.Error, r leads.Receipt) error {
	if p.owner.secret == nil {
		return f
	}
	found := f.WithFields()
	found.LeadID, found.DeliveredAt = leadID(r.LeadID), r.ReceivedAt
	return found
}
