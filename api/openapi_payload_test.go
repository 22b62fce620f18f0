package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// requestID is the ID in the examples of responses.
const requestID = "rq_01KDY9W27CEFVVVX9QRHKJ8E9C"

// requestError validates a request body against the document and returns the error.
func requestError(contract *testkit.Contract, path, body string) error {
	req := httptest.NewRequest(http.MethodPost, path, nil)
	resp := &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{
		"X-Request-Id": {requestID}, "Allow": {"POST"}, "Content-Type": {"application/json"},
	}}
	rejection := `{"ok":false,"message":"Method Not Allowed","code":"method_not_allowed","requestId":"` + requestID + `"}`
	return contract.ValidateExchange(req, []byte(body), resp, []byte(rejection), true)
}

// parsers returns the service's own parsers for pings and posts.
func parsers(t testing.TB) map[string]func(body string) error {
	t.Helper()
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(string) error{
		"/api/lead/ping": func(body string) error { _, err := payload.ParsePing([]byte(body), taxonomy); return err },
		"/api/lead/post": func(body string) error { _, err := payload.ParsePost([]byte(body)); return err },
	}
}

// Expected results: whether the document and the service accept a body.
const (
	accepted = iota // accepted by both
	rejected        // rejected by both
	beyond          // rejected only by the service, because of a rule in a description
)

