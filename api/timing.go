package api

import (
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// setTimingHeaders sets Server-Timing and X-Response-Time (decision 11).
func (s *server) setTimingHeaders(
	c *gin.Context, rec *httpserver.Record, q *quote.Quote, industry string, t intake.Timing,
) {
	total := s.Clock.Now().Sub(rec.Start)
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

// oneMillisecond is the X-Response-Time of nearly all responses. Durations are rounded up.
var oneMillisecond = []string{"1ms"}

// appendMillis appends a duration in milliseconds to three decimal places.
func appendMillis(b []byte, d time.Duration) []byte {
	us := max(d.Microseconds(), 0)
	b = strconv.AppendInt(b, us/1000, 10)
	rest := us % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
