package testkit

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const shop = `
openapi: 3.1.0
info: {title: A shop, version: "1"}
servers: [{url: /}]
paths:
  /orders/{shop}:
    parameters:
      - {name: shop, in: path, required: true, schema: {type: string}}
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [item]
              properties:
                item: {type: string, maxLength: 4}
                at: {type: string, format: date-time}
                colour: {type: string, x-extensible-enum: [red, blue]}
      responses:
        '200': {$ref: '#/components/responses/Ordered'}
        '405': {$ref: '#/components/responses/PostOnly'}
  /stock:
    get:
      responses:
        '200': {$ref: '#/components/responses/Stock'}
        '304': {description: Unchanged., headers: {ETag: {required: true, schema: {type: string}}}}
        '405': {$ref: '#/components/responses/PostOnly'}
components:
  responses:
    Ordered:
      description: Ordered.
      headers:
        X-Count: {required: true, schema: {type: integer, minimum: 1}}
      content:
        application/json:
          schema:
            oneOf:
              - {$ref: '#/components/schemas/Sold'}
              - {$ref: '#/components/schemas/Out'}
    PostOnly:
      description: No.
      headers: {Allow: {required: true, schema: {type: string, enum: [POST]}}}
    NotFound:
      description: No.
      content:
        application/json:
          schema: {type: object, required: [message], properties: {message: {type: string, const: Not Found}, requestId: {type: string}}}
    Stock:
      description: Stock.
      headers: {ETag: {required: true, schema: {type: string}}}
      content:
        application/json:
          schema: {type: object, required: [n], properties: {n: {type: integer}}}
  schemas:
    Sold: {type: object, required: [sold, price], properties: {sold: {type: boolean, const: true}, price: {type: number}}}
    Out: {type: object, required: [sold], properties: {sold: {type: boolean, const: false}, reason: {$ref: '#/components/schemas/Reason'}}}
    Reason: {type: string, x-values: {late: {cause: Late.}, gone: {cause: Gone.}}}
`

