package intake

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

// Post verifies a post and delivers its lead. The checks are in the order of decision 12. Post
// returns within leads.DeliverTimeout. ctx is cancelled when the client disconnects, but a delivery
// that has begun continues.
func (in *Intake) Post(ctx context.Context, req PostRequest) (PostResult, error) {
	ctx, cancel := context.WithTimeout(ctx, leads.DeliverTimeout)
	defer cancel()
	start := in.Clock.Now()
	result, sender, err := in.process(ctx, req, start)
	r := loggedRequest{TrafficKey: sender.key(), id: req.ID, at: start}
	if err != nil {
		r.wrong = in.newWrongSignature(req, sender, start, err)
		in.logRejection(r, err)
		return PostResult{Partner: r.Partner}, err // the partner is for the access log
	}
	result.Outcome = in.outcome(result, sender.account)
	in.recordPost(r, result)
	return result, nil
}

// process reads a post, finds its owner, checks its quote and stores its lead. It returns the owner
// even if it returns an error, because rejections are counted by owner.
func (in *Intake) process(ctx context.Context, req PostRequest, start time.Time) (PostResult, owner, error) {
	p, result, err := in.check(ctx, req, in.Directory.Get(), start)
	sender := p.owner
	if err != nil || result.Replayed {
		return result, sender, err
	}
	result, err = in.deliver(ctx, p)
	switch {
	case errors.Is(err, leads.ErrInactiveSecret):
		err = signing.ErrSignature.WithReason(string(models.OutcomeInactive))
	case errors.Is(err, leads.ErrInactive) && sender.secret == nil:
		err = in.rejectUnsigned(sender)
	case errors.Is(err, leads.ErrInactive):
		err = p.inactive()
	}
	return result, sender, err
}

// check makes all checks of a post except those that the database makes when it stores the lead. If another check
// fails, but the partner has already delivered the lead, the result is a replay.
func (in *Intake) check(
	ctx context.Context, req PostRequest, d *partners.Directory, start time.Time,
) (p authenticated, result PostResult, err error) {
	if p.post, err = in.newPost(req, d, start); err != nil {
		p.owner.basePartner = p.basePartner
		return p, result, err
	}
	if p.owner, err = in.authenticate(ctx, p.post); err != nil {
		return p, result, err
	}
	if p.payloadErr == nil && p.quoteErr == nil {
		p.payload.Complete(p.leadCountry(), p.quote.IssuedAt())
	}
	if err = p.validate(); err != nil {
		result, err = in.findReplay(ctx, p, err)
	}
	return p, result, err
}

// newPost parses a post before its signature is checked, because the payload identifies the partner
// whose secret is needed. Errors in the payload are stored in the post and reported only after the
// signature check (decision 12).
func (in *Intake) newPost(req PostRequest, d *partners.Directory, start time.Time) (post, error) {
	p := post{PostRequest: req, start: start, directory: d}
	if d == nil || !d.ServesPosts() {
		return p, errNotStored // the database has been unavailable since the node started
	}
	var err error
	if p.basePartner, err = findBasePartner(d, req.Slug); err != nil {
		return p, err
	}
	if p.claim, p.claimErr = signing.Check(req.Headers, start); p.claimErr != nil && p.claim.Signed {
		return p, p.claimErr
	}
	if in.admission(p.claim).full() {
		return p, errNotStored // overloaded; reject before parsing
	}
	card := in.Card.Get()
	if card == nil {
		return p, errNotStored // a starting node loads the rate card last
	}
	p.taxonomy = card.Taxonomy
	in.parse(&p)
	return p, nil
}

// parse parses the body of a post and opens its quote.
func (in *Intake) parse(p *post) {
	p.payload, p.payloadErr = payload.ParsePost(p.Body)
	p.payloadErr = payload.WithContentEncoding(p.payloadErr, p.ContentEncoding)
	p.quote, p.quoteErr = in.Quotes.Open(p.payload.TransactionID, p.start)
	p.payload.InheritTags(p.quote.Reference, p.quote.SubID)
}

// validate checks the payload, then the quote, then whether the account and its partner are active
// (decisions 12, 59). On the shared base URL, an inactive account hides all other errors except expiry.
func (p authenticated) validate() error {
	err := p.checkPayload()
	if err == nil {
		err = p.checkQuote()
	}
	hidden := p.owner.basePartner == nil && !errors.Is(err, errExpired)
	if !p.owner.active() && (err == nil || hidden) {
		return p.inactive()
	}
	return err
}

// checkPayload returns the errors in the payload. One of them can be that the partnerId is not one of the
// partner's accounts.
func (p authenticated) checkPayload() error {
	if p.owner.account != nil || p.payload.PartnerID == "" || errors.Is(p.payloadErr, payload.ErrJSON) {
		return p.payloadErr
	}
	fields := []apperr.Field{notAnAccount(
		"is not one of your accounts. Send the partnerId of one of your accounts, or leave it out")}
	if f := apperr.As(p.payloadErr); f != nil {
		for _, field := range f.Fields {
			if field.Path[0] != "partnerId" { // such as one that is too long
				fields = append(fields, field)
			}
		}
	}
	return payload.ErrInvalidPost.WithReason(string(models.OutcomeUnknownAccount)).WithFields(fields...)
}

// checkQuote checks the format of the transactionId, then whether the account may use the quote
// (decision 5), then whether the quote has expired.
func (p authenticated) checkQuote() error {
	expired := errors.Is(p.quoteErr, quote.ErrExpired)
	if p.quoteErr != nil && !expired {
		return errTransactionID
	}
	partner, account := p.owner.partner(), p.owner.account
	switch {
	case p.quote.Partner != uuid.Nil && p.quote.Partner != partner.ID,
		p.quote.Partner == uuid.Nil && partner.Price.InEffect(p.quote.IssuedAt()),
		p.quote.Sandbox && account != nil && !account.Sandbox:
		return errQuoteOwner
	case expired && p.owner.secret == nil:
		return errExpiredUnsigned
	case expired:
		return errExpired
	}
	return nil
}

// inactive returns the error for a signed post whose account or partner is not active. On the shared base
// URL, the response is the same as for an unknown partner.
func (p authenticated) inactive() error {
	if p.owner.basePartner == nil {
		return signing.ErrSignature.WithReason(string(models.OutcomeInactive))
	}
	return errInactive
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

// recordPost counts an accepted post. It logs the post if it is a replay. For a delivered post, it records only the
// duration, because the rows of its lead contain everything else.
func (in *Intake) recordPost(r loggedRequest, result PostResult) {
	r.Outcome, r.status, r.lead = result.Outcome, 200, result.LeadID
	in.count(&r)
	if result.Replayed {
		in.Traffic.log(r)
	} else {
		in.Traffic.addDuration(postDuration{r.id, r.took})
	}
}
