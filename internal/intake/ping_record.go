package intake

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// PingRecord is a row of the pings table.
type PingRecord struct {
	Request  uuid.UUID
	Quote    quote.Quote
	IssuedAt time.Time
	Urgency  string // as sent
	JobType  string
	Budget   string
	Outcome  string
	Took     time.Duration
}

// copyPings is a COPY statement in the binary format, which consists of a header, the rows and a
// trailer. A row consists of the number of columns, followed by the length (-1 for null) and the bytes
// of each column. See the PostgreSQL documentation, COPY, "Binary Format". pgx's CopyFrom would encode a row in 3.0 µs
// instead of 0.16 µs. A ping takes 20 µs.
const copyPings = `COPY pings (transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget,
	outcome, price_minor, currency, card_version, request_id, duration_us) FROM STDIN (FORMAT binary)`

const pingColumns = 16

var (
	copyHeader  = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyTrailer = []byte{0xff, 0xff}
)

// postgresEpoch is the time that the value 0 stands for in the binary format of timestamptz.
var postgresEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func appendPing(b []byte, p *PingRecord) []byte {
	q := &p.Quote
	b = binary.BigEndian.AppendUint16(b, pingColumns)
	b = appendUUID(b, q.ID)
	b = appendInt64(b, p.IssuedAt.Sub(postgresEpoch).Microseconds())
	b = appendUUID(b, q.Partner)
	b = appendBool(b, q.Sandbox)
	b = appendInt32(b, int32(q.TermID))
	b = appendText(b, string(q.Country[:]))
	b = appendText(b, q.Postcode)
	b = appendText(b, p.Urgency)
	b = appendText(b, shortened(p.JobType))
	b = appendText(b, shortened(p.Budget))
	b = appendText(b, p.Outcome)
	b = appendInt64(b, q.Price.Minor)
	b = appendText(b, q.Price.Currency.String())
	b = appendInt32(b, int32(q.CardVersion))
	b = appendUUID(b, p.Request)
	return appendInt32(b, microseconds(p.Took))
}

// microseconds returns a duration for a column duration_us, which holds at most 35 minutes.
func microseconds(d time.Duration) int32 { return int32(min(d.Microseconds(), math.MaxInt32)) }

// shortened cuts free text to at most 64 bytes, to limit the size of a row.
func shortened(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

func appendUUID(b []byte, u uuid.UUID) []byte {
	if u == uuid.Nil {
		return append(b, 0xff, 0xff, 0xff, 0xff) // null
	}
	return append(append(b, 0, 0, 0, 16), u[:]...)
}

func appendInt64(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v))
}

func appendInt32(b []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 4), uint32(v))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0, 0, 0, 1, 1)
	}
	return append(b, 0, 0, 0, 1, 0)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}
