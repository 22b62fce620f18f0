package intake_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

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
		"valid phone":              {`"phone":"020 7946 0018"`, "", ""},
		"trunk zero":               {contact("+4402079460018"), "", ""},
		"American phone":           {`"phone":"(212) 555-0123"`, payload.PhoneNotNormalised, "phone"},
		"phoneE164 in no range":    {contact("+447700900123"), payload.PhoneNotNormalised, phoneAt},
		"words as a phone":         {`"contact":{"phone":"after six"}`, payload.PhoneNotNormalised, "contact phone"},
		"blank phone":              {`"phone":"\u200b "`, "", ""},
		"control character":        {`"name":"Jo\u0007"`, payload.ControlCharacters, "name"},
		"time of consent":          {consent("2026-01-02T03:04:05Z"), "", ""},
		"time without offset":      {consent("2026-01-02T03:04:05"), payload.ConsentTimeWithoutOffset, consentAt},
		"time in 1999":             {consent("1999-12-31T23:59:59Z"), payload.ConsentTimeImplausible, consentAt},
		"time 24 hours ahead":      {consent(tomorrow.Format(time.RFC3339Nano)), "", ""},
		"time further ahead":       {consent(tomorrow.Add(time.Second).Format(time.RFC3339)), payload.ConsentTimeImplausible, consentAt},
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

// A number without a country is not read as a number that Great Britain does not have.
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
