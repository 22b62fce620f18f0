package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/api"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

const sharedPing, sharedPost = "/api/lead/ping", "/api/lead/post"

// producer sends requests that get the responses in the document's examples.
type producer struct {
	*service
	t *testing.T
}

func newProducer(t *testing.T) producer {
	return producer{newService(t, newPlatform(t), nil, nil), t}
}

// transaction sends a ping to a base URL and returns its transactionId.
func (p producer) transaction(path string) string {
	p.t.Helper()
	var quoted struct{ TransactionID string }
	if a := p.send(path, leastPing); json.Unmarshal(a.Body.Bytes(), &quoted) != nil || quoted.TransactionID == "" {
		p.t.Fatalf("got %d %s, want a price", a.Code, a.Body)
	}
	return quoted.TransactionID
}

// post sends a post to the partner's own base URL, signed now.
func (p producer) post(by testkit.Partner, body string) *httptest.ResponseRecorder {
	return p.sign(by.Secret, p.Time.Now(), base(by, "post"), body)
}

// fresh returns a post for a new quote of the partner.
func (p producer) fresh(by testkit.Partner) string { return least(p.transaction(base(by, "ping"))) }

// delivered returns the body of a post that has delivered a lead.
func (p producer) delivered(by testkit.Partner) string {
	p.t.Helper()
	body := p.fresh(by)
	if a := p.post(by, body); a.Code != http.StatusOK {
		p.t.Fatalf("got %d %s, want a delivery", a.Code, a.Body)
	}
	return body
}

// headers sends a post with the given headers.
func (p producer) headers(headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, base(p.Required, "post"), strings.NewReader(least("tx_A")))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return p.serve(r)
}

func (p producer) expire() { p.Time.Advance(quote.Validity + time.Millisecond) }

// with returns a producer whose platform differs in some parts.
func (p producer) with(change func(*testkit.Platform)) producer {
	p.t.Helper()
	other := *p.Platform
	change(&other)
	return producer{newService(p.t, &other, nil, nil), p.t}
}

// withoutLeads returns a producer that cannot read or store leads.
func (p producer) withoutLeads() producer {
	pool, err := pgxpool.NewWithConfig(context.Background(), p.DB.Pool.Config())
	if err != nil {
		p.t.Fatal(err)
	}
	pool.Close()
	return p.with(func(other *testkit.Platform) { other.Leads = leads.NewStore(pool) })
}

// suspended adds a partner and suspends it. It returns the partner, and a post for a quote from before the suspension.
func (p producer) suspended(slug string) (testkit.Partner, string) {
	p.t.Helper()
	partner := p.AddPartner(p.t, slug, models.SigningRequired)
	p.Reload(p.t)
	body := p.fresh(partner)
	if err := p.Partners.SetStatus(p.t.Context(), scope.System, partner.ID, models.PartnerSuspended); err != nil {
		p.t.Fatal(err)
	}
	p.Reload(p.t)
	return partner, body
}

func (p producer) stamp() string { return strconv.FormatInt(p.Time.Now().Unix(), 10) }

