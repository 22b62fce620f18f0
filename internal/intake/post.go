package intake

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/models"
)

// Post verifies a post and delivers its lead. The checks are in the order of decision 12. Post
// returns within leads.DeliverTimeout. ctx is cancelled when the client disconnects, but a delivery
// that has begun continues.
func (in *Intake) Post(ctx context.Context, req PostRequest) (PostResult, error) {
	ctx, cancel := context.WithTimeout(ctx, leads.DeliverTimeout)
	defer cancel()
	start := in.Clock.Now()
	result, who, err := in.post(ctx, req, start)
	k := who.key()
	if err != nil {
		in.recordRejection(k, req.ID, start, err)
		return PostResult{Partner: k.Partner}, err // the partner is for the log
	}
	result.Outcome = in.outcome(result, who.account)
	k.Outcome = result.Outcome
	in.Traffic.Count(k, start, in.Clock.Now().Sub(start))
	return result, nil
}

// post reads a post, finds its owner, checks its quote and stores its lead. It returns the owner
// even if it returns an error, because rejections are counted by owner.
func (in *Intake) post(ctx context.Context, req PostRequest, start time.Time) (PostResult, owner, error) {
	p, err := in.readPost(req, in.Directory.Get(), start)
	if err != nil {
		return PostResult{}, owner{base: p.base}, err
	}
	who, err := in.authenticate(ctx, p)
	if err != nil {
		return PostResult{}, who, err
	}
	if p.payloadErr != nil {
		return PostResult{}, who, p.payloadErr
	}
	ours := authenticated{p, who}
	if err := checkQuote(ours); err != nil {
		result, err := in.findReplay(ctx, ours, err)
		return result, who, err
	}
	result, err := in.deliver(ctx, ours)
	if errors.Is(err, leads.ErrInactive) {
		who.inactive = true
		err = in.rejectUnknownOwner(p)
	}
	return result, who, err
}

// checkQuote checks the format of the transactionId, then whether the account may use the quote
// (decision 5), then whether the quote has expired.
func checkQuote(p authenticated) error {
	expired := errors.Is(p.quoteErr, quote.ErrExpired)
	if p.quoteErr != nil && !expired {
		return errTransactionID
	}
	partner := p.owner.account.Partner
	switch {
	case p.quote.Partner != uuid.Nil && p.quote.Partner != partner.ID,
		p.quote.Partner == uuid.Nil && partner.Price.InEffect(p.quote.IssuedAt()),
		p.quote.Sandbox && !p.owner.account.Sandbox:
		return errQuoteOwner
	case expired:
		return errExpired
	}
	return nil
}

func (in *Intake) outcome(r PostResult, account *partners.Account) string {
	reportOnly := account.Mode(in.settings.DefaultMode) == models.SigningReportOnly
	switch {
	case r.HMACVerified && r.Replayed:
		return string(models.OutcomeReplayed)
	case r.HMACVerified:
		return string(models.OutcomeDelivered)
	case reportOnly && r.Replayed:
		return string(models.OutcomeReplayedReportOnly)
	case reportOnly:
		return string(models.OutcomeDeliveredReportOnly)
	case r.Replayed:
		return string(models.OutcomeReplayedUnsigned)
	}
	return string(models.OutcomeDeliveredUnsigned)
}