func TestValidateExchange(t *testing.T) {
	contract, err := NewContract([]byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	const order, sold = `{"item":"book"}`, `{"sold":true,"price":4.35}`
	counted := http.Header{"X-Count": {"1"}, "Content-Type": {"application/json; charset=utf-8"}}
	identified := http.Header{"X-Request-Id": {"rq_1"}, "Content-Type": {"application/json"}}
	tagged := http.Header{"Etag": {`"1"`}, "Content-Type": {"application/json"}}
	for _, c := range []struct {
		name              string
		method, path, req string
		valid             bool
		status            int
		header            http.Header
		resp              string
		want              string // part of the error; "" if the exchange is valid
	}{
		{"sold", "POST", "/orders/x", order, true, 200, counted, sold, ""},
		{"sold out with a reason", "POST", "/orders/x", order, true, 200, counted, `{"sold":false,"reason":"gone"}`, ""},
		{"an undocumented reason", "POST", "/orders/x", order, true, 200, counted, `{"sold":false,"reason":"lost"}`, "one of"},
		{"a documented colour", "POST", "/orders/x", `{"item":"b","colour":"red"}`, true, 200, counted, sold, ""},
		{"an undocumented colour", "POST", "/orders/x", `{"item":"b","colour":"pink"}`, true, 200, counted, sold, "request:"},
		{"sold out", "POST", "/orders/x", order, true, 200, counted, `{"sold":false}`, ""},
		{"four characters, eight bytes and surrogate pairs", "POST", "/orders/x", `{"item":"😀😀😀😀"}`, true, 200,
			counted, sold, ""},
		{"lower-case letters in a time", "POST", "/orders/x", `{"item":"b","at":"2026-01-02t03:04:05z"}`, true, 200,
			counted, sold, ""},
		{"invalid request on purpose", "POST", "/orders/x", `{`, false, 200, counted, sold, ""},
		{"invalid request by mistake", "POST", "/orders/x", `{}`, true, 200, counted, sold, "request:"},
		{"a long item", "POST", "/orders/x", `{"item":"books"}`, true, 200, counted, sold, "request:"},
		{"a time without an offset", "POST", "/orders/x", `{"item":"b","at":"2026-01-02T03:04:05"}`, true, 200,
			counted, sold, "request:"},
		{"extra field", "POST", "/orders/x", order, true, 200, counted, `{"sold":false,"price":1}`, "additional properties"},
		{"missing field", "POST", "/orders/x", order, true, 200, counted, `{"sold":true}`, "missing property"},
		{"not JSON", "POST", "/orders/x", order, true, 200, counted, `sold`, "decode"},
		{"no header", "POST", "/orders/x", order, true, 200, http.Header{"Content-Type": {"application/json"}}, sold, "X-Count"},
		{"a wrong header", "POST", "/orders/x", order, true, 200, http.Header{
			"X-Count":      {"0"},
			"Content-Type": {"application/json"},
		}, sold, "X-Count"},
		{"another media type", "POST", "/orders/x", order, true, 200, http.Header{
			"X-Count":      {"1"},
			"Content-Type": {"text/plain"},
		}, sold, "Content-Type"},
		{"an undocumented status", "POST", "/orders/x", order, true, 418, counted, sold, "status"},
		{"another method", "DELETE", "/orders/x", "", false, 405, http.Header{"Allow": {"POST"}}, "", ""},
		{"a made-up method", "BREW", "/orders/x", "", false, 405, http.Header{"Allow": {"POST"}}, "", ""},
		{"another method, accepted", "DELETE", "/orders/x", "", false, 200, counted, sold, "status"},
		{"another method without Allow", "DELETE", "/orders/x", "", false, 405, http.Header{}, "", "Allow"},
		{"HEAD where there is only POST", "HEAD", "/orders/x", "", false, 405, http.Header{"Allow": {"POST"}}, "", ""},
		{"another path", "POST", "/order", order, false, 404, tagged, `{"message":"Not Found"}`, ""},
		{"the request's ID", "POST", "/order", order, false, 404, identified, `{"message":"Not Found","requestId":"rq_1"}`, ""},
		{"another request's ID", "POST", "/order", order, false, 404, identified, `{"message":"Not Found","requestId":"rq_2"}`, "rq_2"},
		{"another path, found", "POST", "/order", order, false, 200, counted, sold, "status"},
		{"a trailing slash", "GET", "/stock/", "", false, 404, tagged, `{"message":"Not Found"}`, ""},
		{"stock", "GET", "/stock", "", true, 200, tagged, `{"n":1}`, ""},
		{"unexpected body", "GET", "/stock", order, true, 200, tagged, `{"n":1}`, "not allowed"},
		{"HEAD", "HEAD", "/stock", "", true, 200, tagged, "", ""},
		{"HEAD with a body", "HEAD", "/stock", "", true, 200, tagged, `{"n":1}`, "no body"},
		{"HEAD without its header", "HEAD", "/stock", "", true, 200, http.Header{}, "", "missing"},
		{"unchanged", "GET", "/stock", "", true, 304, tagged, "", ""},
		{"unchanged with a body", "GET", "/stock", "", true, 304, tagged, `{"n":1}`, "no body"},
		{"unchanged without its header", "GET", "/stock", "", true, 304, http.Header{}, "", "ETag"},
		{"unchanged on POST", "POST", "/orders/x", order, true, 304, counted, "", "status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := httptest.NewRequest(c.method, c.path, strings.NewReader(c.req))
			if c.req == "" {
				req = httptest.NewRequest(c.method, c.path, nil)
			}
			err := contract.ValidateExchange(req, []byte(c.req),
				&http.Response{StatusCode: c.status, Header: c.header}, []byte(c.resp), c.valid)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			if req.Method != c.method || req.Header.Get("Content-Type") != "" {
				t.Error("ValidateExchange changed the caller's request")
			}
		})
	}
}

func TestNewContractRejects(t *testing.T) {
	for name, document := range map[string]string{
		"invalid YAML":       "openapi: [",
		"empty document":     "openapi: 3.1.0\ninfo: {title: t, version: '1'}",
		"a broken reference": strings.Replace(shop, "schemas/Out'", "schemas/Gone'", 1),
		"an example of another type": strings.Replace(shop, "schema: {type: object, required: [n]",
			"example: {n: none}\n          schema: {type: object, required: [n]", 1),
	} {
		if _, err := NewContract([]byte(document)); err == nil {
			t.Errorf("%s: the document was accepted", name)
		}
	}
}