// produced are the requests that produce the examples in the document, by their names. The name of an example with
// status 200 follows the name of its response.
var produced = map[string]func(producer) *httptest.ResponseRecorder{
	"Priced priced": func(p producer) *httptest.ResponseRecorder { return p.send(sharedPing, leastPing) },
	"Priced declined": func(p producer) *httptest.ResponseRecorder {
		partner, _ := p.suspended("pinging")
		return p.send(base(partner, "ping"), leastPing)
	},
	"Priced warning": func(p producer) *httptest.ResponseRecorder {
		return p.send(sharedPing, `{"industry":"plumber","postcode":"SW1A 1AA","country":"UK"}`)
	},
	"Delivered delivered": func(p producer) *httptest.ResponseRecorder {
		return p.post(p.Required, strings.Replace(p.fresh(p.Required), "{", `{"reference":"click-82514","subId":"search-ads",`, 1))
	},
	"Delivered sandbox": func(p producer) *httptest.ResponseRecorder {
		fields := fmt.Sprintf(`{"partnerId":%q,"location":{"country":"UK"},`, p.Required.Accounts[1].Identifier)
		return p.post(p.Required, strings.Replace(p.fresh(p.Required), "{", fields, 1))
	},

	"InvalidJSON": func(p producer) *httptest.ResponseRecorder { return p.send(sharedPing, `{"industry":"plumber",}`) },
	"InvalidPing": func(p producer) *httptest.ResponseRecorder { return p.send(sharedPing, `{"postcode":75001}`) },
	"InvalidPost": func(p producer) *httptest.ResponseRecorder { return p.post(p.Required, `{"transactionId":"tx_A"}`) },
	"UnknownPartnerId": func(p producer) *httptest.ResponseRecorder {
		return p.post(p.Required, strings.Replace(p.fresh(p.Required), "{", `{"partnerId":"nobody",`, 1))
	},
	"InvalidTransactionId": func(p producer) *httptest.ResponseRecorder { return p.post(p.Required, least("tx_A")) },
	"Expired": func(p producer) *httptest.ResponseRecorder {
		body := p.fresh(p.Required)
		p.expire()
		return p.post(p.Required, body)
	},
	"ExpiredUnsigned": func(p producer) *httptest.ResponseRecorder {
		body := p.delivered(p.Off)
		p.expire()
		return p.send(base(p.Off, "post"), body)
	},
	"ExpiredAfterDelivery": func(p producer) *httptest.ResponseRecorder {
		body := p.delivered(p.Required)
		p.expire()
		return p.post(p.Required, body)
	},
	"ExpiredUnknown": func(p producer) *httptest.ResponseRecorder {
		body := p.delivered(p.Required)
		p.expire()
		return p.withoutLeads().post(p.Required, body)
	},
	"NoTimestamp": func(p producer) *httptest.ResponseRecorder {
		return p.headers("X-Signature-SHA256", strings.Repeat("0", 64))
	},
	"TimestampFormat": func(p producer) *httptest.ResponseRecorder {
		return p.headers("X-Timestamp", "now", "X-Signature-SHA256", strings.Repeat("0", 64))
	},
	"TimestampWindow": func(p producer) *httptest.ResponseRecorder {
		return p.headers("X-Timestamp", p.stamp()+"000", "X-Signature-SHA256", strings.Repeat("0", 64))
	},
	"MalformedSignature": func(p producer) *httptest.ResponseRecorder {
		return p.headers("X-Timestamp", p.stamp(), "X-Signature-SHA256", "sha256="+strings.Repeat("0", 64))
	},
	"WrongSignature": func(p producer) *httptest.ResponseRecorder {
		return p.headers("X-Timestamp", p.stamp(), "X-Signature-SHA256", strings.Repeat("0", 64))
	},
	"NoSignature": func(p producer) *httptest.ResponseRecorder { return p.headers() },
	"NotActive": func(p producer) *httptest.ResponseRecorder {
		partner, body := p.suspended("posting")
		return p.post(partner, body)
	},
	"NotFound":       func(p producer) *httptest.ResponseRecorder { return p.send(sharedPing+"/", leastPing) },
	"UnknownBaseURL": func(p producer) *httptest.ResponseRecorder { return p.send("/p/nobody"+sharedPing, leastPing) },
	"MethodNotAllowed": func(p producer) *httptest.ResponseRecorder {
		return p.serve(httptest.NewRequest(http.MethodGet, sharedPing, nil))
	},
	"AlreadyDelivered": func(p producer) *httptest.ResponseRecorder {
		return p.post(p.Required, p.delivered(p.Required)+" ")
	},
	"AlreadyDeliveredByOther": func(p producer) *httptest.ResponseRecorder {
		body := least(p.transaction(sharedPing))
		p.post(p.Off, body)
		return p.post(p.Required, body)
	},
	"AlreadyDeliveredUnsigned": func(p producer) *httptest.ResponseRecorder {
		return p.send(base(p.Off, "post"), p.delivered(p.Off)+" ")
	},
	"RequestTimeout": func(p producer) *httptest.ResponseRecorder {
		return p.serve(httptest.NewRequest(http.MethodPost, sharedPing, iotest.ErrReader(io.ErrUnexpectedEOF)))
	},
	"TooLarge": func(p producer) *httptest.ResponseRecorder {
		return p.send(sharedPing, strings.Repeat(" ", api.MaxBody+1))
	},
	"UnidentifiedTooLarge": func(p producer) *httptest.ResponseRecorder {
		return p.sign(p.Required.Secret, p.Time.Now(), sharedPost, strings.Repeat(" ", 16<<10+1))
	},
	"TooManyRequests": func(p producer) *httptest.ResponseRecorder {
		limited := newLimitedService(p.t, p.Platform, nil, nil, intake.Settings{SharedPingRate: 1})
		limited.send(sharedPing, leastPing)
		return limited.send(sharedPing, leastPing)
	},
	"TooManyInvalidSignatures": func(p producer) *httptest.ResponseRecorder {
		p.sign("another secret", p.Time.Now(), sharedPost, least("tx_A"))
		return p.sign("another secret", p.Time.Now(), sharedPost, least("tx_A"))
	},
	"Internal": func(p producer) *httptest.ResponseRecorder {
		c := &panicking{Manual: p.Time}
		broken := newService(p.t, p.Platform, nil, c)
		c.armed.Store(true)
		return broken.send(sharedPing, leastPing)
	},
	"NotLoaded": func(p producer) *httptest.ResponseRecorder {
		return p.with(func(other *testkit.Platform) {
			other.Directory = snapshot.New("directory", func(context.Context) (*partners.Directory, error) { return nil, nil })
		}).send(sharedPing, leastPing)
	},
	"NoKey": func(p producer) *httptest.ResponseRecorder {
		body := p.fresh(p.Required)
		return p.with(func(other *testkit.Platform) { other.Wrappers = envelope.NewWrappers(nil) }).post(p.Required, body)
	},
	"NotSaved": func(p producer) *httptest.ResponseRecorder {
		body := p.fresh(p.Required)
		return p.withoutLeads().post(p.Required, body)
	},
}

