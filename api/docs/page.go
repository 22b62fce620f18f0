package docs

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// reference contains the parts of the page that are the same for all partners.
type reference struct {
	Origin, Title, Version, Summary string
	Support                         string // an email address or a URL; "" for none

	Intro       []block
	Guide       []guideSection
	Signing     signingGuide
	Endpoints   []endpointDoc
	Others      []endpointDoc // endpoints without a documented JSON response
	Errors      []errorRow
	ErrorBodies []sample
	ErrorFields []fieldRow
	CodeLists   []codeList
	Currencies  []block
	Industries  []industryGroup
}

// SupportLink returns the link to the support contact: a URL or a mailto link.
func (r *reference) SupportLink() string {
	if strings.HasPrefix(r.Support, "https://") {
		return r.Support
	}
	return "mailto:" + r.Support
}

type guideSection struct {
	ID, Title string
	Blocks    []block
}

type signingGuide struct {
	Blocks                             []block
	Secret, Timestamp, Body, Signature string
	PingBody, Transaction              string // from the smallest request examples
}

type endpointDoc struct {
	ID, Method, Path, OwnPath, Summary string

	Blocks, OwnBlocks []block
	Headers, Fields   []fieldRow
	Requests          []sample
	Answer            answerDoc
	Rejections        []rejectionDoc
}

// answerDoc is the 200 response of an endpoint.
type answerDoc struct {
	Text    []span
	Headers []fieldRow
	Shapes  []shape
	Samples []sample
}

type rejectionDoc struct {
	Status string
	Text   []span
}

type sample struct {
	Title []span
	JSON  string
}

// Tokens splits the JSON into parts that are shown in different colours.
func (s sample) Tokens() []token { return tokens(s.JSON) }

// errorRow is one cause of an error and its fix. ID is the anchor of the code. It is empty if an earlier row has the
// same code.
type errorRow struct {
	Status, Message, Code, ID string

	Where      []string
	Cause, Fix []span
}

// codeList is a list of the codes in a part of a response, such as warnings.
type codeList struct {
	ID, Title string
	Text      []span
	Codes     []codeRow
}

type codeRow struct {
	ID, Code   string
	Cause, Fix []span
	Example    string // JSON
}

// industryGroup is a category with its industries.
type industryGroup struct {
	ID, Name   string
	Industries []pricingrules.Industry
}

// Link returns the endpoint's path relative to the root of the service. It is relative because a proxy may
// add a prefix to the paths of the endpoint and the page.
func (e endpointDoc) Link() string { return strings.TrimPrefix(e.Path, "/") }

// ownBase is the path prefix of a partner's own base URL (decision 13).
const ownBase = "/p/{partnerSlug}"

func newReference(doc node, o Options) (*reference, error) {
	info, components := doc.get("info"), doc.get("components")
	ref := &reference{
		Origin:     o.Settings.origin(),
		Support:    o.Settings.HTTP.SupportContact,
		Title:      info.text("title"),
		Version:    info.text("version"),
		Summary:    info.text("summary"),
		Industries: industryGroups(o.Taxonomy),
	}
	ref.Intro, ref.Guide = guide(info.text("description"))
	ref.Currencies = blocks(components.get("schemas", "Currency").text("description"))

	scheme := components.get("securitySchemes", "signature")
	example := scheme.get("x-worked-example")
	ref.Signing = signingGuide{
		Blocks:    blocks(scheme.text("description")),
		Secret:    example.text("secret"),
		Timestamp: example.text("timestamp"),
		Body:      example.text("body"),
		Signature: example.text("signature"),
		PingBody:  components.get("requestBodies", "Ping", "content", mediaJSON, "examples", "smallest", "value").json(""),
		Transaction: components.get("requestBodies", "Post", "content", mediaJSON, "examples", "smallest", "value").
			text("transactionId"),
	}
	for _, name := range []string{"InvalidPost", "InvalidJSON", "ExpiredAfterDelivery"} {
		ref.ErrorBodies = append(ref.ErrorBodies, newSample(components.get("examples", name)))
	}
	ref.ErrorFields = fieldRows("errors[].", components.get("schemas", "FieldError"))
	ref.CodeLists = []codeList{
		newCodeList("field", "Field codes", components.get("schemas", "FieldCode")),
		newCodeList("json", "Reasons for invalid JSON", components.get("schemas", "JSONReason")),
		newCodeList("warning", "Warning codes", components.get("schemas", "WarningCode")),
	}
	for _, e := range endpoints(doc.get("paths")) {
		if len(e.Answer.Samples) > 0 {
			ref.Endpoints = append(ref.Endpoints, e)
		} else {
			ref.Others = append(ref.Others, e)
		}
	}
	ref.Errors = errorRows(doc.get("paths"))
	if ref.Title == "" || ref.Signing.Signature == "" || ref.ErrorBodies[0].JSON == "" || len(ref.Endpoints) == 0 {
		return nil, errors.New("OpenAPI document lacks its title, its endpoints or a required example")
	}
	return ref, nil
}

// operation is an HTTP method of one path in the OpenAPI document.
type operation struct {
	method, path string
	node
}

