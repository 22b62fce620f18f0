package intake

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

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

// newResult returns the part of the result that does not depend on the lead.
func (in *Intake) newResult(p authenticated) (PostResult, error) {
	industry, ok := p.taxonomy.ByTermID(p.quote.TermID)
	if !ok {
		return PostResult{}, apperr.New(apperr.Internal, "taxonomy",
			"The industry of this quote no longer exists. Send the ping again.")
	}
	r := PostResult{
		TransactionID: p.payload.TransactionID, HMACVerified: p.owner.secret != nil,
		Quote: p.quote, Industry: p.taxonomy.At(industry).Slug, Partner: p.owner.account.Partner.ID,
		Reference: p.payload.Reference, SubID: p.payload.SubID, Warnings: p.payload.Warnings,
	}
	r.Timing.Auction = in.Clock.Now().Sub(p.start)
	return r, nil
}

func (r PostResult) withReceipt(receipt leads.Receipt) PostResult {
	r.LeadID, r.Sandbox, r.Payout, r.Envelope = receipt.LeadID, receipt.Sandbox, receipt.Payout, receipt.Envelope
	return r
}
