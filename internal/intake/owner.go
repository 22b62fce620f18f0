package intake

import (
	"context"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
)

// owner is whose post it is: base is known from the URL alone, account once
// D13 has decided, secret once the signature has been verified.
type owner struct {
	base    *partners.Partner
	account *partners.Account
	secret  *partners.Secret

	inactive *partners.Account // whose it would have been: only its staff learn that
}

// findOwner decides whose post it is: the first that is present of partnerId,
// base URL, the quote's partner, and the secret (signed) or the house account
// (unsigned), without falling through to the next (D13).
func (in *Intake) findOwner(ctx context.Context, p *post) error {
	d := p.directory
	var account *partners.Account
	switch quoted := quotedPartner(p); {
	case p.payload.PartnerID != "":
		account = d.Account(p.payload.PartnerID)
		if account != nil && p.owner.base != nil && account.Partner != p.owner.base {
			account = nil
		}
	case p.owner.base != nil:
		account = p.owner.base.Default
	case quoted != uuid.Nil:
		if partner := d.ByID(quoted); partner != nil {
			account = partner.Default
		}
	case p.claim.Signed:
		return in.matchSecret(ctx, p)
	default:
		account = d.House()
	}
	if account == nil || !account.Active() {
		p.owner.inactive = account
		in.verifyDummy(p)
		return in.nobody(p)
	}
	p.owner.account = account
	return nil
}

func quotedPartner(p *post) uuid.UUID {
	if p.quoteErr != nil && p.quoteErr != quote.ErrExpired {
		return uuid.Nil
	}
	return p.quote.Partner
}

// nobody is the refusal of a post whose partner is unknown or not active. It
// tells no more than that, so that nobody learns which partners there are.
func (in *Intake) nobody(p *post) error {
	switch {
	case p.claim.Signed:
		return signing.ErrSignature
	case in.required(in.settings.DefaultMode):
		return signing.ErrNoSignature
	}
	return payload.ErrPost.WithFields(apperr.Field{
		Code: apperr.InvalidValue, Path: []string{"partnerId"},
		Message: "name an active account of yours, or post to your own base URL",
	})
}

func (in *Intake) required(m models.SigningMode) bool {
	return m != models.SigningReportOnly && m != models.SigningOff
}

// verify returns the partner's secret that signed the post, or nil.
func (in *Intake) verify(p *post, partner *partners.Partner) *partners.Secret {
	if !partner.CanSign(p.start) {
		in.verifyDummy(p)
		return nil
	}
	return partner.Verify(p.claim, p.Body, p.start)
}

// verifyDummy checks a signed post against a secret that nobody has: without that,
// the refusal of nobody's post would come sooner than that of a wrong signature,
// and time would tell which partnerIds there are (D13).
func (in *Intake) verifyDummy(p *post) {
	v := in.decoys.Get().(*signing.Verifier)
	v.Verify(p.claim, p.Body)
	in.decoys.Put(v)
}

// matchSecret finds the partner whose secret signed the post. Every candidate
// costs a hash of the body, so large bodies are rejected, the scan runs behind a
// gate, and an address or IPv6 site that keeps failing gets 429 before it.
// Addresses that matched recently have a place reserved behind the gate, and their
// site's failures do not count against them.
func (in *Intake) matchSecret(ctx context.Context, p *post) error {
	if len(p.Body) > maxMatchBody {
		return errMatchTooLarge
	}
	matchedBefore := in.matched.has(p.Address, p.start)
	ok, wait := in.unmatched.left(p.Address, p.start)
	if ok && !matchedBefore {
		ok, wait = in.unmatchedSites.left(clientaddr.Site(p.Address), p.start)
	}
	if !ok {
		return errTooMany.Retry(wait)
	}
	gate, ok := in.enterMatch(ctx, matchedBefore)
	if !ok {
		return errTooMany.Retry(retryAfter)
	}
	defer gate.leave()
	for _, partner := range p.directory.Shared() {
		if partner.Default == nil || !partner.Default.Active() {
			continue
		}
		if secret := partner.Verify(p.claim, p.Body, p.start); secret != nil {
			p.owner.account, p.owner.secret = partner.Default, secret
			in.matched.add(p.Address, p.start)
			return nil
		}
	}
	in.unmatched.spend(p.Address, p.start)
	in.unmatchedSites.spend(clientaddr.Site(p.Address), p.start)
	return signing.ErrSignature
}

// enterMatch returns the gate that it entered, or waited for in vain.
func (in *Intake) enterMatch(ctx context.Context, matchedBefore bool) (*admission, bool) {
	switch {
	case !matchedBefore:
		return in.match, in.match.enter(ctx)
	case in.match.tryEnter():
		return in.match, true
	}
	return in.matchReserved, in.matchReserved.enter(ctx)
}