// operations yields the operations in the document's order.
func operations(paths node) iter.Seq[operation] {
	return func(yield func(operation) bool) {
		for path, item := range paths.entries() {
			for method, n := range item.entries() {
				if n.has("operationId") && !yield(operation{strings.ToUpper(method), path, n}) {
					return
				}
			}
		}
	}
}

// endpoints lists the operations. An operation on a partner's own base URL is merged into the same
// operation on the shared base URL.
func endpoints(paths node) []endpointDoc {
	var list []endpointDoc
	for op := range operations(paths) {
		shared, own := strings.CutPrefix(op.path, ownBase)
		if !own {
			list = append(list, newEndpoint(op))
		} else if i := slices.IndexFunc(list, func(e endpointDoc) bool { return e.Path == shared }); i >= 0 {
			list[i].addOwn(op)
		}
	}
	return list
}

func newEndpoint(op operation) endpointDoc {
	e := endpointDoc{
		ID: op.text("operationId"), Method: op.method, Path: op.path,
		Summary: op.text("summary"), Blocks: blocks(op.text("description")),
	}
	for parameter := range op.get("parameters").items() {
		e.Headers = append(e.Headers, headerRow(parameter.text("name"), parameter))
	}
	body := op.get("requestBody", "content", mediaJSON)
	e.Fields, e.Requests = fieldRows("", body.get("schema")), samples(body)
	for status, response := range op.get("responses").entries() {
		if status != "200" {
			e.Rejections = append(e.Rejections, rejectionDoc{Status: status, Text: spans(response.text("description"))})
			continue
		}
		content := response.get("content", mediaJSON)
		e.Answer = answerDoc{
			Text:    spans(response.text("description")),
			Shapes:  shapes(content.get("schema")),
			Samples: samples(content),
		}
		for name, header := range response.get("headers").entries() {
			e.Answer.Headers = append(e.Answer.Headers, headerRow(name, header))
		}
	}
	return e
}

// addOwn adds the path, description and responses of op, which is the same operation on a partner's own
// base URL.
func (e *endpointDoc) addOwn(op operation) {
	e.OwnPath, e.OwnBlocks = op.path, blocks(op.text("description"))
	for status, response := range op.get("responses").entries() {
		same := func(r rejectionDoc) bool { return r.Status == status }
		if status != "200" && !slices.ContainsFunc(e.Rejections, same) {
			e.Rejections = append(e.Rejections, rejectionDoc{Status: status, Text: spans(response.text("description"))})
		}
	}
	slices.SortFunc(e.Rejections, func(a, b rejectionDoc) int { return cmp.Compare(a.Status, b.Status) })
}

func newSample(example node) sample {
	return sample{Title: spans(example.text("summary")), JSON: example.get("value").json("  ")}
}

func samples(content node) []sample {
	var list []sample
	for _, example := range content.get("examples").entries() {
		list = append(list, newSample(example))
	}
	return list
}

// errorRows returns the examples of all errors, sorted by status, then by first occurrence in the
// document.
func errorRows(paths node) []errorRow {
	var rows []errorRow
	index := map[*yaml.Node]int{}
	for op := range operations(paths) {
		for status, response := range op.get("responses").entries() {
			if status < "400" {
				continue
			}
			for _, example := range response.get("content", mediaJSON, "examples").entries() {
				i, known := index[example.at]
				if !known {
					i = len(rows)
					index[example.at] = i
					rows = append(rows, newErrorRow(status, example))
				}
				rows[i].Where = append(rows[i].Where, texts(op.get("tags"))...)
			}
		}
	}
	for i := range rows {
		slices.Sort(rows[i].Where)
		rows[i].Where = slices.Compact(rows[i].Where)
	}
	slices.SortStableFunc(rows, func(a, b errorRow) int { return cmp.Compare(a.Status, b.Status) })
	first := map[string]bool{}
	for i, row := range rows {
		if !first[row.Code] {
			first[row.Code], rows[i].ID = true, "error-"+row.Code
		}
	}
	return rows
}

// newErrorRow reads an example of an error response. The example's summary is the cause, and its
// description is the fix.
func newErrorRow(status string, example node) errorRow {
	return errorRow{
		Status: status, Message: example.get("value").text("message"), Code: example.get("value").text("code"),
		Cause: spans(example.text("summary")), Fix: spans(example.text("description")),
	}
}

// newCodeList reads the codes of a schema. The anchors of the codes start with prefix.
func newCodeList(prefix, title string, schema node) codeList {
	list := codeList{ID: prefix + "-codes", Title: title, Text: spans(schema.text("description"))}
	for code, value := range schema.get("x-values").entries() {
		list.Codes = append(list.Codes, codeRow{
			ID: prefix + "-" + code, Code: code, Cause: spans(value.text("cause")), Fix: spans(value.text("fix")),
			Example: value.get("example").json(""),
		})
	}
	return list
}

func industryGroups(taxonomy *pricingrules.Taxonomy) []industryGroup {
	var groups []industryGroup
	for _, c := range taxonomy.Categories() {
		group := industryGroup{ID: c.Slug, Name: c.Name}
		for _, industry := range taxonomy.Industries() {
			if industry.Category == c.Slug {
				group.Industries = append(group.Industries, industry)
			}
		}
		groups = append(groups, group)
	}
	return groups
}