// varying matches the parts of a response that differ between requests.
var varying = regexp.MustCompile(`"(rq_|tx_|ld_)[A-Za-z0-9_-]+"|"[0-9-]{10}T[0-9:.]{12}Z"|"[A-Za-z0-9+/]{16,}=*"`)

// comparable decodes a body, without the parts that differ between requests.
func comparable(t *testing.T, body []byte) (decoded any) {
	t.Helper()
	if err := json.Unmarshal(varying.ReplaceAll(body, []byte(`"$1"`)), &decoded); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return decoded
}

// TestExamplesAreProduced sends a request for each example of a response to a ping or post. The response
// must have the same body and status, apart from IDs, times and ciphertexts, and match the document.
func TestExamplesAreProduced(t *testing.T) {
	doc, contract, p := loadDocument(t), newContract(t), newProducer(t)
	checked := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		if item.Post == nil {
			continue
		}
		for status, response := range item.Post.Responses.Map() {
			for key, example := range response.Value.Content["application/json"].Examples {
				name := strings.TrimPrefix(example.Ref, "#/components/examples/")
				if name == "" {
					name = strings.TrimPrefix(response.Ref, "#/components/responses/") + " " + key
				}
				if checked[name] {
					continue
				}
				checked[name] = true
				t.Run(name, func(t *testing.T) {
					produce := produced[name]
					if produce == nil {
						t.Fatalf("no request produces the example in %s", path)
					}
					a := produce(producer{p.service, t})
					want, got := comparable(t, encodeExample(t, example.Value.Value)), comparable(t, a.Body.Bytes())
					if diff := cmp.Diff(want, got); diff != "" || strconv.Itoa(a.Code) != status {
						t.Errorf("got status %d, want %s (-example +response):\n%s", a.Code, status, diff)
					}
					if a.Code == http.StatusOK {
						r := httptest.NewRequest(http.MethodPost, path, nil)
						if err := contract.ValidateExchange(r, nil, a.Result(), a.Body.Bytes(), false); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
	}
	for name := range produced {
		if !checked[name] {
			t.Errorf("the document has no example %s", name)
		}
	}
}

// codeRequests contains the requests whose responses contain the examples of the codes in lists. A body without a
// transactionId is sent as a ping. $TX stands for the transactionId of a new quote.
var codeRequests = map[string]map[string]string{
	"FieldCode": {
		"required":      `{"transactionId":"tx_A","consent":{"acknowledged":true}}`,
		"invalid_type":  `{"postcode":75001}`,
		"invalid_value": `{"industry":"plumber","postcode":"SW1A 1AA","country":"GBR"}`,
		"too_long":      strings.Replace(least("tx_A"), "{", `{"notes":"`+strings.Repeat("x", 10_001)+`",`, 1),
		"too_many":      strings.Replace(least("tx_A"), "{", `{"answers":`+answers(101)+`,`, 1),
		"conflict":      `{"industry":"plumber","vertical":"plumber","postcode":"SW1A 1AA"}`,
	},
	"JSONReason": {
		"empty":             " ",
		"compressed":        "\x1f\x8b\x08",
		"byte_order_mark":   "\ufeff" + leastPing,
		"invalid_utf8":      strings.Replace(leastPing, " ", "\xa0", 1),
		"lone_surrogate":    strings.Replace(leastPing, " ", `\ud83d`, 1),
		"invalid_escape":    strings.Replace(leastPing, " ", `\x20`, 1),
		"control_character": strings.Replace(leastPing, " ", "\n", 1),
		"invalid_number":    strings.Replace(leastPing, "}", `,"budget":NaN}`, 1),
		"duplicate_name":    strings.Replace(leastPing, "}", `,"industry":"roofer"}`, 1),
		"too_deep":          strings.Replace(leastPing, "}", `,"x":`+strings.Repeat("[", 32)+strings.Repeat("]", 32)+`}`, 1),
		"truncated":         strings.TrimSuffix(leastPing, "}"),
		"trailing_data":     leastPing + leastPing,
		"syntax":            `{"industry":"plumber",}`,
	},
	"WarningCode": {
		"country_alias":               `{"industry":"plumber","postcode":"SW1A 1AA","country":"UK"}`,
		"control_characters":          withFields(`"contact":{"name":"Ann\tLee"}`),
		"value_ignored":               withFields(`"reference":7`),
		"phone_not_normalised":        withFields(`"contact":{"phone":"(212) 555-0123"}`),
		"consent_time_without_offset": withConsentAt("2026-01-02T03:04:05"),
		"consent_time_implausible":    withConsentAt("1970-01-01T00:00:00Z"),
	},
}

// withFields returns a post with additional fields.
func withFields(fields string) string { return strings.Replace(least("$TX"), "{", "{"+fields+",", 1) }

// withConsentAt returns a post with a time of consent.
func withConsentAt(at string) string {
	return strings.Replace(least("$TX"), `"acknowledged":true`, `"acknowledged":true,"acknowledgedAt":"`+at+`"`, 1)
}

// The example of each code in a list is part of a real response.
func TestExamplesOfCodesAreProduced(t *testing.T) {
	p := newProducer(t)
	schemas := loadDocument(t).Components.Schemas
	for name, requests := range codeRequests {
		values := valuesOf(schemas[name])
		if len(requests) != len(values) {
			t.Errorf("%s: %d codes have a request, want all %d", name, len(requests), len(values))
		}
		for code, body := range requests {
			r := httptest.NewRequest(http.MethodPost, sharedPing, strings.NewReader(body))
			if strings.Contains(body, "transactionId") {
				body = strings.Replace(body, "$TX", p.transaction(base(p.Required, "ping")), 1)
				headers := p.Required.Sign(p.Time.Now(), []byte(body))
				r = httptest.NewRequest(http.MethodPost, base(p.Required, "post"), strings.NewReader(body))
				r.Header["X-Timestamp"], r.Header["X-Signature-Sha256"] = headers.Timestamp, headers.Signature
			}
			if code == "compressed" {
				r.Header.Set("Content-Encoding", "gzip")
			}
			a := p.serve(r)
			var response struct {
				Errors, Warnings []any
				Detail           any
			}
			if err := json.Unmarshal(a.Body.Bytes(), &response); err != nil {
				t.Fatal(err)
			}
			want := comparable(t, encodeExample(t, values[code]["example"]))
			sent := append(append(response.Errors, response.Warnings...), response.Detail)
			if !slices.ContainsFunc(sent, func(got any) bool { return cmp.Equal(got, want) }) {
				t.Errorf("%s %s: got %d %s, want %v", name, code, a.Code, a.Body, want)
			}
		}
	}
}
