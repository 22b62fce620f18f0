package intake

import (
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/signing"
)

// PostRequest is a post as it arrived. Body is not kept.
type PostRequest struct {
	ID      uuid.UUID
	Slug    string     // of the base URL; "" for the shared address
	Address netip.Addr // of the client, grouped by clientaddr
	Headers signing.Headers
	Body    []byte
}

// post is a post as it was read. Nothing in it is verified, and nothing in it
// changes. It has one directory from first to last: a partner has a different
// entry in the next one.
type post struct {
	PostRequest
	start      time.Time
	directory  *partners.Directory
	base       *partners.Partner // of the base URL; nil for the shared address
	claim      signing.Claim
	claimErr   error // of an unsigned post
	payload    payload.Post
	payloadErr error
	quote      quote.Quote
	quoteErr   error
}

// readPost reads all of a post before any of it is judged: the payload says whose
// secret to check the signature with, and its errors are reported only after that
// check (decision 12). It fails for posts that need no more than their headers.
func (in *Intake) readPost(req PostRequest, d *partners.Directory, start time.Time) (post, error) {
	p := post{PostRequest: req, start: start, directory: d}
	if d == nil || !d.ServesPosts() {
		return p, errNotStored // the database has been away since the start
	}
	var err error
	if p.base, err = findBasePartner(d, req.Slug); err != nil {
		return p, err
	}
	if p.claim, p.claimErr = signing.Check(req.Headers, start); p.claimErr != nil && p.claim.Signed {
		return p, p.claimErr
	}
	if in.admission(p.claim).full() {
		return p, errNotStored // before its bytes have cost anything: there are more than can be stored
	}
	p.payload, p.payloadErr = payload.ParsePost(req.Body)
	p.quote, p.quoteErr = in.Quotes.Open(p.payload.TransactionID, start)
	return p, nil
}
