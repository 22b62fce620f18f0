package api

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// postRejections tests posts that have a valid signature and an invalid body.
func postRejections(t *testing.T, n *node.Node) {
	rejected := func(name, body string, entries ...string) scenario {
		s := scenario{name: name, by: required, body: body, status: http.StatusBadRequest, not: []string{"leadId"}}
		if s.want = invalidBody(); entries != nil {
			s.want = append([]string{spec.InvalidPost.Start() + `,"errors":[` + entries[0]}, entries...)
			s.errors = len(entries)
		}
		return s
	}
	const tx, email, yes = `"transactionId":"$TX"`, `"email":"` + node.PersonEmail + `"`, `"consent":{"acknowledged":true}`
	noConsent := func(code string) string { return entry(code, "consent", "acknowledged") + spec.ConsentRequired + `"}` }
	play(t, n, []scenario{
		rejected("invalid JSON", `{`+tx+`,`+email+`,`+yes),
		rejected("no body", ""),
		rejected("an empty object", `{}`, entry("required", "transactionId"), entry("required", "contact", "email"),
			noConsent("required")),
		rejected("no transactionId", `{`+email+`,`+yes+`}`, entry("required", "transactionId")),
		rejected("a number as a transactionId", `{"transactionId":7,`+email+`,`+yes+`}`, entry("invalid_type", "transactionId")),
		rejected("no email address", `{`+tx+`,"contact":{"name":"`+node.Marker+`"},`+yes+`}`,
			entry("required", "contact", "email")),
		rejected("no consent", `{`+tx+`,`+email+`}`, noConsent("required")),
		rejected("null as consent", `{`+tx+`,`+email+`,"consent":null}`, noConsent("required")),
		rejected("null as acknowledged", `{`+tx+`,`+email+`,"consent":{"acknowledged":null}}`, noConsent("required")),
		rejected("consent not acknowledged", `{`+tx+`,`+email+`,"consent":{"acknowledged":false}}`, noConsent("invalid_value")),
		rejected("a string as acknowledged", `{`+tx+`,`+email+`,"consent":{"acknowledged":"true"}}`, noConsent("invalid_type")),
		rejected("a number as acknowledged", `{`+tx+`,`+email+`,"consent":{"acknowledged":1}}`, noConsent("invalid_type")),
		rejected("true as consent", `{`+tx+`,`+email+`,"consent":true}`, noConsent("invalid_type")),
		rejected("an invalid email address", `{`+tx+`,"email":"`+node.Marker+`",`+yes+`}`, entry("invalid_value", "email")),
		rejected("two email addresses",
			`{`+tx+`,"contact":{"email":"a@`+node.Marker+`.example, b@c.example"},`+yes+`}`,
			entry("invalid_value", "contact", "email")),
		rejected("a number as a contact", `{`+tx+`,"contact":7,`+yes+`}`, entry("invalid_type", "contact"),
			entry("required", "contact", "email")),
		rejected("a phone not in E.164", `{`+tx+`,"contact":{`+email+`,"phoneE164":"`+node.PersonLocal+`"},`+yes+`}`,
			entry("invalid_value", "contact", "phoneE164")),
		rejected("an empty partnerId", `{`+tx+`,"partnerId":"",`+email+`,`+yes+`}`, entry("invalid_value", "partnerId")),
		rejected("strings that are too long", `{`+tx+`,"email":"`+strings.Repeat("a", 250)+`@b.example","name":"`+
			strings.Repeat("ä", 201)+`","phone":"`+strings.Repeat("1", 65)+
			`","address":"`+strings.Repeat("x", 501)+`","postcode":"12345678901234567","notes":"`+
			strings.Repeat("x", 10001)+`",`+yes+`}`,
			entry("too_long", "email"), entry("too_long", "name"), entry("too_long", "phone"), entry("too_long", "postcode"), entry("too_long", "address"), entry("too_long", "notes")),
		rejected("an invalid consent record", `{`+tx+`,`+email+
			`,"consent":{"acknowledged":true,"acknowledgedAt":"yesterday, says `+node.Marker+`","recipientHash":"abc",
			"thirdPartyFormCertUrl":"http://c.example/`+node.Marker+`","thirdPartyLeadId":7,"disclosureText":["`+
			node.Marker+`"]}}`,
			entry("invalid_value", "consent", "acknowledgedAt"), entry("invalid_type", "consent", "disclosureText"), entry("invalid_value", "consent", "recipientHash"),
			entry("invalid_value", "consent", "thirdPartyFormCertUrl"), entry("invalid_type", "consent", "thirdPartyLeadId")),
		rejected("an array as answers", `{`+tx+`,`+email+`,`+yes+`,"answers":["`+node.Marker+`"]}`,
			entry("invalid_type", "answers")),
		rejected("too many answers", `{`+tx+`,`+email+`,`+yes+`,"answers":{`+manyKeys(101)+`}}`, entry("too_many", "answers")),
		rejected("names in different letter case", `{"transactionid":"$TX","Email":"`+node.PersonEmail+
			`","Consent":{"acknowledged":true}}`,
			entry("required", "transactionId"), entry("required", "contact", "email"), noConsent("required")),
	})
}