func TestDocumentAndServiceAgree(t *testing.T) {
	const ping, post = "/api/lead/ping", "/api/lead/post"
	contract, parse := newContract(t), parsers(t)
	const p, q = `{"industry":"plumber","postcode":"N1"`, `{"transactionId":"tx_A","contact":{"email":"a@b.c"},"consent":{"acknowledged":true}`
	const noContact, noConsent = `{"transactionId":"tx_A","consent":{"acknowledged":true}`, `{"transactionId":"tx_A","email":"a@b.c"`
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{ping, p + `}`, accepted},
		{ping, `[]`, rejected},
		{ping, `{"postcode":"N1"}`, rejected},
		{ping, `{"industry":"plumber"}`, rejected},
		{ping, `{"industry":"Plumber","postcode":"N1"}`, rejected},
		{ping, `{"vertical":"plumber","industry":"","taxonomyTermId":null,"postcode":"N1"}`, accepted},
		{ping, `{"industry":"plumber","vertical":"plumber","postcode":"N1"}`, rejected},
		{ping, `{"taxonomyTermId":1001,"postcode":"N1"}`, accepted},
		{ping, `{"taxonomyTermId":"1001","postcode":"N1"}`, accepted},
		{ping, `{"taxonomyTermId":"01001","postcode":"N1"}`, rejected},
		{ping, `{"taxonomyTermId":1001.5,"postcode":"N1"}`, rejected},
		{ping, `{"taxonomyTermId":1001.0,"postcode":"N1"}`, beyond},
		{ping, `{"taxonomyTermId":999,"postcode":"N1"}`, beyond},
		{ping, `{"industry":"plumber","postcode":10115}`, rejected},
		{ping, `{"industry":"plumber","postcode":"","postal_code":"N1"}`, accepted},
		{ping, `{"industry":"plumber","postcode":" N1","postal_code":"N1 "}`, accepted},
		{ping, `{"industry":"plumber","postcode":"N1","postal_code":"N2"}`, beyond},
		{ping, `{"industry":"plumber","postcode":" "}`, rejected},
		{ping, `{"industry":"plumber","postcode":"\u200b"}`, rejected},
		{ping, `{"industry":"plumber","postcode":"\u200b","postal_code":"\u202aN1\u202c"}`, accepted},
		{ping, `{"industry":" \u00a0","vertical":"plumber","taxonomyTermId":"\u2060","postcode":"N1"}`, accepted},
		{ping, `{"industry":"plumber","postcode":"` + strings.Repeat("\u00a0", 99) + `0123456789ABCDEF\n"}`, accepted},
		{ping, `{"industry":"plumber","postcode":"0123456789ABCDEFG"}`, beyond},
		{ping, p + `,"country":null,"urgency":null,"job_type":null,"jobType":null,"budget":null}`, accepted},
		{ping, p + `,"country":""}`, accepted},
		{ping, p + `,"country":"\u2003de\t"}`, accepted},
		{ping, p + `,"country":"deu"}`, rejected},
		{ping, p + `,"country":"d1"}`, rejected},
		{ping, p + `,"country":" \u200b"}`, accepted},
		{ping, p + `,"urgency":"` + strings.Repeat("😀", 64) + `"}`, accepted},
		{ping, p + `,"urgency":"` + strings.Repeat("a", 65) + `"}`, rejected},
		{ping, p + `,"urgency":3}`, rejected},
		{ping, p + `,"job_type":"` + strings.Repeat("é", 256) + `","jobType":[]}`, accepted},
		{ping, p + `,"job_type":"","jobType":[]}`, accepted},
		{ping, p + `,"job_type":null,"jobType":[]}`, rejected},
		{ping, p + `,"jobType":"` + strings.Repeat("a", 257) + `"}`, rejected},
		{ping, p + `,"budget":"` + strings.Repeat("a", 257) + `"}`, rejected},
		{ping, p + `,"budget":"\u0000"}`, beyond},
		{ping, p + `,"Country":7,"other":{}}`, accepted},
		{ping, p + `,"reference":"` + strings.Repeat("a", 65) + `","subId":7}`, accepted},

		{post, q + `}`, accepted},
		{post, `null`, rejected},
		{post, `{"contact":{"email":"a@b.c"},"consent":{"acknowledged":true}}`, rejected},
		{post, `{"transactionId":null,"contact":{"email":"a@b.c"},"consent":{"acknowledged":true}}`, rejected},
		{post, noContact + `}`, rejected},
		{post, noContact + `,"contact":null,"email":"a@b.c"}`, accepted},
		{post, noContact + `,"contact":"a@b.c","email":"a@b.c"}`, rejected},
		{post, noContact + `,"contact":{"email":null},"email":"a@b.c"}`, accepted},
		{post, noContact + `,"contact":{"email":""},"email":"a@b.c"}`, rejected},
		{post, noContact + `,"email":"` + strings.Repeat("é", 32) + `@` + strings.Repeat("a.", 110) + `c"}`, accepted},
		{post, noContact + `,"email":"` + strings.Repeat("é", 32) + `@` + strings.Repeat("a.", 111) + `c"}`, beyond},
		{post, noContact + `,"email":"\u202a a@b.c\u00a0"}`, accepted},
		{post, noContact + `,"email":"a@b c"}`, rejected},
		{post, noContact + `,"email":"\"a@b\"@c"}`, accepted},
		{post, noContact + `,"email":"a..b@c"}`, beyond},
		{post, q + `,"email":1}`, accepted},
		{post, noConsent + `}`, rejected},
		{post, noConsent + `,"consent":true}`, rejected},
		{post, noConsent + `,"consent":{}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":false}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":"true"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02t03:04:05.123456789z"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04Z"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"20260102T030405,5+0000"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"","recipientHash":"\u200b","thirdPartyFormCertUrl":" "}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":""},"thirdPartyFormCertUrl":"x"}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"20260102T03:04:05Z"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"disclosureText":"` + strings.Repeat("😀", 10_000) + `"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"disclosureText":"` + strings.Repeat("a", 10_001) + `"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"recipientHash":"` + strings.Repeat("aF", 32) + `"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"recipientHash":"` + strings.Repeat("aF", 31) + `"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"HTTPS://[::1]:1/a@b?c"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"http://a"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"https://u@a"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"https://a/%"}}`, beyond},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"https://a/` +
			strings.Repeat("b", 2038) + `"}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"https://a/` +
			strings.Repeat("b", 2039) + `"}}`, beyond},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":" 2026-01-02T03:04Z\u200b",` +
			`"recipientHash":"\n` + strings.Repeat("aF", 32) + `\u00a0","thirdPartyFormCertUrl":"\t https://a/b "}}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04:05.` +
			strings.Repeat("0", 44) + `Z"}}`, beyond},
		{post, noConsent + `,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04 Z"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"recipientHash":"` + strings.Repeat("aF ", 32) + `"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"https://a b"}}`, rejected},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyFormCertUrl":"https://a","thirdPartyLeadId":"t"},"thirdPartyFormCertUrl":1,"thirdPartyLeadId":1}`, accepted},
		{post, noConsent + `,"consent":{"acknowledged":true,"thirdPartyLeadId":" "},"thirdPartyLeadId":1}`, rejected},
		{post, q + `,"thirdPartyFormCertUrl":"https://a","thirdPartyLeadId":"` + strings.Repeat("a", 256) + `"}`, accepted},
		{post, q + `,"thirdPartyFormCertUrl":1}`, rejected},
		{post, q + `,"thirdPartyLeadId":"` + strings.Repeat("a", 257) + `"}`, rejected},
		{post, q + `,"partnerId":"` + strings.Repeat("a", 128) + `"}`, accepted},
		{post, q + `,"partnerId":"` + strings.Repeat("a", 129) + `"}`, rejected},
		{post, q + `,"partnerId":""}`, rejected},
		{post, noContact + `,"contact":{"email":"a@b.c","name":"` + strings.Repeat("é", 200) +
			`","fullName":1},"name":1}`, accepted},
		{post, noContact + `,"contact":{"email":"a@b.c","fullName":"A"},"name":1}`, accepted},
		{post, noContact + `,"contact":{"email":"a@b.c","fullName":1}}`, rejected},
		{post, q + `,"name":"` + strings.Repeat("a", 201) + `"}`, rejected},
		{post, noContact + `,"contact":{"email":"a@b.c","phoneE164":"+442079460018","phone":1},"phone":1}`, accepted},
		{post, noContact + `,"contact":{"email":"a@b.c","phoneE164":"020 7946 0018"}}`, rejected},
		{post, noContact + `,"contact":{"email":"a@b.c","phoneE164":"+44 20\u00a07946\u200b0018 "}}`, accepted},
		{post, noContact + `,"contact":{"email":"a@b.c","phoneE164":"+44-20-7946-0018"}}`, rejected},
		{post, noContact + `,"contact":{"email":"a@b.c","phoneE164":"","phone":"1"}}`, accepted},
		{post, noContact + `,"contact":{"email":"a@b.c","phoneE164":"","phone":1}}`, rejected},
		{post, noContact + `,"contact":{"email":"a@b.c","phone":" "},"phone":1}`, rejected},
		{post, noContact + `,"contact":{"email":"a@b.c","name":"","fullName":" "},"name":1}`, rejected},
		{post, noContact + `,"contact":{"email":"a@b.c","phone":"anything"},"phone":1}`, accepted},
		{post, q + `,"phone":"` + strings.Repeat("1", 65) + `"}`, beyond},
		{post, q + `,"phone":" ` + strings.Repeat("1", 64) + ` "}`, accepted},
		{post, q + `,"location":{"postcode":"N1","postal_code":1,"address":"x","street_address":1,"country":"gb"},"postcode":1,"postal_code":1,"address":1,"country":1}`, accepted},
		{post, q + `,"location":{"postal_code":"N1"},"postcode":1}`, accepted},
		{post, q + `,"location":{"postcode":""},"postcode":"N1"}`, accepted},
		{post, q + `,"location":{"postcode":"","address":""},"postcode":1}`, rejected},
		{post, q + `,"location":{"address":""},"address":1}`, rejected},
		{post, q + `,"location":{"postal_code":1}}`, rejected},
		{post, q + `,"location":null,"postcode":"N1","postal_code":1}`, accepted},
		{post, q + `,"postcode":null,"postal_code":1}`, rejected},
		{post, q + `,"location":{"country":""},"country":"fr"}`, accepted},
		{post, q + `,"location":{"country":""},"country":"fra"}`, rejected},
		{post, q + `,"location":{"street_address":"` + strings.Repeat("a", 501) + `"}}`, rejected},
		{post, q + `,"address":"` + strings.Repeat("é", 500) + `"}`, accepted},
		{post, q + `,"location":[]}`, rejected},
		{post, q + `,"notes":"` + strings.Repeat("😀", 10_000) + `"}`, accepted},
		{post, q + `,"notes":"` + strings.Repeat("a", 10_001) + `"}`, rejected},
		{post, q + `,"answers":{"":null,"` + strings.Repeat("😀", 256) + `":[{}]}}`, accepted},
		{post, q + `,"answers":{"` + strings.Repeat("a", 257) + `":1}}`, rejected},
		{post, q + `,"answers":` + answers(100) + `}`, accepted},
		{post, q + `,"answers":` + answers(101) + `}`, rejected},
		{post, q + `,"answers":[]}`, rejected},
		{post, q + `,"reference":"r-1","subId":"s"}`, accepted},
		{post, q + `,"reference":[],"subId":"` + strings.Repeat("a", 33) + `"}`, accepted},
	} {
		service, document := parse[c.path](c.body), requestError(contract, c.path, c.body)
		if (service == nil) != (c.want == accepted) {
			t.Errorf("%s %.200s: the service returns error %v", c.path, c.body, service)
		}
		if (document == nil) != (c.want != rejected) {
			t.Errorf("%s %.200s: the document returns error %v", c.path, c.body, document)
		}
	}
}

