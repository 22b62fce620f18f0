package intake

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

// authenticate finds the owner of a post and checks its signature. Unsigned posts and invalid
// signatures count towards the rate limits of the client address. Posts with a valid signature
// count towards the partner's rate limit (decision 28). authenticate returns an owner even if it
// returns an error, because rejections are counted by owner. The owner of a signed post may be inactive.
func (in *Intake) authenticate(ctx context.Context, p post) (owner, error) {
	switch {
	case !p.claim.Signed:
		return in.authenticateUnsigned(ctx, p)
	case p.basePartner != nil:
		return in.authenticateOwn(p)
	}
	return in.authenticateShared(ctx, p)
}

func (in *Intake) authenticateUnsigned(ctx context.Context, p post) (owner, error) {
	if ok, wait := in.unsignedLimiter.take(p.Address, p.start); !ok {
		return owner{basePartner: p.basePartner}, errTooMany.WithRetryAfter(wait)
	}
	sender, err := in.findOwner(ctx, p)
	switch {
	case err != nil:
		return sender, err
	case !sender.active():
		return sender, in.rejectUnsigned(sender)
	case required(sender.account.Mode(in.settings.DefaultMode)):
		return sender, signing.ErrNoSignature
	}
	return sender, p.claimErr
}

// rejectUnsigned returns the error for an unsigned post whose account is unknown or not active. The
// response is the same in both cases. Only staff see the difference.
func (in *Intake) rejectUnsigned(sender owner) error {
	reason := string(models.OutcomeInactive)
	if sender.account == nil {
		reason = string(models.OutcomeUnknownAccount)
	}
	if required(in.settings.DefaultMode) {
		return signing.ErrNoSignature.WithReason(reason)
	}
	correction := "Send the partnerId of an active account"
	if sender.basePartner == nil {
		correction += ", or post to your own base URL"
	}
	return payload.ErrInvalidPost.WithReason(reason).WithFields(notAnAccount(
		"does not identify an active account. " + correction +
			". To find out whether an earlier attempt delivered the lead, sign the post and send it again"))
}

func notAnAccount(message string) apperr.Field {
	return apperr.Field{Code: apperr.InvalidValue, Path: []string{"partnerId"}, Message: message}
}

func required(m models.SigningMode) bool {
	return m != models.SigningReportOnly && m != models.SigningOff
}

// authenticateOwn checks the signature of a post to a partner's own base URL before it looks up the
// post's partnerId, so that the sender learns nothing about other partners' accounts (decision 13). The
// signature is checked even if the client address has sent too many invalid ones, because the partner
// may share the address with others (decision 12).
func (in *Intake) authenticateOwn(p post) (sender owner, err error) {
	sender = owner{basePartner: p.basePartner, account: p.ownAccount()}
	sender.secret, err = in.checkSignature(p, p.basePartner, nil)
	if errors.Is(err, signing.ErrSignature) {
		if ok, wait := in.wrongSignatureLimiter.take(p.Address, p.start); !ok {
			err = errTooManyInvalid.WithRetryAfter(wait)
		}
	}
	return sender, err
}

func (in *Intake) authenticateShared(ctx context.Context, p post) (owner, error) {
	if ok, wait := in.wrongSignatureLimiter.allows(p.Address, p.start); !ok {
		return owner{}, errTooManyInvalid.WithRetryAfter(wait)
	}
	sender, err := in.findOwner(ctx, p)
	switch {
	case err == nil && sender.account == nil:
		in.verifyDummy(p)
		err = signing.ErrSignature.WithReason(string(models.OutcomeUnknownAccount))
	case err == nil:
		sender.secret, err = in.checkSignature(p, sender.partner(), sender.secret)
	}
	if f := apperr.As(err); f != nil && f.Code == apperr.Unauthorized {
		in.wrongSignatureLimiter.spend(p.Address, p.start)
	}
	return sender, err
}

// findOwner finds the account that a post belongs to. The owner is determined by the first of
// these that is present: partnerId, base URL, the quote's partner. If none is present, a signed
// post belongs to the partner whose secret signed it, and an unsigned post belongs to the
// platform account (decision 13). The result has no account if there is no such account.
func (in *Intake) findOwner(ctx context.Context, p post) (owner, error) {
	sender, quoted := owner{basePartner: p.basePartner}, p.quote.Partner
	if p.quoteErr != nil && !errors.Is(p.quoteErr, quote.ErrExpired) {
		quoted = uuid.Nil
	}
	switch {
	case p.basePartner != nil:
		sender.account = p.ownAccount()
	case p.payload.PartnerID != "":
		if sender.account = p.directory.Account(p.payload.PartnerID); sender.account == nil {
			sender.quoted = p.directory.ByID(quoted)
		}
	case quoted != uuid.Nil:
		if partner := p.directory.ByID(quoted); partner != nil {
			sender.account = partner.Default
		}
	case p.claim.Signed:
		return in.matchSecret(ctx, p)
	default:
		sender.account = p.directory.PlatformAccount()
	}
	return sender, nil
}

