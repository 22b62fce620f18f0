package intake

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/sealed"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
)

// Outcomes of an accepted post, and what is added to that of an unsigned one:
// what a partner would lose if signing were required, and under report_only has
// asked to be told (D14).
const (
	outcomeDelivered = "delivered"
	outcomeReplayed  = "replayed"
	andUnsigned      = "_unsigned"
	andToBeRefused   = "_would_be_refused"
)

// locateWithin bounds what a refusal waits for the lead that it may name.
const locateWithin = time.Second

// PostRequest is a post as it arrived. Body is not kept.
type PostRequest struct {
	ID      uuid.UUID
	Slug    string // of the base URL; "" for the shared address
	Address string // of the client, for the budget of failed matches
	Headers signing.Headers
	Body    []byte
}

// PostResult is the answer to an accepted post.
type PostResult struct {
	LeadID        uuid.UUID
	Payout        money.Amount
	TransactionID string
	HMACVerified  bool
	Replayed      bool
	Outcome       string
	Envelope      envelope.Envelope // without the salt
	Quote         quote.Quote
	Industry      string
	Partner       uuid.UUID
	Timing        Timing
}

// Post verifies a post and delivers its lead, in the order of D12. ctx ends
// with the client's connection; a commit under way is not undone by that.
func (in *Intake) Post(ctx context.Context, req PostRequest) (PostResult, error) {
	start := in.Clock.Now()
	p := post{PostRequest: req, start: start}
	result, err := in.post(ctx, &p)
	k := Key{Endpoint: EndpointPost}
	switch {
	case p.owner.account != nil:
		k.Partner, k.Account = p.owner.account.Partner.ID, p.owner.account.ID
	case p.owner.base != nil:
		k.Partner = p.owner.base.ID
	}
	if p.owner.secret != nil {
		k.Secret = p.owner.secret.ID
	}
	if err != nil {
		in.refused(k, req.ID, start, err)
		return PostResult{Partner: k.Partner}, err // whose refusal it was, for the log
	}
	result.Outcome = in.outcome(result, p.owner.account)
	k.Outcome = result.Outcome
	in.Traffic.Count(k, start, in.Clock.Now().Sub(start))
	return result, nil
}

// outcome names how a post was accepted.
func (in *Intake) outcome(r PostResult, account *partners.Account) string {
	outcome := outcomeDelivered
	if r.Replayed {
		outcome = outcomeReplayed
	}
	switch {
	case r.HMACVerified:
		return outcome
	case account.Mode(in.settings.DefaultMode) == models.SigningReportOnly:
		return outcome + andToBeRefused
	}
	return outcome + andUnsigned
}

// post is a request on its way, with what has been learnt of it.
type post struct {
	PostRequest
	start    time.Time
	claim    signing.Claim
	payload  payload.Post
	quote    quote.Quote
	quoteErr error
	owner    owner
}

func (in *Intake) post(ctx context.Context, p *post) (PostResult, error) {
	base, err := base(in.Directory.Get(), p.Slug)
	if err != nil {
		return PostResult{}, err
	}
	p.owner.base = base
	var claimErr error
	if p.claim, claimErr = signing.Check(p.Headers, p.start); claimErr != nil && p.claim.Signed {
		return PostResult{}, claimErr
	}
	// Parsed before the signature is checked, to learn whose secret to check it
	// with; what is wrong with the payload is told only after (D12).
	var payloadErr error
	p.payload, payloadErr = payload.ParsePost(p.Body)
	p.quote, p.quoteErr = in.Quotes.Open(p.payload.TransactionID, p.start)

	if err := in.authenticate(ctx, p, claimErr); err != nil {
		return PostResult{}, err
	}
	if payloadErr != nil {
		return PostResult{}, payloadErr
	}
	if err := in.checkQuote(p); err != nil {
		return PostResult{}, in.locate(ctx, p, err)
	}
	return in.deliver(ctx, p)
}

