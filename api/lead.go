package api

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/httpserver"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// ping is POST {base_url}/api/lead/ping.
func (s *server) ping(c *gin.Context, x *httpserver.Request) error {
	slug, err := s.readPartnerBody(c, x, intake.EndpointPing)
	if err != nil {
		return err
	}
	r, err := s.Intake.Ping(intake.PingRequest{
		ID:      x.ID,
		Slug:    slug,
		Address: clientaddr.Group(c.ClientIP()),
		Body:    x.Body,
	})
	x.Partner = r.Quote.Partner
	if err != nil {
		return err
	}
	x.Outcome = cmp.Or(r.Reason, models.OutcomePriced)
	x.Answer = appendPing(x.Answer, &r)
	s.setTimingHeaders(c, x, &r.Quote, r.Industry, r.Timing)
	write(c, x, http.StatusOK)
	return nil
}

// post is POST {base_url}/api/lead/post. The listener logs it: see [httpserver.AccessLog].
func (s *server) post(c *gin.Context, x *httpserver.Request) error {
	slug, err := s.readPartnerBody(c, x, intake.EndpointPost)
	if err != nil {
		return err
	}
	h := c.Request.Header
	r, err := s.Intake.Post(c.Request.Context(), intake.PostRequest{
		ID:      x.ID,
		Slug:    slug,
		Address: clientaddr.Group(c.ClientIP()),
		Body:    x.Body,
		Headers: signing.Headers{
			Timestamp: h["X-Timestamp"],
			Signature: h["X-Signature-Sha256"],
			Alias:     h["X-Signature"],
		},
	})
	x.Partner = r.Partner
	if err != nil {
		return err
	}
	x.Outcome = r.Outcome
	if r.Replayed {
		c.Writer.Header()["Idempotent-Replayed"] = []string{"true"}
	}
	x.Answer = appendPost(x.Answer, &r)
	s.setTimingHeaders(c, x, &r.Quote, r.Industry, r.Timing)
	write(c, x, http.StatusOK)
	return nil
}

// readPartnerBody takes in the body and says whose base URL it was sent to.
func (s *server) readPartnerBody(c *gin.Context, x *httpserver.Request, endpoint string) (slug string, err error) {
	slug, unknown := baseSlug(c)
	if err := readBody(c, x); err != nil {
		if unknown == nil {
			s.Intake.RecordRejection(endpoint, slug, x.ID, x.Start, err)
		}
		return "", err
	}
	return slug, unknown
}

// baseSlug is the slug in the base URL, "" for the shared one. The router takes
// an empty segment for a slug, and /p//api/… would pass for the shared one.
func baseSlug(c *gin.Context) (string, error) {
	slug, own := c.Params.Get("slug")
	if own && slug == "" {
		return "", errNotFound
	}
	return slug, nil
}

// The two responses are appended rather than marshalled: amounts are exact
// decimals (D10), and every text in them is ours and needs no escaping.

// appendPing appends the response to a ping, in one of two forms:
//
//	{"accepted":true,"bidPrice":45.6,"currency":"GBP","transactionId":"tx_…","expiresAt":"2026-01-02T03:19:05.678Z"}
//	{"accepted":false,"bidPrice":0,"currency":"EUR","reason":"excluded"}
//
// bidPrice is in major units.
func appendPing(b []byte, r *intake.PingResult) []byte {
	b = append(b, `{"accepted":`...)
	b = strconv.AppendBool(b, r.Accepted)
	b = append(b, `,"bidPrice":`...)
	b = money.AppendDecimal(b, r.Quote.Price.Minor)
	b = append(b, `,"currency":"`...)
	b = append(b, r.Quote.Price.Currency.String()...)
	if !r.Accepted {
		b = append(b, `","reason":"`...)
		b = append(b, r.Reason...)
		return append(b, `"}`...)
	}
	b = append(b, `","transactionId":"`...)
	b = append(b, r.TransactionID...)
	b = append(b, `","expiresAt":"`...)
	b = clock.AppendMillis(b, r.Quote.ExpiresAt())
	return append(b, `"}`...)
}

// appendPost appends the response to a stored or replayed post, without line breaks:
//
//	{"status":"success","leadId":"ld_…","payout":45.6,"transactionId":"tx_…","hmacVerified":true,
//	"envelope":{"piiCiphertext":"…","wrappedDek":"…","iv":"…","authTag":"…"}}
//
// payout is in major units of the quote's currency. The parts of the envelope are in
// padded base64.
func appendPost(b []byte, r *intake.PostResult) []byte {
	b = append(b, `{"status":"success","leadId":"`...)
	b = id.Append(b, id.Lead, r.LeadID)
	b = append(b, `","payout":`...)
	b = money.AppendDecimal(b, r.Payout.Minor)
	b = append(b, `,"transactionId":"`...)
	b = append(b, r.TransactionID...)
	b = append(b, `","hmacVerified":`...)
	b = strconv.AppendBool(b, r.HMACVerified)
	b = append(b, `,"envelope":{`...)
	for i, part := range []struct {
		name  string
		bytes []byte
	}{
		{"piiCiphertext", r.Envelope.Ciphertext}, {"wrappedDek", r.Envelope.Wrapped},
		{"iv", r.Envelope.IV}, {"authTag", r.Envelope.AuthTag},
	} {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), part.name...), `":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, part.bytes), '"')
	}
	return append(b, `}}`...)
}

// setTimingHeaders sets Server-Timing and X-Response-Time (D11).
func (s *server) setTimingHeaders(c *gin.Context, x *httpserver.Request, q *quote.Quote, industry string, t intake.Timing) {
	total := s.Clock.Now().Sub(x.Start)
	b := make([]byte, 0, 160)
	b = append(b, "auction;dur="...)
	b = appendMillis(b, t.Auction)
	b = append(b, `;desc="rate card v`...)
	b = strconv.AppendInt(b, int64(q.CardVersion), 10)
	b = append(b, `", buyer_cell;dur=`...)
	b = appendMillis(b, t.Cell)
	b = append(b, `;desc="`...)
	b = append(append(b, industry...), '/')
	b = append(append(b, q.Country[:]...), '/')
	b = append(b, pricingrules.Class(q.Urgency).String()...)
	b = append(b, `", total;dur=`...)
	b = appendMillis(b, total)

	h := c.Writer.Header()
	h["Server-Timing"] = []string{string(b)}
	h["X-Response-Time"] = oneMillisecond
	if total > time.Millisecond {
		h["X-Response-Time"] = []string{strconv.FormatInt(int64((total+time.Millisecond-1)/time.Millisecond), 10) + "ms"}
	}
}

// oneMillisecond is nearly every answer's time, rounded up.
var oneMillisecond = []string{"1ms"}

// appendMillis writes a duration as milliseconds with three decimals.
func appendMillis(b []byte, d time.Duration) []byte {
	us := max(d.Microseconds(), 0)
	b = strconv.AppendInt(b, us/1000, 10)
	rest := us % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
