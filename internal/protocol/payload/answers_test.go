package payload

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// keys returns an object with n keys.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

func TestAnswersAccepted(t *testing.T) {
	rows := map[string]acceptedPost{}
	for name, sent := range map[string]string{
		"empty":                 `{}`,
		"blanks kept":           "{ \"a\" :\t1 ,\n\"b\":[ ] }",
		"every kind of value":   `{"s":"x","n":-1.50e+2,"t":true,"z":null,"a":[1,{"b":"}"}],"o":{"c":{}}}`,
		"escapes kept":          `{"\u0061":"\u00e9\/\ud83d\ude00"}`,
		"100 keys":              keys(100),
		"more than 100 inside":  `{"a":` + keys(150) + `}`,
		"key of 256":            `{` + chars(256) + `:1}`,
		"longer key inside":     `{"a":{` + chars(300) + `:1}}`,
		"empty key":             `{"":""}`,
		"names of known fields": `{"email":7,"consent":false,"transactionId":[]}`,
		"long values":           `{"a":` + chars(20000) + `}`,
		"a backslash and u0000": `{"a":"\\u0000","b":"\\\\u0000"}`,
		"other control escapes": `{"a":"\u0001\t"}`,
		"an escaped 0":          `{"a":"\u0030000"}`,
	} {
		rows[name] = acceptedPost{least + `,"answers": ` + sent + ` `, leastPost(func(p *Post) { p.Answers = []byte(sent) })}
	}
	checkAccepted(t, rows)
}

func TestAnswersRejected(t *testing.T) {
	given := func(answers string) string { return least + `,"answers":` + answers }
	checkRejected(t, map[string]rejectedPost{
		"a text":                    {given(`"{}"`), []string{"invalid_type answers"}},
		"empty text":                {given(`""`), []string{"invalid_type answers"}},
		"a list":                    {given(`[{"a":1}]`), []string{"invalid_type answers"}},
		"a number":                  {given(`0`), []string{"invalid_type answers"}},
		"false":                     {given(`false`), []string{"invalid_type answers"}},
		"101 keys":                  {given(keys(101)), []string{"too_many answers"}},
		"key of 257":                {given(`{` + chars(257) + `:1}`), []string{"too_long answers"}},
		"key of 257 in escapes":     {given(`{"` + strings.Repeat(`\u00e9`, 257) + `":1}`), []string{"too_long answers"}},
		"U+0000 in a value":         {given(`{"a":"x\u0000"}`), []string{"invalid_value answers"}},
		"U+0000 in a key":           {given(`{"\u0000":1}`), []string{"invalid_value answers"}},
		"U+0000 in a nested value":  {given(`{"a":[{"b":["\u0000"]}]}`), []string{"invalid_value answers"}},
		"U+0000 in a nested key":    {given(`{"a":{"b\u0000":1}}`), []string{"invalid_value answers"}},
		"U+0000 behind a backslash": {given(`{"a":"\\\u0000"}`), []string{"invalid_value answers"}},
		"everything wrong with them": {given(strings.Replace(keys(101), `"k0"`, `"`+strings.Repeat("k", 257)+`\u0000"`,
			1)), []string{"too_many answers", "too_long answers", "invalid_value answers"}},
	})
}

func TestEscapesNULAgreesWithDecoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{`\u0000`, `\\`, `u0000`, `\"`, `0`, `\u0030`, `\u000a`, "é",
			`\/`})).Draw(t, "parts")
		text := `"` + strings.Join(parts, "") + `"`
		var decoded string
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			t.Fatal(err)
		}
		if got, want := escapesNUL([]byte(text)), strings.ContainsRune(decoded, 0); got != want {
			t.Fatalf("escapesNUL(%s) = %v, want %v", text, got, want)
		}
	})
}