// authenticate decides whose post it is, whether it must be signed, and whether
// the signature is right.
func (in *Intake) authenticate(ctx context.Context, p *post, unsignedClaim error) error {
	if err := in.findOwner(ctx, p); err != nil {
		return err
	}
	if p.claim.Signed {
		if p.owner.secret == nil {
			p.owner.secret = p.owner.account.Partner.Verify(p.claim, p.Body, p.start)
		}
		if p.owner.secret == nil {
			return signing.ErrSignature
		}
		return nil
	}
	if in.required(p.owner.account.Mode(in.settings.DefaultMode)) {
		return signing.ErrNoSignature
	}
	return unsignedClaim
}

// checkQuote judges the transactionId, then whether this account may use it
// (D5), then its age.
func (in *Intake) checkQuote(p *post) error {
	expired := errors.Is(p.quoteErr, quote.ErrExpired)
	if p.quoteErr != nil && !expired {
		return errTransactionID
	}
	partner := p.owner.account.Partner
	switch {
	case p.quote.Partner != uuid.Nil && p.quote.Partner != partner.ID,
		p.quote.Partner == uuid.Nil && partner.Price != nil,
		p.quote.Sandbox && !p.owner.account.Sandbox:
		return errQuoteOwner
	case expired:
		return errExpired
	}
	return nil
}

// locate adds the lead to a refusal of its own transaction, for the partner
// that delivered it and proved to be that partner (D3). When the database
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
	return withLead(f, receipt)
}

// deliver stores the lead, or finds that its transaction holds one already.
func (in *Intake) deliver(ctx context.Context, p *post) (PostResult, error) {
	if !in.storing.enter(ctx) {
		return PostResult{}, errStoring
	}
	defer in.storing.leave()
	ctx = context.WithoutCancel(ctx)

	industry, ok := in.Card.Get().Taxonomy.ByTermID(p.quote.TermID)
	if !ok {
		return PostResult{}, fault.New(fault.Internal, "taxonomy", "The quote names an industry that this service no longer knows.")
	}
	slug := in.Card.Get().Taxonomy.At(industry).Slug
	result := PostResult{
		TransactionID: p.payload.TransactionID, HMACVerified: p.owner.secret != nil,
		Quote: p.quote, Industry: slug, Partner: p.owner.account.Partner.ID,
	}
	result.Timing.Auction = in.Clock.Now().Sub(p.start)

	receipt, stored, err := in.store(ctx, p, slug)
	if err != nil {
		return PostResult{}, err
	}
	if !stored {
		if receipt.PartnerID != result.Partner || !in.Keys.Matches(sealed.Body, p.Body, receipt.BodyDigest) {
			if p.owner.secret != nil && receipt.PartnerID == result.Partner {
				return PostResult{}, withLead(errDelivered, receipt)
			}
			return PostResult{}, errDelivered
		}
		result.Replayed = true
	}
	result.LeadID, result.Payout, result.Envelope = receipt.LeadID, receipt.Payout, receipt.Envelope
	return result, nil
}

// store seals the contact record and stores the lead. Without a data key an
// earlier delivery can still be found, so that a retry gets its answer.
func (in *Intake) store(ctx context.Context, p *post, industry string) (leads.Receipt, bool, error) {
	key, keyErr := in.dataKey(ctx)
	if keyErr != nil {
		receipt, err := in.Leads.Find(ctx, scope.System, p.quote.ID)
		if err != nil {
			return receipt, false, keyErr
		}
		return receipt, false, nil
	}
	defer key.Zero()
	delivery, err := in.delivery(p, key, industry)
	if err != nil {
		return leads.Receipt{}, false, errStoring.WithCause(err)
	}
	receipt, stored, err := in.Leads.Deliver(ctx, delivery)
	switch {
	case errors.Is(err, leads.ErrInactive):
		return receipt, false, in.nobody(p)
	case err != nil:
		return receipt, false, errStoring.WithCause(err)
	}
	return receipt, stored, nil
}

func (in *Intake) dataKey(ctx context.Context) (envelope.DataKey, error) {
	if !in.Wrappers.Configured() {
		return envelope.DataKey{}, errNoWrapper
	}
	key, err := in.Wrappers.DataKey(ctx)
	if err != nil {
		return key, errStoring.WithCause(err)
	}
	return key, nil
}

func withLead(f *fault.Error, r leads.Receipt) error {
	found := f.WithFields()
	found.LeadID, found.DeliveredAt = leadID(r.LeadID), r.ReceivedAt
	return found
}
