package intake

import (
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// PostRequest is a post as it was received. Body is not used after Post has returned.
type PostRequest struct {
	ID              uuid.UUID
	Slug            string     // of the base URL; "" for the shared base URL
	Address         netip.Addr // of the client, grouped by clientaddr
	Headers         signing.Headers
	Body            []byte
	ContentEncoding string // the header; compression is not supported
}

// post is a parsed post whose signature has not been verified. It is immutable. All checks of a post use
// one directory of partners, because a partner has a different pointer in each new directory.
type post struct {
	PostRequest
	start      time.Time
	directory  *partners.Directory
	taxonomy   *pricingrules.Taxonomy
	base       *partners.Partner // whose base URL was used; nil for the shared base URL
	claim      signing.Claim
	claimErr   error // only for unsigned posts
	payload    payload.Post
	payloadErr error
	quote      quote.Quote
	quoteErr   error
}

// readPost parses a post before its signature is checked, because the payload identifies the partner
// whose secret is needed. Errors in the payload are stored in the post and reported only after the
// signature check (decision 12).
func (in *Intake) readPost(req PostRequest, d *partners.Directory, start time.Time) (post, error) {
	p := post{PostRequest: req, start: start, directory: d}
	if d == nil || !d.ServesPosts() {
		return p, errNotStored // the database has been unavailable since the node started
	}
	var err error
	if p.base, err = findBasePartner(d, req.Slug); err != nil {
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
