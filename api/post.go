package api

import (
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// post handles POST {base_url}/api/lead/post.
func (s *server) post(c *gin.Context, rec *httpserver.Record) error {
	slug, err := s.readPartnerBody(c, rec, intake.EndpointPost)
	if err != nil {
		return err
	}
	h := c.Request.Header
	r, err := s.Intake.Post(c.Request.Context(), intake.PostRequest{
		ID:              rec.ID,
		Slug:            slug,
		Address:         clientaddr.GroupAddr(rec.Client),
		Body:            rec.Body,
		ContentEncoding: h.Get("Content-Encoding"),
		Headers: signing.Headers{
			Timestamp: h["X-Timestamp"],
			Signature: h["X-Signature-Sha256"],
			Alias:     h["X-Signature"],
		},
	})
	rec.Partner = r.Partner
	if err != nil {
		return err
	}
	rec.Outcome, rec.Lead = r.Outcome, r.LeadID
	if r.Replayed {
		c.Writer.Header()["Idempotent-Replayed"] = []string{"true"}
	}
	rec.Answer = appendPost(rec.Answer, &r)
	s.setTimingHeaders(c, rec, &r.Quote, r.Industry, r.Timing)
	write(c, rec, http.StatusOK)
	return nil
}

// appendPost appends the response to a stored or replayed post, without line breaks:
//
//	{"status":"success","leadId":"ld_…","payout":45.6,"currency":"GBP","transactionId":"tx_…","reference":"…",
//	"subId":"…","hmacVerified":true,"envelope":{"piiCiphertext":"…","wrappedDek":"…","iv":"…","authTag":"…"}}
//
// A sandbox lead also has "sandbox":true, after the currency. The response has a reference and a subId only if the lead
// has them. It can have warnings (see appendWarnings).
//
// payout is in major units of the quote's currency. The parts of the envelope are in
// padded base64.
func appendPost(b []byte, r *intake.PostResult) []byte {
	b = append(b, `{"status":"success","leadId":"`...)
	b = id.Append(b, id.Lead, r.LeadID)
	b = append(b, `","payout":`...)
	b = money.AppendDecimal(b, r.Payout.Minor)
	b = append(b, `,"currency":"`...)
	b = append(b, r.Payout.Currency.String()...)
	if r.Sandbox {
		b = append(b, `","sandbox":true,"transactionId":"`...)
	} else {
		b = append(b, `","transactionId":"`...)
	}
	b = append(append(b, r.TransactionID...), '"')
	b = appendText(b, `,"reference":`, r.Reference)
	b = appendText(b, `,"subId":`, r.SubID)
	b = append(b, `,"hmacVerified":`...)
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
	return appendWarnings(append(b, '}'), r.Warnings)
}

// appendText appends a member with a string, unless the string is empty. The parameter name contains the
// punctuation around the member's name.
func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b, _ = jsontext.AppendQuote(append(b, name...), text) // parsed JSON strings are valid UTF-8
	return b
}
