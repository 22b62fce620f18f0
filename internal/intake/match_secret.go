package intake

import (
	"context"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

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
	matchedBefore := in.matched.has(p.Address, p.start)
	ok, wait := in.unmatched.allows(p.Address, p.start)
	if ok && !matchedBefore {
		ok, wait = in.unmatchedSites.allows(clientaddr.Site(p.Address), p.start)
	}
	if !ok {
		return owner{}, errTooManyInvalid.Retry(wait)
	}
	gate, ok := in.enterMatch(ctx, matchedBefore)
	if !ok {
		return owner{}, errTooMany.Retry(retryAfter)
	}
	defer gate.leave()
	for _, partner := range p.directory.Shared() {
		if partner.Default == nil {
			continue
		}
		if secret := partner.Verify(p.claim, p.Body, p.start); secret != nil {
			in.matched.add(p.Address, p.start)
			return owner{account: partner.Default, secret: secret}, nil
		}
	}
	in.unmatched.spend(p.Address, p.start)
	in.unmatchedSites.spend(clientaddr.Site(p.Address), p.start)
	return owner{}, signing.ErrSignature
}

// enterMatch waits for a slot. If the client's address has had a recent match (matchedBefore), the slot
// can be the reserved one. enterMatch returns the admission that the slot belongs to, and reports
// whether it got a slot in time.
func (in *Intake) enterMatch(ctx context.Context, matchedBefore bool) (*admission, bool) {
	switch {
	case !matchedBefore:
		return in.match, in.match.enter(ctx)
	case in.match.tryEnter():
		return in.match, true
	}
	return in.matchReserved, in.matchReserved.enter(ctx)
}
