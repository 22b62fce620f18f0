package intake_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
)

// storedLead returns the row of a lead.
func (n *node) storedLead(t testing.TB, lead uuid.UUID) models.Lead {
	t.Helper()
	var row models.Lead
	if err := n.DB.Gorm.Take(&row, "id = ?", lead).Error; err != nil {
		t.Fatal(err)
	}
	return row
}

// storedKey returns the row of a lead's keys.
func (n *node) storedKey(t testing.TB, lead uuid.UUID) (row models.LeadKey) {
	t.Helper()
	if err := n.DB.Gorm.Take(&row, "lead_id = ?", lead).Error; err != nil {
		t.Fatal(err)
	}
	return row
}

// contact decrypts the contact record of a stored lead.
func (n *node) contact(t testing.TB, row models.Lead) (c leads.Contact) {
	t.Helper()
	keys := n.storedKey(t, row.ID)
	key := n.Wrappers.Unwrap(t.Context(), [][]byte{keys.WrappedKey})[0]
	if key.Err != nil {
		t.Fatal(key.Err)
	}
	plain, err := envelope.Open(envelope.Envelope{
		Ciphertext: row.Ciphertext, IV: row.IV, AuthTag: row.AuthTag, Salt: keys.Salt, Wrapped: keys.WrappedKey,
	}, key.Key, row.ID, row.PartnerID)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// quotedColumns are the columns of a lead that are copied from its quote (decision 2).
type quotedColumns struct {
	transaction            uuid.UUID
	transactionID          string
	industry, urgency      string
	termID, cardVersion    int
	partner                uuid.UUID // uuid.Nil for null
	country, postcode      string
	at                     time.Time
	minor                  int64
	currency               string
	leadCountry, leadPlace string // of the lead, not of the quote
}

func columnsOf(row models.Lead) quotedColumns {
	c := quotedColumns{
		transaction:   row.ID,
		transactionID: row.TransactionID,
		industry:      row.Industry,
		urgency:       row.Urgency,
		termID:        row.TermID,
		cardVersion:   row.CardVersion,
		country:       row.QuotedCountry,
		postcode:      row.QuotedPostcode,
		at:            row.QuotedAt.UTC(),
		minor:         row.PriceMinor,
		currency:      row.Currency,
		leadCountry:   row.Country,
		leadPlace:     row.Postcode,
	}
	if row.QuotedPartner != nil {
		c.partner = *row.QuotedPartner
	}
	return c
}

// The row of a lead contains its complete quote and the transactionId that the partner received.
// Later changes to prices and partners do not affect it.
func TestLeadRowContainsItsQuote(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.Card.Get().Version = 7 // a new database has 1
	for _, c := range []struct {
		name, slug, ping string
		members          []string // of the post
		want             quotedColumns
	}{
		{
			"own base URL", n.Required.Slug, `{"industry":"roofer","postcode":" 75001 ","country":"fr","urgency":" Emergency "}`,
			[]string{`"location":{"country":"us","postcode":"10001"}`},
			quotedColumns{
				industry: "roofer", urgency: "emergency", partner: n.Required.ID, country: "FR", postcode: "75001",
				currency: "EUR", leadCountry: "US", leadPlace: "10001",
			},
		},
		{
			"shared base URL", shared, `{"vertical":"plumber","postal_code":"É1","urgency":"flexible"}`, nil,
			quotedColumns{
				industry: "plumber", urgency: "flexible", country: "GB", postcode: "É1",
				currency: "GBP", leadCountry: "GB", leadPlace: "É1",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.at = n.Time.Now()
			ping := n.ping(t, c.slug, c.ping)
			c.want.transaction, c.want.transactionID, c.want.cardVersion = ping.Quote.ID, string(ping.TransactionID), 7
			c.want.termID, c.want.minor = ping.Quote.TermID, ping.Quote.Price.Minor
			n.Time.Advance(3*time.Minute + 7*time.Millisecond)
			post := n.post(t, n.signed(n.Required, n.Required.Slug, body(string(ping.TransactionID), c.members...)))
			row := n.storedLead(t, post.LeadID)
			if got := columnsOf(row); got != c.want {
				t.Errorf("stored\n%+v\nwant\n%+v", got, c.want)
			}
			if !row.ReceivedAt.Equal(n.Time.Now()) || c.want.termID == 0 || c.want.minor == 0 {
				t.Errorf("got time %s, term %d and %d minor units", row.ReceivedAt, c.want.termID, c.want.minor)
			}
		})
	}
}

// A lead is found by keyed digests of the normalised email address and phone number, in
// any spelling (decision 20).
func TestLookupDigestsUseNormalisedForms(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, c := range map[string]struct {
		contact, email, phone string // phone "" for no digest
		flagged               bool
	}{
		"letter case": {`"email":"Ann.SMITH@Example.COM"`, "ann.smith@example.com", "", false},
		"a phone in E.164": {`"email":"ann@example.com","phoneE164":"+442079460958"`, "ann@example.com",
			"+442079460958", false},
		"a phone as dialled": {`"email":"ann@example.com","phone":"(020) 7946-0958"`, "ann@example.com",
			"+442079460958", false},
		"a phone from abroad": {`"email":"ann@example.com","phone":"00 33 1 42 68 53 00"`, "ann@example.com",
			"+33142685300", false},
		"an invalid phone number": {`"email":"ann@example.com","phone":"after six"`, "ann@example.com", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			post := n.post(t, n.signed(n.Required, n.Required.Slug, body(n.quote(t, shared), `"contact":{`+c.contact+`}`)))
			row := n.storedLead(t, post.LeadID)
			if !bytes.Equal(row.EmailDigest, n.Keys.Digest(keyring.Lookup, []byte(c.email))) {
				t.Errorf("got email digest %x, want that of %s", row.EmailDigest, c.email)
			}
			var want []byte
			if c.phone != "" {
				want = n.Keys.Digest(keyring.Lookup, []byte(c.phone))
			}
			if !bytes.Equal(row.PhoneDigest, want) || row.PhoneFlagged != c.flagged {
				t.Errorf("got phone digest %x, flagged %[3]t; want that of %[2]q", row.PhoneDigest, c.phone, row.PhoneFlagged)
			}
			if other := testkit.PlatformKeys(t, 2); other.Matches(keyring.Lookup, []byte(c.email), row.EmailDigest) {
				t.Error("the digest is not keyed")
			}
		})
	}
}

