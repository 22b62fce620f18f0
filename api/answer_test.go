package api

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// Responses are built without encoding/json, but must be identical to its output.
func TestResponsesAreWrittenAsJSON(t *testing.T) {
	q := quote.Quote{
		ID:    id.New(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)),
		Price: money.Amount{Minor: 4560, Currency: money.GBP},
	}
	excluded := quote.Quote{Price: money.Amount{Currency: money.EUR}}
	for want, c := range map[string]struct {
		got []byte
		as  any
	}{
		`{"accepted":true,"bidPrice":45.6,"currency":"GBP","transactionId":"tx_AQ-_","expiresAt":"2026-01-02T03:19:05.678Z"}`: {
			appendPing(nil, &intake.PingResult{Accepted: true, Quote: q, TransactionID: []byte("tx_AQ-_")}),
			&struct {
				Accepted      bool        `json:"accepted"`
				BidPrice      json.Number `json:"bidPrice"`
				Currency      string      `json:"currency"`
				TransactionID string      `json:"transactionId"`
				ExpiresAt     time.Time   `json:"expiresAt"`
			}{},
		},
		`{"accepted":false,"bidPrice":0,"currency":"EUR","reason":"excluded"}`: {
			appendPing(nil, &intake.PingResult{Quote: excluded, Reason: "excluded"}),
			&struct {
				Accepted bool        `json:"accepted"`
				BidPrice json.Number `json:"bidPrice"`
				Currency string      `json:"currency"`
				Reason   string      `json:"reason"`
			}{},
		},
		`{"status":"success","leadId":"ld_00000000000000000000000000","payout":45,"currency":"GBP","sandbox":true,` +
			`"transactionId":"tx_AQ-_","hmacVerified":true,` +
			`"envelope":{"piiCiphertext":"+/8=","wrappedDek":"dg==","iv":"AQ==","authTag":"Ag=="}}`: {
			appendPost(nil, &intake.PostResult{
				LeadID:        uuid.Nil,
				Sandbox:       true,
				Payout:        money.Amount{Minor: 4500, Currency: money.GBP},
				TransactionID: "tx_AQ-_",
				HMACVerified:  true,
				Envelope: envelope.Envelope{
					Ciphertext: []byte{0xfb, 0xff},
					Wrapped:    []byte("v"),
					IV:         []byte{1},
					AuthTag:    []byte{2},
				},
			}),
			&struct {
				Status        string      `json:"status"`
				LeadID        string      `json:"leadId"`
				Payout        json.Number `json:"payout"`
				Currency      string      `json:"currency"`
				Sandbox       bool        `json:"sandbox,omitempty"`
				TransactionID string      `json:"transactionId"`
				HMACVerified  bool        `json:"hmacVerified"`
				Envelope      struct {
					PIICiphertext []byte `json:"piiCiphertext"`
					WrappedDEK    []byte `json:"wrappedDek"`
					IV            []byte `json:"iv"`
					AuthTag       []byte `json:"authTag"`
				} `json:"envelope"`
			}{},
		},
	} {
		if string(c.got) != want {
			t.Errorf("got %s, want %s", c.got, want)
		}
		if err := json.Unmarshal(c.got, c.as); err != nil {
			t.Errorf("%s: %v", c.got, err)
		}
		if marshalled, err := json.Marshal(c.as); err != nil || !bytes.Equal(marshalled, c.got) {
			t.Errorf("got %s, encoding/json writes %s (%v)", c.got, marshalled, err)
		}
	}
}
