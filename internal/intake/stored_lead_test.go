package intake_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
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

// The reference and the subId of a ping are stored with the lead, unless the post contains others
// (decision 63). The response and its replay contain what was stored.
func TestReferenceAndSubID(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	long := strings.Repeat("€", 64) // does not fit in a quote
	for name, c := range map[string]struct {
		ping             string
		post             []string
		reference, subID string
		warned           int
	}{
		"neither":     {},
		"in the ping": {`"reference":"click-1","subId":"banner"`, nil, "click-1", "banner", 0},
		"in the post": {"", []string{`"reference":"click-2"`, `"subId":"mail"`}, "click-2", "mail", 0},
		"in both": {
			`"reference":"click-1","subId":"banner"`, []string{`"subId":"mail"`}, "click-1", "mail", 0,
		},
		"not valid in the post":  {`"reference":"click-1"`, []string{`"reference":7`}, "click-1", "", 1},
		"not valid in the ping":  {`"reference":7,"subId":"banner"`, nil, "", "banner", 1},
		"too long for the quote": {`"reference":"` + long + `","subId":"banner"`, nil, "", "banner", 1},
		"sent again in the post": {`"reference":"` + long + `"`, []string{`"reference":"` + long + `"`}, long, "", 0},
	} {
		ping := n.ping(t, n.Required.Slug, strings.TrimSuffix(leastPing, "}")+strings.TrimSuffix(","+c.ping, ",")+"}")
		if len(ping.TransactionID) > 200 || len(ping.Warnings) > 0 {
			t.Errorf("%s: got a transactionId of %d characters and warnings %v", name, len(ping.TransactionID), ping.Warnings)
		}
		r := n.signed(n.Required, n.Required.Slug, body(string(ping.TransactionID), c.post...))
		first := n.post(t, r)
		for what, got := range map[string]intake.PostResult{"response": first, "replay": n.post(t, r)} {
			if got.Replayed != (what == "replay") || got.Reference != c.reference || got.SubID != c.subID ||
				len(got.Warnings) != c.warned {
				t.Errorf("%s: %s: got %q and %q with warnings %v", name, what, got.Reference, got.SubID, got.Warnings)
			}
		}
		stored := see[string](t, n,
			`SELECT partner_reference || '|' || sub_id || '|' || quoted_postcode FROM leads WHERE id = $1`, first.LeadID)
		if stored != c.reference+"|"+c.subID+"|SW1A 1AA" {
			t.Errorf("%s: stored %s", name, stored)
		}
	}
}

// A ping and a post with UK get the price and the phone number of GB, and a warning. A replay has the same
// warning.
func TestCountryAlias(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	warned := func(what string, warnings []payload.Warning) {
		t.Helper()
		if len(warnings) != 1 || warnings[0].Code != payload.CountryAlias {
			t.Errorf("%s: got warnings %v, want country_alias", what, warnings)
		}
	}
	usual := n.ping(t, shared, leastPing)
	ping := n.ping(t, shared, `{"industry":"plumber","postcode":"SW1A 1AA","country":"UK"}`)
	warned("ping", ping.Warnings)
	if len(usual.Warnings) > 0 || ping.Quote.Price != usual.Quote.Price || ping.Quote.Country != usual.Quote.Country {
		t.Errorf("got price %v and country %s, want those of GB", ping.Quote.Price, ping.Quote.Country)
	}
	r := n.signed(n.Required, n.Required.Slug,
		body(string(ping.TransactionID), `"phone":"020 7946 0018"`, `"country":"uk"`))
	first := n.post(t, r)
	warned("post", first.Warnings)
	warned("replay", n.post(t, r).Warnings)
	if got := see[string](t, n, `SELECT country FROM leads WHERE id = $1`, first.LeadID); got != "GB" {
		t.Errorf("the lead has the country %s", got)
	}
	if see[bool](t, n, `SELECT phone_digest IS NULL FROM leads WHERE id = $1`, first.LeadID) {
		t.Error("the phone number was not normalised")
	}
}

