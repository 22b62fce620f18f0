package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pingpost/pingpost/api"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/test/spec"
)

var readContract = sync.OnceValues(func() (*testkit.Contract, error) { return testkit.NewContract(api.Document()) })

func newContract(t testing.TB) *testkit.Contract {
	t.Helper()
	contract, err := readContract()
	if err != nil {
		t.Fatal(err)
	}
	return contract
}

func loadDocument(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Document())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// operations calls visit for every operation, with the path parameters replaced by their
// examples.
func operations(
	doc *openapi3.T, visit func(method, path string, item *openapi3.PathItem, operation *openapi3.Operation),
) {
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for method, operation := range item.Operations() {
			filled := path
			for _, p := range item.Parameters {
				filled = strings.ReplaceAll(filled, "{"+p.Value.Name+"}", fmt.Sprint(p.Value.Example))
			}
			visit(method, filled, item, operation)
		}
	}
}

func TestExamplesAreValid(t *testing.T) {
	contract, doc := newContract(t), loadDocument(t)
	operations(doc, func(method, path string, _ *openapi3.PathItem, operation *openapi3.Operation) {
		for status, response := range operation.Responses.Map() {
			for name, body := range answerExamples(t, response.Value.Content) {
				t.Run(strings.Join([]string{method, path, status, name}, " "), func(t *testing.T) {
					sent := http.Header{}
					for header, h := range response.Value.Headers {
						if h.Value.Example == nil {
							t.Fatalf("header %s has no example", header)
						}
						sent.Set(header, fmt.Sprint(h.Value.Example))
					}
					for mediaType := range response.Value.Content {
						sent.Set("Content-Type", mediaType)
					}
					code, err := strconv.Atoi(status)
					if err != nil {
						t.Fatal(err)
					}
					for _, request := range requestExamples(t, operation) {
						req := httptest.NewRequest(method, path, strings.NewReader(request))
						for _, p := range operation.Parameters {
							req.Header.Set(p.Value.Name, fmt.Sprint(p.Value.Example))
						}
						resp := &http.Response{StatusCode: code, Header: sent}
						if err := contract.ValidateExchange(req, []byte(request), resp, body, true); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
	})
}

// answerExamples returns the examples of a response. If the response is not JSON, answerExamples
// returns the OpenAPI document or an empty body.
func answerExamples(t *testing.T, content openapi3.Content) map[string][]byte {
	all := map[string][]byte{}
	media := content["application/json"]
	if media == nil {
		if content["application/yaml"] != nil {
			all["document"] = api.Document()
		} else {
			all["no body"] = nil
		}
		return all
	}
	if len(media.Examples) == 0 {
		t.Error("a response has no example")
	}
	for name, example := range media.Examples {
		all[name] = encodeExample(t, example.Value.Value)
	}
	return all
}

func requestExamples(t *testing.T, operation *openapi3.Operation) []string {
	if operation.RequestBody == nil {
		return []string{""}
	}
	var all []string
	for _, example := range operation.RequestBody.Value.Content["application/json"].Examples {
		all = append(all, string(encodeExample(t, example.Value.Value)))
	}
	return all
}

func encodeExample(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The test uses the specification's Errors table, followed by the additions in decisions 3, 22 and 64.
func TestEveryErrorIsDocumented(t *testing.T) {
	const ping, post, read = "ping", "post", "industries"
	table := []struct {
		status string
		spec.Rejection
		operations []string
	}{
		{"400", spec.InvalidJSON, []string{ping, post}},
		{"400", spec.InvalidPing, []string{ping}},
		{"400", spec.InvalidPost, []string{post}},
		{"400", spec.TransactionExpired, []string{post}},
		{"400", spec.ExpiredAfterDelivery, []string{post}},
		{"400", spec.ExpiredUnsigned, []string{post}},
		{"400", spec.ExpiredUnknown, []string{post}},
		{"400", spec.InvalidTransactionID, []string{post}},
		{"401", spec.TimestampMissing, []string{post}},
		{"401", spec.TimestampFormat, []string{post}},
		{"401", spec.TimestampWindow, []string{post}},
		{"401", spec.BadSignature, []string{post}},
		{"401", spec.MalformedSignature, []string{post}},
		{"401", spec.SignatureMissing, []string{post}},
		{"405", spec.MethodNotAllowed, []string{ping, post, read}},
		{"503", spec.NoKeyWrapper, []string{post}},
		{"503", spec.NotSaved, []string{post}},
		{"503", spec.NotLoaded, []string{ping}},
		{"403", spec.NotActive, []string{"postOnOwnBaseURL"}},
		{"404", spec.NotFound, []string{"pingOnOwnBaseURL", "postOnOwnBaseURL"}},
		{"404", spec.UnknownBaseURL, []string{"pingOnOwnBaseURL", "postOnOwnBaseURL"}},
		{"409", spec.AlreadyDelivered, []string{post}},
		{"409", spec.AlreadyDeliveredByOther, []string{post}},
		{"409", spec.AlreadyDeliveredUnsigned, []string{post}},
		{"408", spec.RequestTimeout, []string{ping, post}},
		{"413", spec.PayloadTooLarge, []string{ping, post}},
		{"413", spec.UnidentifiedTooLarge, []string{post}},
		{"429", spec.TooManyRequests, []string{ping, post}},
		{"429", spec.TooManyInvalidSignatures, []string{post}},
	}
	documented := map[string]bool{} // operation, status, message, code
	named := map[string]bool{}
	operations(loadDocument(t), func(_, _ string, _ *openapi3.PathItem, operation *openapi3.Operation) {
		for status, response := range operation.Responses.Map() {
			if status < "400" || status == "500" { // messages for a 500 vary
				continue
			}
			for _, example := range response.Value.Content["application/json"].Examples {
				value := example.Value.Value.(map[string]any)
				name := fmt.Sprint(status, " ", value["message"], " ", value["code"])
				documented[operation.OperationID+" "+name], named[name] = true, true
				if example.Value.Summary == "" || example.Value.Description == "" {
					t.Errorf("%s has no summary or no description", name)
				}
			}
		}
	})
	for _, row := range table {
		name := row.status + " " + row.Message + " " + row.Code
		for _, operation := range row.operations {
			if !documented[operation+" "+name] {
				t.Errorf("%s does not document %s", operation, name)
			}
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("%s is documented, but not expected", name)
	}
}

func TestOwnBaseURLsHaveTheSameEndpoints(t *testing.T) {
	paths := loadDocument(t).Paths
	for _, path := range []string{"/api/lead/ping", "/api/lead/post"} {
		shared, own := paths.Value(path).Post, paths.Value("/p/{partnerSlug}"+path).Post
		if shared.RequestBody.Ref != own.RequestBody.Ref || len(shared.Parameters) != len(own.Parameters) {
			t.Errorf("%s has a different request on a partner's own base URL", path)
		}
		for status, response := range own.Responses.Map() {
			same := shared.Responses.Value(status)
			if status != "403" && status != "404" && (same == nil || same.Ref != response.Ref) {
				t.Errorf("%s has a different response %s on a partner's own base URL", path, status)
			}
		}
		for status := range shared.Responses.Map() {
			if own.Responses.Value(status) == nil {
				t.Errorf("%s has no response %s on a partner's own base URL", path, status)
			}
		}
	}
}

func TestSigningExampleIsCorrect(t *testing.T) {
	doc := loadDocument(t)
	var example struct{ Secret, Timestamp, Body, Signature string }
	given := doc.Components.SecuritySchemes["signature"].Value.Extensions["x-worked-example"]
	if err := json.Unmarshal(encodeExample(t, given), &example); err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(example.Secret))
	mac.Write([]byte(example.Timestamp + "." + example.Body))
	if want := hex.EncodeToString(mac.Sum(nil)); example.Signature != want {
		t.Errorf("computed signature %s, but the example has %s", want, example.Signature)
	}
	for name, want := range map[string]string{
		"Timestamp":      example.Timestamp,
		"Signature":      example.Signature,
		"SignatureAlias": example.Signature,
	} {
		if got := doc.Components.Parameters[name].Value.Example; got != want {
			t.Errorf("example of %s: got %v, want %s", name, got, want)
		}
	}
	if err := requestError(newContract(t), "/api/lead/post", example.Body); err != nil {
		t.Errorf("the body is not a valid post: %v", err)
	}
}

// The document's pattern for missing values matches the texts that the service treats as missing.
func TestPatternOfMissingValues(t *testing.T) {
	pattern := regexp.MustCompile(loadDocument(t).Components.Schemas["NotGiven"].Value.Pattern)
	for r := range rune(0x10000) {
		if text := string(r); utf8.ValidRune(r) && pattern.MatchString(text) != (plaintext.Trim(text) == "") {
			t.Errorf("U+%04X: the pattern matches %v", r, pattern.MatchString(text))
		}
	}
}

// The recipientHash in the example is the hash of the name that its description states.
func TestRecipientHashIsCorrect(t *testing.T) {
	doc := loadDocument(t)
	const name = "Example Home Services Ltd"
	description := doc.Components.Schemas["Consent"].Value.Properties["recipientHash"].Value.Description
	example := doc.Components.RequestBodies["Post"].Value.Content["application/json"].Examples["full"].Value.Value
	got := example.(map[string]any)["consent"].(map[string]any)["recipientHash"]
	hash := sha256.Sum256([]byte(name))
	if want := hex.EncodeToString(hash[:]); got != want || !strings.Contains(description, "`"+name+"`") {
		t.Errorf("the example has %v, want %s; %s", got, want, description)
	}
}

func TestIndustriesMatchTheTaxonomy(t *testing.T) {
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	counts := map[string]int{}
	for _, industry := range taxonomy.Industries() {
		want = append(want, industry.Slug)
		counts[industry.Category]++
	}
	schema := loadDocument(t).Components.Schemas["IndustrySlug"].Value
	slugs := schema.Extensions["x-extensible-enum"].([]any)
	if len(want) != 336 || !slices.Equal(slugs, want) {
		t.Errorf("got %d industries in the document and %d in the taxonomy, want the same 336 in the same order", len(slugs),
			len(want))
	}
	var listed []struct {
		Slug, Name string
		Count      int
	}
	if err := json.Unmarshal(encodeExample(t, schema.Extensions["x-categories"]), &listed); err != nil {
		t.Fatal(err)
	}
	for i, category := range taxonomy.Categories() {
		if i >= len(listed) || listed[i].Slug != category.Slug || listed[i].Name != category.Name ||
			listed[i].Count != counts[category.Slug] {
			t.Fatalf("got categories %v, want category %d to be %v with %d industries", listed, i+1, category,
				counts[category.Slug])
		}
	}
}
