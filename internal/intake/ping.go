package intake

import (
	"cmp"
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// usualToken is the capacity, in bytes, of a new buffer for a transactionId. A longer transactionId
// needs another allocation.
const usualToken = 128

// Ping returns the price of a lead, with a transactionId if the ping is accepted. It does no I/O.
func (in *Intake) Ping(req PingRequest) (PingResult, error) {
	start := in.Clock.Now()
	partner, err := findBasePartner(in.Directory.Get(), req.Slug)
	if err != nil {
		return PingResult{}, err
	}
	k := TrafficKey{Partner: partnerID(partner), Endpoint: EndpointPing}
	ping, result, err := in.quote(req, partner, start)
	if err != nil {
		in.logRejection(loggedRequest{TrafficKey: k, id: req.ID, at: start}, err)
		return PingResult{Quote: quote.Quote{Partner: k.Partner}}, err // the partner is for the log
	}
	in.recordPing(k, req.ID, &ping, &result, start)
	return result, nil
}

func (in *Intake) quote(
	req PingRequest, partner *partners.Partner, start time.Time,
) (ping payload.Ping, result PingResult, err error) {
	card := in.Card.Get()
	if card == nil {
		return ping, result, errNotLoaded
	}
	rate := in.pingLimiter
	if req.Slug == "" {
		rate = in.sharedPingLimiter
	}
	if ok, wait := rate.take(req.Address, start); !ok {
		return ping, result, errTooMany.WithRetryAfter(wait)
	}
	ping, err = payload.ParsePing(req.Body, card.Taxonomy)
	if err = payload.WithContentEncoding(err, req.ContentEncoding); err != nil {
		return ping, result, err
	}
	if result, err = in.price(card, partner, &ping, start); err != nil {
		err = apperr.Wrap(err, apperr.Internal, "sealing", "The price could not be sealed. Send the ping again.")
	}
	return ping, result, err
}

func (in *Intake) price(
	card *ratecard.CompiledVersion, partner *partners.Partner, ping *payload.Ping, start time.Time,
) (r PingResult, err error) {
	industry := card.Taxonomy.At(ping.Industry)
	class := pricingrules.ClassOf(ping.Urgency)

	before := in.Clock.Now()
	cell := card.Table.PriceFor(ping.Industry, card.Markets.Index(ping.Country), class, adjustment(partner))
	r = PingResult{Industry: industry.Slug, Warnings: ping.Warnings, Timing: Timing{Cell: in.Clock.Now().Sub(before)}}
	r.Quote = quote.Quote{
		Price: money.Amount{Currency: cell.Currency}, Country: ping.Country, TermID: industry.TermID,
		Urgency: uint8(class), Postcode: ping.Postcode, CardVersion: card.Version, Partner: partnerID(partner),
		Reference: ping.Reference, SubID: ping.SubID,
	}
	if partner != nil && partner.Default != nil {
		r.Quote.Sandbox = partner.Default.Sandbox
	}
	r.Reason = in.unpricedReason(cell, partner, industry, ping.Country)
	r.Accepted = r.Reason == ""
	if r.Accepted {
		r.Quote.Price.Minor = cell.Minor
		var random [quote.RandomSize]byte
		rand.Read(random[:])
		token := make([]byte, 0, usualToken)
		if r.TransactionID, r.Quote, err = in.Quotes.Seal(token, r.Quote, start, random); err != nil {
			return r, err
		}
	}
	r.Timing.Auction = in.Clock.Now().Sub(start)
	return r, nil
}

// adjustment returns a partner's price adjustment, or 0 on the shared base URL (decision 5).
func adjustment(partner *partners.Partner) int {
	if partner == nil || partner.Price == nil {
		return 0
	}
	return partner.Price.Adjustment
}

// unpricedReason returns the reason for declining a ping, or "" if it gets a price.
func (in *Intake) unpricedReason(
	cell pricingrules.Cell, partner *partners.Partner, industry pricingrules.Industry, country [2]byte,
) string {
	if cell.Excluded {
		return string(models.OutcomeExcluded)
	}
	if partner == nil {
		return ""
	}
	if partner.Default == nil || !partner.Default.Active() {
		return string(models.OutcomePaused)
	}
	if partner.Price != nil && partner.Price.Excludes(industry, string(country[:])) {
		return string(models.OutcomeExcluded)
	}
	if in.Caps.Reached(partner) {
		return string(models.OutcomeCapped)
	}
	return ""
}

func (in *Intake) recordPing(k TrafficKey, request uuid.UUID, ping *payload.Ping, r *PingResult, start time.Time) {
	k.Outcome = cmp.Or(r.Reason, string(models.OutcomePriced))
	took := r.Timing.Auction
	in.Recorder.Offer(PingRecord{
		Request: request, Quote: r.Quote, IssuedAt: start, Urgency: ping.Urgency, JobType: ping.JobType, Budget: ping.Budget,
		Outcome: k.Outcome, Took: took,
	})
	in.Traffic.Count(k, start, took)
}
