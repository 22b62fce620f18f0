package intake

import (
	"context"

	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/signing"
)

// maxMatchBody bounds the body of a post whose partner is searched: each secret
// costs a hash of it.
const maxMatchBody = 16 << 10

// matchSecret finds the partner whose secret signed the post. Every candidate
// costs a hash of the body, so large bodies are rejected, the scan runs behind a
// gate, and an address or IPv6 site that keeps failing gets 429 before it.
// Addresses that matched recently have a place reserved behind the gate, and their
// site's failures do not count against them.
func (in *Intake) matchSecret(ctx context.Context, p post) (owner, error) {
	if len(p.Body) > maxMatchBody {
		return owner{}, errMatchTooLarge
	}
	matchedBefore := in.matched.has(p.Address, p.start)
	ok, wait := in.unmatched.left(p.Address, p.start)
	if ok && !matchedBefore {
		ok, wait = in.unmatchedSites.left(clientaddr.Site(p.Address), p.start)
	}
	if !ok {
		return owner{}, errTooMany.Retry(wait)
	}
	gate, ok := in.enterMatch(ctx, matchedBefore)
	if !ok {
		return owner{}, errTooMany.Retry(retryAfter)
	}
	defer gate.leave()
	for _, partner := range p.directory.Shared() {
		if partner.Default == nil || !partner.Default.Active() {
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