// The row contains the wrapper and version of the wrapping key, which are also in the wrapped
// key. Key rotation uses these columns.
func TestLeadRowContainsItsWrappingKey(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	row := n.storedKey(t, n.post(t, n.signed(n.Required, n.Required.Slug, body(n.quote(t, shared)))).LeadID)
	wrapper, version, err := n.Wrappers.CurrentKeyVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if row.KeyWrapper != wrapper || row.KeyVersion != version ||
		!strings.HasPrefix(string(row.WrappedKey), wrapper+":"+version+":") {
		t.Errorf("got %q, %q; want %q, %q", row.KeyWrapper, row.KeyVersion, wrapper, version)
	}
}

// A phone number is interpreted for the lead's country, which can differ from the quote's
// (decision 17).
func TestPhoneUsesTheLeadsCountry(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const inParis, inLondon = "01 42 68 53 00", "020 7946 0958"
	for _, c := range []struct{ name, quoted, lead, phone, want string }{
		{"a lead in France on a British quote", "GB", "FR", inParis, "+33142685300"},
		{"a British lead on a French quote", "FR", "GB", inLondon, "+442079460958"},
		{"a lead without a country on a French quote", "FR", "", inParis, "+33142685300"},
		{"a lead without a country on a British quote", "GB", "", inLondon, "+442079460958"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ping := n.ping(t, shared, `{"industry":"plumber","postcode":"1","country":"`+c.quoted+`"}`)
			b := body(string(ping.TransactionID), `"phone":"`+c.phone+`"`, `"country":"`+c.lead+`"`)
			row := n.storedLead(t, n.post(t, n.signed(n.Required, n.Required.Slug, b)).LeadID)
			got := n.contact(t, row)
			if got.E164 != c.want || got.Phone != c.phone || row.PhoneFlagged {
				t.Errorf("%q: got %q (stored as %q, flagged %t), want %q", c.phone, got.E164, got.Phone, row.PhoneFlagged, c.want)
			}
			if !bytes.Equal(row.PhoneDigest, n.Keys.Digest(keyring.Lookup, []byte(c.want))) {
				t.Error("the phone digest is of a different number")
			}
		})
	}
}

// The first event in the timeline contains the ID of the request that delivered the lead, and
// whether the request was signed.
func TestTimelineContainsTheRequest(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, c := range map[string]struct {
		send     func([]byte) (requestID uuid.UUID, lead uuid.UUID)
		verified string
	}{
		"signed": {func(b []byte) (uuid.UUID, uuid.UUID) {
			r := n.signed(n.Off, n.Off.Slug, b)
			return r.ID, n.post(t, r).LeadID
		}, "true"},
		"unsigned": {func(b []byte) (uuid.UUID, uuid.UUID) {
			r := unsigned(n.Off.Slug, b)
			return r.ID, n.post(t, r).LeadID
		}, "false"},
	} {
		request, lead := c.send(body(n.quote(t, n.Off.Slug)))
		got := see[string](t, n, `SELECT concat_ws(' ', kind, jsonb_typeof(detail->'hmac_verified'), detail->>'hmac_verified', detail->>'request_id')
			FROM lead_events WHERE lead_id = $1`, lead)
		if want := "delivered boolean " + c.verified + " " + id.Format(id.Request, request); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