// A doubtful value in an optional field does not cost the lead. The response has a warning, and a retry up to
// the last moment has the same one.
func TestWarnings(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	pinged := n.Time.Now()
	const phoneAt, consentAt = "contact phoneE164", "consent acknowledgedAt"
	contact := func(phone string) string { return `"contact":{"phoneE164":"` + phone + `"}` }
	consent := func(at string) string { return `"consent":{"acknowledged":true,"acknowledgedAt":"` + at + `"}` }
	tomorrow := pinged.Add(24 * time.Hour)
	for name, c := range map[string]struct {
		member string
		want   payload.WarningCode // "" for none
		path   string
	}{
		"valid phone":           {`"phone":"020 7946 0018"`, "", ""},
		"trunk zero":            {contact("+4402079460018"), "", ""},
		"American phone":        {`"phone":"(212) 555-0123"`, payload.PhoneNotNormalised, "phone"},
		"phoneE164 in no range": {contact("+447700900123"), payload.PhoneNotNormalised, phoneAt},
		"words as a phone":      {`"contact":{"phone":"after six"}`, payload.PhoneNotNormalised, "contact phone"},
		"blank phone":           {`"phone":"\u200b "`, "", ""},
		"control character":     {`"name":"Jo\u0007"`, payload.ControlCharacters, "name"},
		"time of consent":       {consent("2026-01-02T03:04:05Z"), "", ""},
		"time without offset":   {consent("2026-01-02T03:04:05"), payload.ConsentTimeWithoutOffset, consentAt},
		"time in 1999":          {consent("1999-12-31T23:59:59Z"), payload.ConsentTimeImplausible, consentAt},
		"time 24 hours ahead":   {consent(tomorrow.Format(time.RFC3339Nano)), "", ""},
		"time further ahead": {
			consent(tomorrow.Add(time.Second).Format(time.RFC3339)), payload.ConsentTimeImplausible, consentAt,
		},
		"last second of year 9999": {consent("9999-12-31T23:59:59Z"), payload.ConsentTimeImplausible, consentAt},
		"other alias":              {`"location":{"country":"el"}`, payload.CountryAlias, "location country"},
	} {
		t.Run(name, func(t *testing.T) {
			n.Time.Set(pinged)
			transaction := n.quote(t, shared)
			member := c.member
			if !strings.HasPrefix(member, `"consent"`) {
				member += `,"consent":{"acknowledged":true}`
			}
			b := []byte(`{"transactionId":"` + transaction + `","email":"ann@example.com",` + member + `}`)
			r := n.signed(n.Required, n.Required.Slug, b)
			first := n.post(t, r)
			var codes []payload.WarningCode
			for _, w := range first.Warnings {
				if codes = append(codes, w.Code); strings.Join(w.Path, " ") != c.path || w.Message == "" {
					t.Errorf("got warning %+v, want one about %s", w, c.path)
				}
			}
			var want []payload.WarningCode
			if c.want != "" {
				want = append(want, c.want)
			}
			if !slices.Equal(codes, want) {
				t.Errorf("got codes %v, want %v", codes, want)
			}
			n.Time.Set(pinged.Add(quote.Validity))
			again := n.post(t, n.signed(n.Required, n.Required.Slug, b))
			if !again.Replayed || !reflect.DeepEqual(again.Warnings, first.Warnings) {
				t.Errorf("a retry: replayed %v, got warnings %v, want %v", again.Replayed, again.Warnings, first.Warnings)
			}
		})
	}
}

// The time of consent is stored as sent. It is a point in time only if it has an offset.
func TestConsentTimeIsStoredAsSent(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for sent, want := range map[string]string{
		"2026-01-02T03:04:05Z":            "2026-01-02 03:04:05",
		"20260102T050405,5+02":            "2026-01-02 03:04:05.5",
		"2026-01-01T24:00:00.000-00:00":   "2026-01-02 00:00:00",
		"2026-01-02T03:04":                "none",
		"1999-01-02t03:04:05z":            "1999-01-02 03:04:05",
		"":                                "none",
		"0001-01-01T00:00:00.0000000001Z": "0001-01-01 00:00:00",
	} {
		b := `{"transactionId":"` + n.quote(t, shared) + `","email":"ann@example.com",` +
			`"consent":{"acknowledged":true,"acknowledgedAt":"` + sent + `"}}`
		lead := n.post(t, n.signed(n.Required, n.Required.Slug, []byte(b))).LeadID
		got := see[string](t, n, `SELECT coalesce(acknowledged_text, '') || '|' ||
			coalesce((acknowledged_at AT TIME ZONE 'UTC')::text, 'none') FROM consents WHERE lead_id = $1`, lead)
		if got != sent+"|"+want {
			t.Errorf("%s: stored %s, want %s", sent, got, want)
		}
	}
}

// A number without a country is not converted to E.164 if it is not valid in Great Britain.
func TestPhoneIsNotReadForTheAssumedCountry(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for phone, want := range map[string]struct{ e164, digest string }{
		"(212) 555-0123": {"", "2125550123"},
		"٢١٢ 555 0123":   {"", "2125550123"},
		"020 7946 0018":  {"+442079460018", "+442079460018"},
		"ask Jo":         {"", ""},
	} {
		post := n.signed(n.Required, n.Required.Slug, body(n.quote(t, shared), `"phone":"`+phone+`"`))
		row := n.storedLead(t, n.post(t, post).LeadID)
		if got := n.contact(t, row); got.E164 != want.e164 || got.Phone != phone || row.PhoneFlagged != (want.e164 == "") {
			t.Errorf("%s: got %q, stored as %q, flagged %t", phone, got.E164, got.Phone, row.PhoneFlagged)
		}
		var digest []byte
		if want.digest != "" {
			digest = n.Keys.Digest(keyring.Lookup, []byte(want.digest))
		}
		if !bytes.Equal(row.PhoneDigest, digest) {
			t.Errorf("%s: the digest is not that of %q", phone, want.digest)
		}
	}
}
