package intake

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

// Checker checks posts like Intake.Post, for staff who want to know why a post is rejected. It stores, logs and counts
// nothing, and has no rate limits.
type Checker struct{ in *Intake }

// NewChecker returns a Checker. The parameter mode is the default signing mode.
func NewChecker(parts Deps, mode models.SigningMode) *Checker {
	return &Checker{New(parts, Settings{DefaultMode: mode})}
}

// CheckedPost contains the response to a post, and the results of its checks, including the checks after the first one
// that fails.
type CheckedPost struct {
	Err       *apperr.Error           // the response; nil if the post would be delivered or replayed
	Stop      Check                   // the check that rejects the post; "" if none does
	Failed    map[Check]*apperr.Error // the checks that were made; nil for those that the post passes
	Order     []Check                 // the checks that apply to the post, in their order
	Owner     *partners.Partner       // nil if it is not known
	Account   *partners.Account       // nil if it is not known
	Claimed   *partners.Account       // that has the partnerId in the post; nil if there is none
	Quote     *quote.Quote            // nil if the transactionId is not valid
	Delivered *leads.Receipt          // of the transaction's lead; nil if it has none yet
	Replayed  bool                    // the response contains that lead
}

// Check checks a post as if it arrived now. Partners outside the scope are treated as if they did not exist.
func (c *Checker) Check(ctx context.Context, sc scope.Scope, req PostRequest) (CheckedPost, error) {
	in := c.in
	d, card := in.Directory.Get(), in.Card.Get()
	if d == nil || !d.ServesPosts() || card == nil {
		return CheckedPost{}, errNotLoaded
	}
	d = d.Within(sc)
	p := post{PostRequest: req, start: in.Clock.Now(), directory: d, taxonomy: card.Taxonomy}
	in.parse(&p)
	out := CheckedPost{Failed: map[Check]*apperr.Error{CheckBody: nil}, Claimed: d.Account(p.payload.PartnerID)}
	a, err := out.checkSender(ctx, in, p)
	if err != nil {
		return out, err
	}
	out.Order = postChecks(a.claim.Signed)
	if out.Account = a.owner.account; a.owner.partner() != nil {
		out.Owner = a.owner.partner()
	}
	out.checkContent(a)
	if err := out.checkTransaction(ctx, in, a); err != nil {
		return out, err
	}
	err = out.respond(ctx, in, req, d, a.start)
	return out, err
}

// checkSender checks the headers, finds the owner of the post and checks its signature.
func (c *CheckedPost) checkSender(ctx context.Context, in *Intake, p post) (a authenticated, err error) {
	p.basePartner, err = findBasePartner(p.directory, p.Slug)
	c.set(CheckURL, err)
	noBase := err != nil
	p.claim, err = signing.Check(p.Headers, p.start)
	verifiable := c.checkHeaders(&p, err)
	a = authenticated{post: p}
	if noBase {
		return a, nil //nolint:nilerr // the error is a result of the check
	}
	sender, err := in.findOwner(ctx, p)
	a.owner = sender
	inactiveUnsigned := !p.claim.Signed && !sender.active()
	switch {
	case errors.Is(err, signing.ErrSignature): // no secret matches, so the owner is not known
		c.set(CheckSignature, err)
		return a, nil
	case apperr.As(err) == nil && err != nil:
		return a, err
	case err != nil:
		c.set(CheckOwner, err)
		return a, nil
	case inactiveUnsigned:
		c.set(CheckOwner, in.rejectUnsigned(sender))
		return a, nil
	case sender.partner() == nil:
		c.set(CheckOwner, signing.ErrSignature.WithReason(string(models.OutcomeUnknownAccount)))
		return a, nil
	}
	c.set(CheckOwner, nil)
	switch {
	case !p.claim.Signed && required(sender.account.Mode(in.settings.DefaultMode)):
		c.set(CheckSignature, signing.ErrNoSignature)
	case !p.claim.Signed:
		c.set(CheckSignature, nil)
	case verifiable:
		a.owner.secret, err = in.checkSignature(p, sender.partner(), sender.secret)
		c.set(CheckSignature, err)
	}
	return a, nil
}

