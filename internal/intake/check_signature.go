package intake

import (
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// checkSignature returns the secret that was used to sign the post, and enforces the partner's rate
// limit. If the parameter matched is not nil, matchSecret has already found this secret, and the signature
// is not checked again.
func (in *Intake) checkSignature(
	p post, partner *partners.Partner, matched *partners.Secret,
) (*partners.Secret, error) {
	if ok, wait := in.posts.allows(partner.ID, p.start); !ok {
		return matched, errTooMany.Retry(wait)
	}
	secret := matched
	if secret == nil {
		secret = in.verify(p, partner)
	}
	if secret == nil {
		return nil, signing.ErrSignature
	}
	in.posts.spend(partner.ID, p.start)
	return secret, nil
}

// verify returns the secret that the partner used to sign the post, or nil if the signature is not
// valid.
func (in *Intake) verify(p post, partner *partners.Partner) *partners.Secret {
	if !partner.CanSign(p.start) {
		in.verifyDummy(p)
		return nil
	}
	return partner.Verify(p.claim, p.Body, p.start)
}

// verifyDummy checks a signed post against a secret that no partner has. Without it, a post
// for an unknown partner would be rejected sooner than one with a wrong signature, and
// response times would reveal which partnerIds exist (decision 13).
func (in *Intake) verifyDummy(p post) {
	v := in.dummyVerifiers.Get().(*signing.Verifier)
	v.Verify(p.claim, p.Body)
	in.dummyVerifiers.Put(v)
}