func manyKeys(count int) string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = `"` + node.Marker + strings.Repeat("x", i) + `":1`
	}
	return strings.Join(keys, ",")
}

// transactions tests the format, age and owner of the transactionId.
func transactions(t *testing.T, n *node.Node) {
	badForm := func(name string, change func(tx string) string) scenario {
		tx := change(n.Ping(t, n.Required.Base(), node.MinimalPing).TransactionID)
		return scenario{
			name: name, by: required, body: node.WithTransaction(node.MinimalPost, tx),
			status: http.StatusBadRequest, want: rejection(spec.InvalidTransactionID),
		}
	}
	same := func(tx string) string { return tx }
	other := badForm("quoted for another partner", same)
	other.by = off
	own := scenario{
		name: "quoted for another partner, on the shared base URL",
		by:   off,
		path: "/api/lead/post",
		body: strings.Replace(node.WithTransaction(node.MinimalPost,
			n.Ping(t, n.Required.Base(), node.MinimalPing).TransactionID),
			"{", `{"partnerId":"`+n.Off.Accounts[0]+`",`, 1),
		status: http.StatusBadRequest,
		want:   rejection(spec.InvalidTransactionID),
	}
	play(t, n, []scenario{
		{
			name:   "a quote that the service can no longer honour",
			by:     required,
			body:   node.WithTransaction(node.MinimalPost, unknownIndustry(t, n)),
			status: http.StatusInternalServerError,
			want:   []string{`again.","code":"internal_error"}`},
		},
		badForm("not a transactionId", func(string) string { return node.Marker }),
		badForm("empty", func(string) string { return "" }),
		badForm("without the prefix", func(tx string) string { return tx[3:] }),
		badForm("the prefix in upper case", func(tx string) string { return "TX_" + tx[3:] }),
		badForm("the prefix only", func(string) string { return "tx_" }),
		badForm("cut off", func(tx string) string { return tx[:len(tx)-1] }),
		badForm("longer", func(tx string) string { return tx + "A" }),
		badForm("padded", func(tx string) string { return tx + "=" }),
		badForm("a character changed", func(tx string) string { return swap(tx, 40) }),
		badForm("the last character changed", func(tx string) string { return swap(tx, len(tx)-1) }),
		badForm("the standard base64 alphabet", func(tx string) string { return tx[:20] + "+/" + tx[22:] }),
		badForm("a line break inside", func(tx string) string { return tx[:20] + `\n` + tx[20:] }),
		badForm("a leading space", func(tx string) string { return " " + tx }),
		other, own,
		{name: "after exactly 15 minutes", by: required, body: node.MinimalPost, wait: 15 * time.Minute, status: http.StatusOK, stored: node.OneLead},
		{name: "a millisecond later", by: required, body: node.MinimalPost, wait: 15*time.Minute + time.Millisecond,
			status: http.StatusBadRequest, want: rejection(spec.TransactionExpired)},
		{
			name:   "after a day",
			by:     required,
			body:   node.MinimalPost,
			wait:   24 * time.Hour,
			status: http.StatusBadRequest,
			want:   rejection(spec.TransactionExpired),
		},
		{
			name:   "5 seconds before its ping",
			by:     required,
			body:   node.MinimalPost,
			wait:   -5 * time.Second,
			status: http.StatusOK,
			stored: node.OneLead,
		},
		{name: "more than 5 seconds before its ping", by: required, body: node.MinimalPost, wait: -5001 * time.Millisecond,
			status: http.StatusBadRequest, want: rejection(spec.InvalidTransactionID)},
	})
}

// swap replaces one character in a transactionId or signature with a digit, because digits
// are valid in both and have no letter case.
func swap(text string, at int) string {
	other := "0"
	if text[at] == '0' {
		other = "1"
	}
	return text[:at] + other + text[at+1:]
}

// unknownIndustry uses the node's own key to seal a quote for an industry that is not in the taxonomy.
// No other request can cause an unexpected error.
func unknownIndustry(t *testing.T, n *node.Node) string {
	t.Helper()
	sealer, err := quote.NewSealer(n.Keys.QuoteKeys())
	if err != nil {
		t.Fatal(err)
	}
	var random [quote.RandomSize]byte
	rand.Read(random[:])
	tx, _, err := sealer.Seal(nil, quote.Quote{
		Price: money.Amount{Minor: 4560, Currency: money.GBP}, Country: [2]byte{'G', 'B'}, TermID: 60_000,
		Postcode: "SW1A 1AA", CardVersion: 1, Partner: n.Required.ID,
	}, n.Clock.Now(), random)
	if err != nil {
		t.Fatal(err)
	}
	return string(tx)
}