func answers(n int) string {
	all := map[string]int{}
	for i := range n {
		all[string(rune('a'+i%26))+strings.Repeat("x", i/26)] = i
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// validValues are valid values of fields. A name that occurs in two objects has the same values in
// both.
var validValues = map[string][]string{
	"name":                  {`"A"`},
	"fullName":              {`"😀"`},
	"phoneE164":             {`"+442079460018"`, `"\u202a+44 2079460018\u202c"`, `""`},
	"phone":                 {`"020 7946 0018"`, `""`},
	"postcode":              {`"N1"`, `"\u2003N1\n"`},
	"postal_code":           {`"N1"`},
	"address":               {`"x"`},
	"street_address":        {`""`},
	"country":               {`"gb"`, `""`, `"\u00a0GB "`},
	"urgency":               {`"URGENT"`},
	"job_type":              {`"repair"`},
	"jobType":               {`""`},
	"budget":                {`"100"`},
	"disclosureText":        {`"yes"`},
	"acknowledgedAt":        {`"2026-01-02T03:04:05Z"`, `"20260102T0304"`, `"\u200b20260102T0304 "`},
	"recipientHash":         {`"` + strings.Repeat("0a", 32) + `"`, `"\u00a0` + strings.Repeat("0a", 32) + `\n"`},
	"thirdPartyFormCertUrl": {`"https://a.example/x"`, `" https://a.example/x\u200b"`},
	"thirdPartyLeadId":      {`"t"`},
	"email":                 {`"a@b.c"`},
	"notes":                 {`"\t"`},
	"answers":               {`{}`, `{"a":[1]}`},
	"partnerId":             {`"acme"`},
	"reference":             {`"r-1"`, `7`, `"\u0000"`},
	"subId":                 {`"s"`, `{}`},
}

func TestDocumentAcceptsValidRequests(t *testing.T) {
	contract, parse := newContract(t), parsers(t)
	// object generates an object with some of the named fields. Some of them have invalid values.
	// The service ignores a field's invalid value if a preferred alternative to the field is
	// present.
	object := func(t *rapid.T, label, fixed string, names ...string) string {
		fields := []string{fixed}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, label) {
			values := validValues[name]
			if rapid.IntRange(0, 3).Draw(t, name+" is invalid") == 0 {
				values = []string{`null`, `""`, `" "`, `"\u200b\u00a0"`, `7`, `true`, `{}`, `[]`, `"x"`}
			}
			fields = append(fields, `"`+name+`":`+rapid.SampledFrom(values).Draw(t, name))
		}
		return `{` + strings.Join(fields, ",") + `}`
	}
	// compare checks a body that the service accepts against the document.
	compare := func(t rapid.TB, path, body string) (accepted bool) {
		t.Helper()
		if parse[path](body) != nil {
			return false
		}
		if err := requestError(contract, path, body); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return true
	}
	// Random bodies may all be rejected.
	for path, body := range map[string]string{
		"/api/lead/ping": `{"industry":"plumber","postcode":"SW1A 1AA"}`,
		"/api/lead/post": `{"transactionId":"tx_A","contact":{"email":"a@b.c"},"consent":{"acknowledged":true}}`,
	} {
		if !compare(t, path, body) {
			t.Errorf("the service rejected %s", body)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		path := "/api/lead/ping"
		var body string
		if rapid.Bool().Draw(t, "post") {
			path = "/api/lead/post"
			contact := object(t, "contact", `"email":"a@b.c"`, "name", "fullName", "phoneE164", "phone")
			location := object(t, "location", `"x":0`, "postcode", "postal_code", "address", "street_address", "country")
			consent := object(t, "consent", `"acknowledged":true`, "acknowledgedAt", "recipientHash", "disclosureText", "thirdPartyFormCertUrl", "thirdPartyLeadId")
			body = object(t, "post", `"transactionId":"tx_A","contact":`+contact+`,"location":`+location+`,"consent":`+consent,
				"email", "name", "phone", "postcode", "postal_code", "address", "country", "thirdPartyFormCertUrl", "thirdPartyLeadId", "notes", "answers", "partnerId")
		} else {
			industry := rapid.SampledFrom([]string{`"industry":"plumber"`, `"vertical":"plumber"`,
				`"taxonomyTermId":1028`, `"taxonomyTermId":"1028"`}).Draw(t, "industry")
			body = object(t, "ping", industry, "postcode", "postal_code", "country", "urgency", "job_type", "jobType", "budget")
		}
		compare(t, path, body)
	})
}
