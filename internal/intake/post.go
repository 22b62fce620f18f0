package intake

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
)

// PostRequest is a post as it arrived. Body is not kept.
type PostRequest struct {
	ID      uuid.UUID
	Slug    string     // of the base URL; "" for the shared address
	Address netip.Addr // of the client, grouped by clientaddr
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
// with the client's connection; a commit under way is not undone by that. Whatever
// the post waits for, the answer comes within leads.Within.
func (in *Intake) Post(ctx context.Context, req PostRequest) (PostResult, error) {
	ctx, cancel := context.WithTimeout(ctx, leads.Within)
	defer cancel()
	start := in.Clock.Now()
	p := post{PostRequest: req, directory: in.Directory.Get(), start: start}
	result, err := in.post(ctx, &p)
	k := Key{Endpoint: EndpointPost}
	switch {
	case p.owner.inactive != nil:
		k.Partner, k.Account, k.Outcome = p.owner.inactive.Partner.ID, p.owner.inactive.ID, models.OutcomeInactive
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
	outcome := models.OutcomeDelivered
	if r.Replayed {
		outcome = models.OutcomeReplayed
	}
	switch {
	case r.HMACVerified:
		return outcome
	case account.Mode(in.settings.DefaultMode) == models.SigningReportOnly:
		return outcome + models.AndToBeRefused
	}
	return outcome + models.AndUnsigned
}

// post is a request on its way, with what has been learnt of it. It has one
// directory from first to last: a partner is not itself in the next one.
type post struct {
	PostRequest
	directory *partners.Directory
	start     time.Time
	claim     signing.Claim
	payload   payload.Post
	quote     quote.Quote
	quoteErr  error
	owner     owner
}

func (in *Intake) post(ctx context.Context, p *post) (PostResult, error) {
	if p.directory == nil || !p.directory.ServesPosts() {
		return PostResult{}, errStoring // the database has been away since the start
	}
	base, err := base(p.directory, p.Slug)
	if err != nil {
		return PostResult{}, err
	}
	p.owner.base = base
	var claimErr error
	if p.claim, claimErr = signing.Check(p.Headers, p.start); claimErr != nil && p.claim.Signed {
		return PostResult{}, claimErr
	}
	if in.admission(p).full() {
		return PostResult{}, errStoring // before its bytes have cost anything: there are more than can be stored
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
		return in.findReplay(ctx, p, err)
	}
	return in.deliver(ctx, p)
}

// gate is where the post waits for the database.
func (in *Intake) admission(p *post) *admission {
	if p.claim.Signed {
		return in.storing
	}
	return in.storingUnsigned
}

// authenticate decides whose post it is, whether it must be signed, and whether
// the signature is right. Unsigned posts and wrong signatures spend the budget of
// the client's address, verified signed posts that of their partner (D28).
func (in *Intake) authenticate(ctx context.Context, p *post, unsignedClaim error) error {
	if !p.claim.Signed {
		return in.admitUnsigned(ctx, p, unsignedClaim)
	}
	if ok, wait := in.forged.left(p.Address, p.start); !ok {
		return errTooMany.Retry(wait)
	}
	err := in.findOwner(ctx, p)
	if err == nil {
		err = in.checkSignature(p)
	}
	if errors.Is(err, signing.ErrSignature) {
		in.forged.spend(p.Address, p.start)
	}
	return err
}

func (in *Intake) admitUnsigned(ctx context.Context, p *post, claimErr error) error {
	if ok, wait := in.unsigned.take(p.Address, p.start); !ok {
		return errTooMany.Retry(wait)
	}
	if err := in.findOwner(ctx, p); err != nil {
		return err
	}
	if in.required(p.owner.account.Mode(in.settings.DefaultMode)) {
		return signing.ErrNoSignature
	}
	return claimErr
}

func (in *Intake) checkSignature(p *post) error {
	partner := p.owner.account.Partner
	if ok, wait := in.posts.left(partner.ID, p.start); !ok {
		return errTooMany.Retry(wait)
	}
	if p.owner.secret == nil {
		p.owner.secret = in.verify(p, partner)
	}
	if p.owner.secret == nil {
		return signing.ErrSignature
	}
	in.posts.spend(partner.ID, p.start)
	return nil
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
		p.quote.Partner == uuid.Nil && partner.Price.InEffect(p.quote.IssuedAt()),
		p.quote.Sandbox && !p.owner.account.Sandbox:
		return errQuoteOwner
	case expired:
		return errExpired
	}
	return nil
}

// deliver stores the lead, or finds that its transaction holds one already.
func (in *Intake) deliver(ctx context.Context, p *post) (PostResult, error) {
	gate := in.admission(p)
	if !gate.enter(ctx) {
		return PostResult{}, errStoring
	}
	defer gate.leave()
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()

	result, err := in.result(p)
	if err != nil {
		return PostResult{}, err
	}
	receipt, stored, err := in.store(ctx, p, result.Industry)
	switch {
	case err != nil:
		return PostResult{}, err
	case !stored:
		return in.replay(p, result, receipt)
	}
	return result.of(receipt), nil
}

// result is what the answer says before it is known which lead it is of.
func (in *Intake) result(p *post) (PostResult, error) {
	taxonomy := in.Card.Get().Taxonomy
	industry, ok := taxonomy.ByTermID(p.quote.TermID)
	if !ok {
		return PostResult{}, apperr.New(apperr.Internal, "taxonomy", "The quote names an industry that this service no longer knows: ping again.")
	}
	r := PostResult{
		TransactionID: p.payload.TransactionID, HMACVerified: p.owner.secret != nil,
		Quote: p.quote, Industry: taxonomy.At(industry).Slug, Partner: p.owner.account.Partner.ID,
	}
	r.Timing.Auction = in.Clock.Now().Sub(p.start)
	return r, nil
}

func (r PostResult) of(receipt leads.Receipt) PostResult {
	r.LeadID, r.Payout, r.Envelope = receipt.LeadID, receipt.Payout, receipt.Envelope
	return r
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
		p.owner.inactive = p.owner.account
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
