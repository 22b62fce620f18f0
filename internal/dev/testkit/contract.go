package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"go.yaml.in/yaml/v4"
)

// Contract checks requests and responses against the OpenAPI document. It is safe for concurrent
// use.
//
// It is stricter than the document, because partners must ignore fields and values that they do not know, but the
// service must document them. It reports undocumented fields in responses. In requests and responses, it reports values
// that are missing from the document's lists.
type Contract struct {
	doc    *openapi3.T
	router routers.Router
}

// NewContract parses an OpenAPI 3.1 document and validates it and its examples, with and without
// the rules in x-validation.
func NewContract(document []byte) (*Contract, error) {
	if _, err := load(document); err != nil {
		return nil, err
	}
	document, err := applyExtensions(document)
	if err != nil {
		return nil, err
	}
	doc, err := load(document)
	if err != nil {
		return nil, err
	}
	if doc.Components == nil || doc.Components.Responses["NotFound"] == nil {
		return nil, errors.New("the OpenAPI document has no response NotFound, which is needed for unknown paths")
	}
	if err := closeAnswers(doc); err != nil {
		return nil, err
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("routing by the OpenAPI document: %w", err)
	}
	return &Contract{doc: doc, router: router}, nil
}

func load(document []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("the OpenAPI document is not valid: %w", err)
	}
	return doc, nil
}

// applyExtensions adds the rules in x-validation to the schemas of the OpenAPI document, and turns the lists
// in x-extensible-enum and x-values into enums. If a field is only an alternative to another field, it
// removes the schema of the field, because the service reads such a field only if the other one is missing.
func applyExtensions(document []byte) ([]byte, error) {
	var doc map[string]any
	if err := yaml.Load(document, &doc); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	components, _ := doc["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for _, schema := range schemas {
		schema := schema.(map[string]any)
		rules, ok := schema["x-validation"].(map[string]any)
		if !ok {
			continue
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			if property.(map[string]any)["x-alternative-to"] != nil {
				properties[name] = map[string]any{}
			}
		}
		maps.Copy(schema, rules)
		delete(schema, "x-validation")
	}
	closeLists(doc)
	return json.Marshal(doc)
}

// closeLists turns each open list of values in the document into an enum.
func closeLists(at any) {
	switch at := at.(type) {
	case map[string]any:
		if list, ok := at["x-extensible-enum"]; ok {
			at["enum"] = list
		}
		if values, ok := at["x-values"].(map[string]any); ok {
			at["enum"] = slices.Sorted(maps.Keys(values))
		}
		for _, child := range at {
			closeLists(child)
		}
	case []any:
		for _, child := range at {
			closeLists(child)
		}
	}
}