// ownAccount returns the account that a post to a partner's own base URL belongs to, or nil if the
// partner has no such account.
func (p post) ownAccount() *partners.Account {
	if p.payload.PartnerID == "" {
		return p.basePartner.Default
	}
	if account := p.directory.Account(p.payload.PartnerID); account != nil && account.Partner == p.basePartner {
		return account
	}
	return nil
}

// maxMatchBody is the maximum size, in bytes, of a body that matchSecret accepts.
const maxMatchBody = 16 << 10

// matchSecret finds the partner whose secret signed the post, by verifying the signature with each
// partner's secrets in turn. To limit this work, it rejects large bodies, limits concurrent matches, and
// returns a 429 to an address or IPv6 /48 with too many failures. Addresses with a recent match share a
// reserved slot and are exempt from the limit for their /48.
func (in *Intake) matchSecret(ctx context.Context, p post) (owner, error) {
	if len(p.Body) > maxMatchBody {
		return owner{}, errMatchTooLarge
	}
	matchedBefore := in.recentMatches.has(p.Address, p.start)
	ok, wait := in.unmatchedLimiter.allows(p.Address, p.start)
	if ok && !matchedBefore {
		ok, wait = in.unmatchedSiteLimiter.allows(clientaddr.Site(p.Address), p.start)
	}
	if !ok {
		return owner{}, errTooManyInvalid.WithRetryAfter(wait)
	}
	gate, ok := in.enterMatch(ctx, matchedBefore)
	if !ok {
		return owner{}, errTooMany.WithRetryAfter(retryAfter)
	}
	defer gate.leave()
	for _, partner := range p.directory.Shared() {
		if partner.Default == nil {
			continue
		}
		if secret := partner.Verify(p.claim, p.Body, p.start); secret != nil {
			in.recentMatches.add(p.Address, p.start)
			return owner{account: partner.Default, secret: secret}, nil
		}
	}
	in.unmatchedLimiter.spend(p.Address, p.start)
	in.unmatchedSiteLimiter.spend(clientaddr.Site(p.Address), p.start)
	return owner{}, signing.ErrSignature
}

// enterMatch waits for a slot. If the client's address has had a recent match (matchedBefore), the slot
// can be the reserved one. enterMatch returns the admission that the slot belongs to, and reports
// whether it got a slot in time.
func (in *Intake) enterMatch(ctx context.Context, matchedBefore bool) (*admission, bool) {
	switch {
	case !matchedBefore:
		return in.matchSlots, in.matchSlots.enter(ctx)
	case in.matchSlots.tryEnter():
		return in.matchSlots, true
	}
	return in.reservedMatchSlots, in.reservedMatchSlots.enter(ctx)
}

// checkSignature returns the secret that was used to sign the post, and enforces the partner's rate
// limit. If the parameter matched is not nil, matchSecret has already found this secret, and the signature
// is not checked again.
func (in *Intake) checkSignature(
	p post, partner *partners.Partner, matched *partners.Secret,
) (*partners.Secret, error) {
	if ok, wait := in.postLimiter.allows(partner.ID, p.start); !ok {
		return matched, errTooMany.WithRetryAfter(wait)
	}
	secret := matched
	switch {
	case matched != nil:
	case partner.CanSign(p.start):
		secret = partner.Verify(p.claim, p.Body, p.start)
	default:
		in.verifyDummy(p)
	}
	if secret == nil {
		return nil, signing.ErrSignature
	}
	in.postLimiter.spend(partner.ID, p.start)
	return secret, nil
}

// verifyDummy checks a signed post against a secret that no partner has. Without it, a post
// for an unknown partner would be rejected sooner than one with a wrong signature, and
// response times would reveal which partnerIds exist (decision 13).
func (in *Intake) verifyDummy(p post) {
	v := in.dummyVerifiers.Get().(*signing.Verifier)
	v.Verify(p.claim, p.Body)
	in.dummyVerifiers.Put(v)
}
