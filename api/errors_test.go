package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// Every error matches the OpenAPI document, has a listed code, and has the X-Request-Id as its requestId,
// whatever is wrong with the request. The method serve of service checks this.
func TestEveryErrorIsAsDocumented(t *testing.T) {
	t.Parallel()
	p := newProducer(t)
	suspended, held := p.suspended("held")
	quoted := map[string]string{p.Required.Slug: p.fresh(p.Required), p.Off.Slug: p.fresh(p.Off), suspended.Slug: held}
	senders := []testkit.Partner{p.Required, p.ReportOnly, p.Off, suspended}
	paths := []string{sharedPing, sharedPost, "/p/nobody" + sharedPost, sharedPing + "/", "/api/industries", "/docs", "/"}
	bodies := []string{leastPing, least("tx_A"), `{"partnerId":"nobody"}`, "", "{}", "[]", "\xff", strings.Repeat("[", 40)}
	for _, sender := range senders {
		paths = append(paths, base(sender, "ping"), base(sender, "post"))
		bodies = append(bodies, strings.Replace(least("tx_A"), "{", `{"partnerId":"`+sender.Accounts[0].Identifier+`",`, 1))
		if body := quoted[sender.Slug]; body != "" {
			bodies = append(bodies, body, body+" ", body+"x")
		}
	}
	errors := 0
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.SampledFrom(bodies), rapid.StringMatching(`[\[\]{}:,"a0 \\]{0,20}`)).Draw(t, "body")
		method := rapid.SampledFrom([]string{"POST", "POST", "POST", "POST", "GET", "HEAD", "OPTIONS", "DELETE"}).Draw(t, "method")
		r := httptest.NewRequest(method, rapid.SampledFrom(paths).Draw(t, "path"), strings.NewReader(body))
		if rapid.Bool().Draw(t, "signed") {
			h := rapid.SampledFrom(senders).Draw(t, "sender").Sign(p.Time.Now(), []byte(body))
			r.Header["X-Timestamp"], r.Header["X-Signature-Sha256"] = h.Timestamp, h.Signature
		}
		for _, name := range []string{"X-Timestamp", "X-Signature-Sha256", "X-Signature", "Content-Encoding"} {
			if rapid.IntRange(0, 5).Draw(t, "change "+name) == 0 {
				r.Header[name] = rapid.SliceOfN(rapid.SampledFrom([]string{"", "1", "gzip", strings.Repeat("0", 64)}), 0, 2).Draw(t, name)
			}
		}
		if a := p.serve(r); a.Code >= http.StatusBadRequest {
			errors++
		}
	})
	if errors < 20 {
		t.Errorf("got %d errors", errors)
	}
}

// Causes that the sender must not be able to tell apart get the same response, apart from its ID
// (decisions 5, 13, 64).
func TestErrorsHideCauses(t *testing.T) {
	t.Parallel()
	p := newProducer(t)
	suspended, held := p.suspended("held")
	other := p.fresh(p.Off)
	named := func(partnerID string) string {
		return strings.Replace(least("tx_A"), "{", `{"partnerId":"`+partnerID+`",`, 1)
	}
	signed := func(secret, body string) *httptest.ResponseRecorder {
		return p.sign(secret, p.Time.Now(), sharedPost, body)
	}
	for code, answers := range map[string][]*httptest.ResponseRecorder{
		"signature_invalid": {
			signed(p.Off.Secret, named(p.Required.Accounts[0].Identifier)),
			signed(p.Required.Secret, named("nobody")),
			signed(suspended.Secret, named(suspended.Accounts[0].Identifier)),
			signed(suspended.Secret, held),
		},
		"signature_missing": {
			p.send(sharedPost, named(p.Required.Accounts[0].Identifier)),
			p.send(sharedPost, named("nobody")),
			p.send(sharedPost, named(suspended.Accounts[0].Identifier)),
			p.send(base(p.Required, "post"), named("nobody")),
		},
		"transaction_invalid": {p.post(p.Required, least("tx_A")), p.post(p.Required, other)},
	} {
		want := comparable(t, answers[0].Body.Bytes())
		for i, a := range answers {
			got := comparable(t, a.Body.Bytes())
			if diff := cmp.Diff(want, got); diff != "" || a.Code != answers[0].Code || got.(map[string]any)["code"] != code {
				t.Errorf("%s, response %d: got status %d, want %d (-want +got):\n%s", code, i, a.Code, answers[0].Code, diff)
			}
		}
	}
}
