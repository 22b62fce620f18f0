package api

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/models"
)

// ping handles POST {base_url}/api/lead/ping.
func (s *server) ping(c *gin.Context, rec *httpserver.Record) error {
	slug, err := s.readPartnerBody(c, rec, intake.EndpointPing)
	if err != nil {
		return err
	}
	r, err := s.Intake.Ping(intake.PingRequest{
		ID:              rec.ID,
		Slug:            slug,
		Address:         clientaddr.GroupAddr(rec.Client),
		Body:            rec.Body,
		ContentEncoding: c.Request.Header.Get("Content-Encoding"),
	})
	rec.Partner = r.Quote.Partner
	if err != nil {
		return err
	}
	rec.Outcome = cmp.Or(r.Reason, string(models.OutcomePriced))
	rec.Answer = appendPing(rec.Answer, &r)
	s.setTimingHeaders(c, rec, &r.Quote, r.Industry, r.Timing)
	write(c, rec, http.StatusOK)
	return nil
}

// appendPing appends the response to a ping, in one of two forms:
//
//	{"accepted":true,"bidPrice":45.6,"currency":"GBP","transactionId":"tx_…","expiresAt":"2026-01-02T03:19:05.678Z"}
//	{"accepted":false,"bidPrice":0,"currency":"EUR","reason":"excluded"}
//
// Both forms can have warnings (see appendWarnings).
//
// bidPrice is in major units. The responses to pings and posts are built by appending text, not by
// marshalling, because amounts are exact decimals (decision 10) and few of the strings need escaping.
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
		return appendWarnings(append(b, '"'), r.Warnings)
	}
	b = append(b, `","transactionId":"`...)
	b = append(b, r.TransactionID...)
	b = append(b, `","expiresAt":"`...)
	b = clock.AppendMillis(b, r.Quote.ExpiresAt())
	return appendWarnings(append(b, '"'), r.Warnings)
}

// appendWarnings appends the warnings, if there are any, and the end of the response:
//
//	,"warnings":[{"code":"country_alias","path":["country"],"message":"UK was read as GB …"}]}
func appendWarnings(b []byte, warnings []payload.Warning) []byte {
	for i, w := range warnings {
		if i == 0 {
			b = append(b, `,"warnings":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"code":"`...), w.Code...), `","path":["`...)
		b = append(append(b, strings.Join(w.Path, `","`)...), `"],"message":"`...)
		b = append(append(b, w.Message...), `"}`...)
	}
	if len(warnings) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