// checkHeaders checks the timestamp and the format of the signature. The parameter err is the result of signing.Check.
// checkHeaders reports whether the signature can be verified, which is also true if the timestamp is not within
// signing.Tolerance of now.
func (c *CheckedPost) checkHeaders(p *post, err error) bool {
	if !p.claim.Signed {
		c.set(CheckTimestamp, err)
		return false
	}
	if errors.Is(err, signing.ErrSignature) {
		c.set(CheckTimestamp, nil)
		c.set(CheckSignatureFormat, err)
		return false
	}
	c.set(CheckTimestamp, err)
	if _, ok := signing.ParseSignature(p.Headers); !ok {
		c.set(CheckSignatureFormat, signing.ErrSignature.WithPublicCode(apperr.SignatureMalformed))
		return false
	}
	c.set(CheckSignatureFormat, nil)
	if errors.Is(err, signing.ErrTimestampWindow) {
		seconds, _ := strconv.ParseInt(signing.TrimBlanks(p.Headers.Timestamp[0]), 10, 64)
		p.claim, err = signing.Check(p.Headers, time.Unix(seconds, 0))
	}
	return err == nil
}

// checkContent checks the JSON and its fields.
func (c *CheckedPost) checkContent(a authenticated) {
	err := a.payloadErr
	if a.owner.basePartner != nil {
		err = a.checkPayload()
	}
	if errors.Is(err, payload.ErrJSON) {
		c.set(CheckJSON, err)
		return
	}
	c.set(CheckJSON, nil)
	c.set(CheckFields, err)
}

// checkTransaction checks the transactionId and its quote, whether the transaction already has a lead, and whether the
// account is active.
func (c *CheckedPost) checkTransaction(ctx context.Context, in *Intake, a authenticated) error {
	if a.owner.account != nil {
		c.set(CheckActive, nil)
		if !a.owner.active() {
			c.set(CheckActive, a.inactive())
		}
	}
	expired := errors.Is(a.quoteErr, quote.ErrExpired)
	switch {
	case a.payload.TransactionID == "": // a missing field
		return nil
	case a.quoteErr != nil && !expired:
		c.set(CheckTransaction, errTransactionID)
		return nil
	}
	c.Quote = &a.quote
	c.set(CheckTransaction, nil)
	c.set(CheckExpiry, nil)
	if expired {
		c.set(CheckExpiry, errExpired)
	}
	if a.owner.partner() == nil {
		return nil
	}
	if err := a.checkQuote(); errors.Is(err, errQuoteOwner) {
		c.set(CheckTransaction, err)
	}
	receipt, err := in.Leads.Find(ctx, scope.System, a.quote.ID)
	switch f := apperr.As(err); {
	case f != nil && f.Code == apperr.NotFound:
		c.set(CheckDelivery, nil)
		return nil
	case err != nil:
		return err
	}
	c.Delivered = &receipt
	if a.owner.account != nil {
		_, err = in.replay(a, PostResult{}, receipt)
		c.set(CheckDelivery, err)
	}
	return nil
}

// respond determines what the endpoint would respond.
func (c *CheckedPost) respond(
	ctx context.Context, in *Intake, req PostRequest, d *partners.Directory, start time.Time,
) error {
	p, result, err := in.check(ctx, req, d, start)
	if err == nil && !result.Replayed && c.Delivered != nil { // the database would find the lead
		result, err = in.replay(p, result, *c.Delivered)
	}
	c.Replayed = err == nil && result.Replayed
	if err == nil {
		return nil
	}
	if c.Err = apperr.As(err); c.Err == nil || c.Err.Code == apperr.Unavailable {
		return err
	}
	c.Stop = Rejection{
		Endpoint: EndpointPost, Outcome: c.Err.Reason, Code: c.Err.PublicCode,
		Signed: p.owner.secret != nil, Owned: p.owner.account != nil,
	}.FailedCheck()
	return nil
}

func (c *CheckedPost) set(check Check, err error) { c.Failed[check] = apperr.As(err) }