// closeAnswers forbids undocumented fields in every object in a response.
func closeAnswers(doc *openapi3.T) error {
	for _, response := range doc.Components.Responses {
		for mediaType, content := range response.Value.Content {
			if mediaType != "application/json" {
				continue
			}
			err := content.Schema.WalkSubtree(func(_ string, ref *openapi3.SchemaRef) error {
				if len(ref.Value.Properties) > 0 {
					closed := false
					ref.Value.AdditionalProperties = openapi3.AdditionalProperties{Has: &closed}
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("forbidding undocumented fields in the OpenAPI document: %w", err)
			}
		}
	}
	return nil
}

// ValidateExchange checks a response against the document: the status, the headers, the media type and
// the body. A requestId in the body must be equal to the header X-Request-Id. If the parameter valid is
// true, it also checks the request. Pass false for requests that are deliberately invalid. The bodies are
// separate arguments because those in req and resp have already been read.
//
// If the path is not in the document, the response must be 404. If the path is in the document but
// the method is not, the response must be 405.
func (c *Contract) ValidateExchange(req *http.Request, reqBody []byte, resp *http.Response, respBody []byte, valid bool) error {
	exchange := fmt.Sprintf("%s %s, answered %d", req.Method, req.URL.Path, resp.StatusCode)
	in, err := c.match(req)
	if err != nil {
		return fmt.Errorf("%s: %w", exchange, err)
	}
	if valid {
		in.Request.Body = io.NopCloser(bytes.NewReader(reqBody))
		if err := openapi3filter.ValidateRequest(req.Context(), in); err != nil {
			return fmt.Errorf("%s: request: %w", exchange, err)
		}
	}
	if err := validateAnswer(in, resp, respBody); err != nil {
		return fmt.Errorf("%s: answer: %w", exchange, err)
	}
	var rejection struct{ RequestID string }
	if id := resp.Header.Get("X-Request-Id"); json.Unmarshal(respBody, &rejection) == nil && rejection.RequestID != "" &&
		rejection.RequestID != id {
		return fmt.Errorf("%s: the body has the requestId %s, the header %s", exchange, rejection.RequestID, id)
	}
	return nil
}

// match finds the operation for a request. If there is none, it returns an operation that only
// allows the correct 404 or 405 response.
func (c *Contract) match(req *http.Request) (*openapi3filter.RequestValidationInput, error) {
	// The clone leaves the caller's request unchanged. The media type is not enforced
	// (decision 18), so a request without it is also valid.
	req = req.Clone(req.Context())
	req.Header.Set("Content-Type", "application/json")
	head := req.Method == http.MethodHead
	if head {
		req.Method = http.MethodGet // the response to HEAD is the response to GET without the body
	}

	route, params, err := c.router.FindRoute(req)
	switch {
	case errors.Is(err, routers.ErrPathNotFound):
		route = c.rejection(http.StatusNotFound, c.doc.Components.Responses["NotFound"])
	case errors.Is(err, routers.ErrMethodNotAllowed):
		other, err := c.otherMethod(req)
		if err != nil {
			return nil, err
		}
		route = c.rejection(http.StatusMethodNotAllowed, other.Operation.Responses.Status(http.StatusMethodNotAllowed))
	case err != nil:
		return nil, err
	}
	return &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc:                openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus:             true,
			RejectWhenRequestBodyNotSpecified: true,
			SkipSettingDefaults:               true,
			MultiError:                        true,
			ExcludeResponseBody:               head,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{
				openapi3.WithStringFormatValidator("date-time", dateTime{}),
			},
		},
	}, nil
}

func (c *Contract) rejection(status int, response *openapi3.ResponseRef) *routers.Route {
	return &routers.Route{Spec: c.doc, PathItem: &openapi3.PathItem{}, Operation: &openapi3.Operation{
		Responses: openapi3.NewResponses(openapi3.WithStatus(status, response)),
	}}
}

func (c *Contract) otherMethod(req *http.Request) (*routers.Route, error) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := req.Clone(req.Context())
		other.Method = method
		if route, _, err := c.router.FindRoute(other); err == nil {
			return route, nil
		}
	}
	return nil, fmt.Errorf("the document has neither GET nor POST at %s", req.URL.Path)
}

// dateTime accepts RFC 3339 with lower-case letters, which the RFC allows and the library's
// date-time format rejects.
type dateTime struct{}

func (dateTime) Validate(text string) error {
	_, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	return err
}

func validateAnswer(in *openapi3filter.RequestValidationInput, resp *http.Response, body []byte) error {
	if in.Options.ExcludeResponseBody && len(body) > 0 {
		return errors.New("an answer to HEAD has no body")
	}
	if resp.StatusCode == http.StatusNotModified {
		return validateNotModified(in.Route.Operation, resp, body)
	}
	return openapi3filter.ValidateResponse(in.Request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in,
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options:                in.Options,
	})
}

// validateNotModified checks a 304 response. The library would accept any 304.
func validateNotModified(operation *openapi3.Operation, resp *http.Response, body []byte) error {
	documented := operation.Responses.Status(http.StatusNotModified)
	if documented == nil {
		return errors.New("status is not supported")
	}
	if len(body) > 0 {
		return errors.New("a 304 has no body")
	}
	for name, header := range documented.Value.Headers {
		if header.Value.Required && resp.Header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	return nil
}
