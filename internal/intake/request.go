package intake

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// PingRequest is a ping as it was received. Body is not used after Ping has returned.
type PingRequest struct {
	ID              uuid.UUID
	Slug            string     // of the base URL; "" for the shared base URL
	Address         netip.Addr // of the client, grouped by clientaddr
	Body            []byte
	ContentEncoding string // the header; compression is not supported
}

// PingResult is the result of a valid ping.
type PingResult struct {
	Accepted      bool
	Reason        string      // set if not accepted
	Quote         quote.Quote // its ID and its price are zero if not accepted
	TransactionID []byte
	Industry      string
	Warnings      []payload.Warning
	Timing        Timing
}

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
	start       time.Time
	directory   *partners.Directory
	taxonomy    *pricingrules.Taxonomy
	basePartner *partners.Partner // whose base URL was used; nil for the shared base URL
	claim       signing.Claim
	claimErr    error // only for unsigned posts
	payload     payload.Post
	payloadErr  error
	quote       quote.Quote
	quoteErr    error
}

// authenticated is a post whose owner is known. If the post is signed, its signature is valid.
type authenticated struct {
	post
	owner owner
}

// leadCountry returns the country of the lead, which is that of the quote unless the post contains another.
func (p authenticated) leadCountry() string {
	return cmp.Or(p.payload.Location.Country, string(p.quote.Country[:]))
}

// owner identifies the partner and the account that a post belongs to. Its fields are set as the checks
// proceed.
type owner struct {
	basePartner *partners.Partner // whose base URL was used; nil for the shared base URL
	account     *partners.Account // nil until it is found (decision 13)
	secret      *partners.Secret  // nil until the signature has been verified
	quoted      *partners.Partner // to whom the quote was issued, if the partnerId is unknown; may be nil
}

// partner returns nil until the partner is known.
func (o owner) partner() *partners.Partner {
	if o.account != nil {
		return o.account.Partner
	}
	return o.basePartner
}

func (o owner) active() bool { return o.account != nil && o.account.Active() }

// key returns the key under which the owner's post is counted.
func (o owner) key() TrafficKey {
	k := TrafficKey{Endpoint: EndpointPost, Partner: partnerID(o.partner())}
	if o.account != nil {
		k.Account = o.account.ID
	}
	if o.secret != nil {
		k.Secret = o.secret.ID
	}
	return k
}

// PostResult is the result of an accepted post.
type PostResult struct {
	LeadID        uuid.UUID
	Sandbox       bool // the lead is a sandbox lead
	Payout        money.Amount
	TransactionID string
	HMACVerified  bool
	Replayed      bool
	Outcome       string
	Envelope      envelope.Envelope // without the salt
	Quote         quote.Quote
	Industry      string
	Partner       uuid.UUID
	Reference     string // "" if not sent
	SubID         string // "" if not sent
	Warnings      []payload.Warning
	Timing        Timing
}

// result returns the result of the post without the values from the receipt of its lead.
func (p authenticated) result(now time.Time) (PostResult, error) {
	industry, ok := p.taxonomy.ByTermID(p.quote.TermID)
	if !ok {
		return PostResult{}, apperr.New(apperr.Internal, "taxonomy",
			"The industry of this quote no longer exists. Send the ping again.")
	}
	return PostResult{
		TransactionID: p.payload.TransactionID, HMACVerified: p.owner.secret != nil,
		Quote: p.quote, Industry: p.taxonomy.At(industry).Slug, Partner: p.owner.account.Partner.ID,
		Reference: p.payload.Reference, SubID: p.payload.SubID, Warnings: p.payload.Warnings,
		Timing: Timing{Auction: now.Sub(p.start)},
	}, nil
}

func (r PostResult) withReceipt(receipt leads.Receipt) PostResult {
	r.LeadID, r.Sandbox, r.Payout, r.Envelope = receipt.LeadID, receipt.Sandbox, receipt.Payout, receipt.Envelope
	return r
}

// Timing contains the durations for the Server-Timing header (decision 11).
type Timing struct {
	Auction time.Duration // total time to find the price
	Cell    time.Duration // time of the price table lookup, included in Auction
}

// Values of TrafficKey.Endpoint. Requests to other URLs are not counted.
const (
	EndpointPing = "ping"
	EndpointPost = "post"
	// EndpointUnknown is any other URL below a partner's own base URL. It occurs only in the request log.
	EndpointUnknown = "unknown"
)

// TrafficKey is the combination of values under which requests are counted. An ID that is uuid.Nil is
// unknown.
type TrafficKey struct {
	Partner, Account, Secret uuid.UUID
	Endpoint, Outcome        string
}

func partnerID(p *partners.Partner) uuid.UUID {
	if p == nil {
		return uuid.Nil
	}
	return p.ID
}

func nullable(u uuid.UUID) *uuid.UUID {
	if u == uuid.Nil {
		return nil
	}
	return &u
}
