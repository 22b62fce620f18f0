package api

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/test/node"
)

// badJSON sends bodies that are not valid JSON according to decision 18 to both endpoints. The posts are
// signed, so that nothing else is wrong with them.
func badJSON(t *testing.T, n *node.Node) {
	for name, body := range map[string]string{
		"nothing":                             "",
		"white space only":                    " \r\n",
		"cut off":                             node.MinimalPing[:len(node.MinimalPing)-1],
		"a duplicate name":                    `{"industry":"plumber","postcode":"1","industry":"plumber"}`,
		"a duplicate name, once escaped":      `{"industry":"plumber","postcode":"1","industr\u0079":"plumber"}`,
		"a duplicate name in a nested object": `{"industry":"plumber","postcode":"1","x":[{"a":1,"a":2}]}`,
		"invalid UTF-8":                       "{\"industry\":\"plumber\",\"postcode\":\"\xff\"}",
		"invalid UTF-8 in a name":             "{\"industry\":\"plumber\",\"postcode\":\"1\",\"\xc3\x28\":1}",
		"an overlong form":                    "{\"industry\":\"plumber\",\"postcode\":\"\xc0\x80\"}",
		"a surrogate in UTF-8":                "{\"industry\":\"plumber\",\"postcode\":\"\xed\xa0\x80\"}",
		"a lone high surrogate":               `{"industry":"plumber","postcode":"1\ud800"}`,
		"a lone low surrogate":                `{"industry":"plumber","postcode":"\udc00"}`,
		"surrogates in the wrong order":       `{"industry":"plumber","postcode":"\udc00\ud800"}`,
		"a byte-order mark":                   "\ufeff" + node.MinimalPing,
		"UTF-16":                              "{\x00}\x00",
		"NUL in a string":                     "{\"industry\":\"plumber\",\"postcode\":\"1\x002\"}",
		"NUL after the object":                node.MinimalPing + "\x00",
		"a line break in a string":            "{\"industry\":\"plumber\",\"postcode\":\"1\n2\"}",
		"another object after it":             node.MinimalPing + node.MinimalPing,
		"a word after it":                     node.MinimalPing + node.Marker,
		"a trailing comma":                    `{"industry":"plumber","postcode":"1",}`,
		"a comment":                           `{"industry":"plumber",/* ` + node.Marker + ` */"postcode":"1"}`,
		"names without quotes":                `{industry:"plumber",postcode:"1"}`,
		"single quotes":                       `{'industry':'plumber','postcode':'1'}`,
		"NaN":                                 `{"industry":"plumber","postcode":"1","budget":NaN}`,
		"infinity":                            `{"industry":"plumber","postcode":"1","budget":-Infinity}`,
		"a leading zero":                      `{"taxonomyTermId":01001,"postcode":"1"}`,
		"a form":                              "industry=plumber&postcode=" + node.Marker,
		"33 nested arrays": `{"industry":"plumber","postcode":"1","deep":` +
			strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`,
		"33 nested objects": `{"industry":"plumber","postcode":"1","deep":` +
			strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32) + `}`,
		"10000 nested arrays":     strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"10000 unclosed brackets": strings.Repeat(`{"a":[`, 5_000),
	} {
		sendBadInput(t, n, []badInput{
			invalidJSON("ping: "+name, node.RawPing(body)),
			invalidJSON("post: "+name, n.RawSigned(n.Required, body)),
		})
	}
	deep := `,"deep":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`
	sendBadInput(t, n, []badInput{
		priced("ping: 32 levels", node.RawPing(strings.TrimSuffix(node.MinimalPing, "}")+deep)),
		accepted("post: 32 levels", n.RawSigned(n.Required, strings.TrimSuffix(n.FreshPost(t, n.Required), "}")+deep)),
		accepted("post: 32 levels in the answers", n.RawSigned(n.Required, strings.TrimSuffix(n.FreshPost(t, n.Required), "}")+
			`,"answers":{"a":`+strings.Repeat("[", 30)+strings.Repeat("]", 30)+`}}`)),
		priced("ping: brackets in a string do not count as levels",
			node.RawPing(strings.TrimSuffix(node.MinimalPing, "}")+`,"x":"`+strings.Repeat("[", 100)+`"}`)),
		priced("ping: a surrogate pair", node.RawPing(`{"industry":"plumber","postcode":"\ud83d\ude00"}`)),
		priced("ping: names in different letter case are different names",
			node.RawPing(`{"industry":"plumber","Industry":"roofer","postcode":"1"}`)),
	})
}

// badTypes sends valid JSON in which the values have types that the fields do not accept.
func badTypes(t *testing.T, n *node.Node) {
	for name, body := range map[string]string{
		"null":           "null",
		"an array":       "[" + node.MinimalPing + "]",
		"an empty array": "[]",
		"a string":       `"` + node.Marker + `"`,
		"a number":       "-1e9",
		"true":           "true",
	} {
		sendBadInput(t, n, []badInput{
			invalidPayload("ping: "+name, node.RawPing(body), entry("invalid_type")),
			invalidPayload("post: "+name, n.RawSigned(n.Required, body), entry("invalid_type")),
		})
	}
	post := func(fields string) node.RawRequest {
		return n.RawSigned(n.Required, strings.TrimSuffix(n.FreshPost(t, n.Required), "}")+","+fields+"}")
	}
	sendBadInput(t, n, []badInput{
		invalidPayload("ping: names in different letter case", node.RawPing(`{"Industry":"plumber","PostCode":"1"}`),
			entry("required", "industry"), entry("required", "postcode")),
		invalidPayload("ping: a number as a slug", node.RawPing(`{"industry":1001,"postcode":"1"}`),
			entry("invalid_type", "industry")),
		invalidPayload("ping: a number as a postcode", node.RawPing(`{"industry":"plumber","postcode":1010}`),
			entry("invalid_type", "postcode")),
		invalidPayload("ping: U+0000 in a postcode", node.RawPing(`{"industry":"plumber","postcode":"1\u0000"}`),
			entry("invalid_value", "postcode")),
		invalidPayload("ping: U+0000 in a budget",
			node.RawPing(`{"industry":"plumber","postcode":"1","budget":"\u0000"}`), entry("invalid_value", "budget")),
		invalidPayload("ping: a slug as a term", node.RawPing(`{"taxonomyTermId":"plumber","postcode":"1"}`),
			entry("invalid_value", "taxonomyTermId")),
		invalidPayload("ping: an exponent in a term", node.RawPing(`{"taxonomyTermId":1e3,"postcode":"1"}`),
			entry("invalid_value", "taxonomyTermId")),
		invalidPayload("ping: a huge term", node.RawPing(`{"taxonomyTermId":18446744073709552617,"postcode":"1"}`),
			entry("invalid_value", "taxonomyTermId")),
		invalidPayload("ping: arrays and objects", node.RawPing(`{"industry":["plumber"],"postcode":{"a":"1"}}`),
			entry("invalid_type", "industry"), entry("invalid_type", "postcode")),
		priced("ping: a string as a term",
			node.RawPing(`{"taxonomyTermId":"`+strings.TrimSpace(termText(t, n))+`","postcode":"1"}`)),
		invalidPayload("post: names in different letter case",
			n.RawSigned(n.Required, strings.Replace(n.FreshPost(t, n.Required), "acknowledged", "Acknowledged", 1)),
			entry("required", "consent", "acknowledged")),
		invalidPayload("post: a number as a partnerId", post(`"partnerId":7`), entry("invalid_type", "partnerId")),
		invalidPayload("post: a number as notes", post(`"notes":7`), entry("invalid_type", "notes")),
		invalidPayload("post: a number as a phone", post(`"phone":447700900123`), entry("invalid_type", "phone")),
		invalidPayload("post: a string as answers", post(`"answers":"`+node.Marker+`"`), entry("invalid_type", "answers")),
		invalidPayload("post: a string as a location", post(`"location":"`+node.Marker+`"`), entry("invalid_type", "location")),
		invalidPayload("post: a number as a postcode", post(`"postcode":1010`), entry("invalid_type", "postcode")),
		invalidPayload("post: U+0000 in notes", post(`"notes":"a\u0000b"`), entry("invalid_value", "notes")),
		invalidPayload("post: U+0000 in an answer", post(`"answers":{"a":"\u0000"}`), entry("invalid_value", "answers")),
		invalidPayload("post: U+0000 in an answer's name", post(`"answers":{"\u0000":1}`), entry("invalid_value", "answers")),
		invalidPayload("post: U+0000 in a lead token", post(`"thirdPartyLeadId":"\u0000"`),
			entry("invalid_value", "thirdPartyLeadId")),
		accepted("post: an escaped backslash before u0000", post(`"answers":{"a":"\\u0000"}`)),
		accepted("post: every optional field is null",
			post(`"partnerId":null,"location":null,"notes":null,"answers":null,"name":null,"phone":null,"country":null`)),
	})
}

// termText returns the digits of a valid taxonomyTermId.
func termText(t *testing.T, n *node.Node) string {
	t.Helper()
	_, after, _ := strings.Cut(n.Get(t, n.API+"/api/industries"), `"taxonomyTermId":`)
	digits, _, _ := strings.Cut(after, ",")
	return digits
}
