package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestInvalidJSON has one row for each rule in decision 18. Each body would be a valid ping without
// its error.
func TestInvalidJSON(t *testing.T) {
	const good = `"industry":"plumber","postcode":"SW1A 1AA"`
	tax := taxonomy(t)
	for name, body := range map[string]string{
		"empty":                           "",
		"blanks only":                     " \r\n\t",
		"text":                            "industry=plumber",
		"cut off":                         `{` + good,
		"cut off in a string":             `{` + good[:len(good)-1],
		"trailing comma":                  `{` + good + `,}`,
		"missing comma":                   `{` + good + ` "country":"GB"}`,
		"comma first":                     `{,` + good + `}`,
		"single quotes":                   `{'industry':'plumber'}`,
		"unquoted name":                   `{industry:"plumber"}`,
		"comment":                         `{` + good + `} // end`,
		"byte-order mark":                 "\ufeff{" + good + `}`,
		"UTF-16":                          "\xff\xfe{\x00}\x00",
		"trailing brace":                  `{` + good + `}}`,
		"trailing value":                  `{` + good + `}{}`,
		"trailing NUL":                    `{` + good + "}\x00",
		"no-break space around":           "\u00a0{" + good + `}`,
		"NaN":                             `{` + good + `,"budget":NaN}`,
		"Infinity":                        `{` + good + `,"budget":-Infinity}`,
		"leading zero":                    `{` + good + `,"x":01}`,
		"leading plus":                    `{` + good + `,"x":+1}`,
		"bare fraction":                   `{` + good + `,"x":.5}`,
		"hexadecimal":                     `{` + good + `,"x":0x10}`,
		"capital literal":                 `{` + good + `,"x":True}`,
		"duplicate name":                  `{` + good + `,"industry":"plumber"}`,
		"duplicate name, escaped":         `{` + good + `,"\u0069ndustry":"plumber"}`,
		"duplicate name, unknown":         `{` + good + `,"x":1,"x":1}`,
		"duplicate name, nested":          `{` + good + `,"x":{"y":1,"y":2}}`,
		"duplicate name, in an array":     `{` + good + `,"x":[{"y":1,"y":2}]}`,
		"duplicate empty name":            `{` + good + `,"":1,"":2}`,
		"invalid UTF-8 in a value":        `{` + good + ",\"budget\":\"\xff\"}",
		"invalid UTF-8 in a name":         `{` + good + ",\"\xc3\x28\":1}",
		"overlong UTF-8":                  `{` + good + ",\"budget\":\"\xc0\xaf\"}",
		"surrogate as UTF-8":              `{` + good + ",\"budget\":\"\xed\xa0\x80\"}",
		"beyond Unicode":                  `{` + good + ",\"budget\":\"\xf4\x90\x80\x80\"}",
		"lone high surrogate":             `{` + good + `,"budget":"\ud800"}`,
		"lone low surrogate":              `{` + good + `,"budget":"\udc00"}`,
		"two high surrogates":             `{` + good + `,"budget":"\ud800\ud800"}`,
		"surrogates in the wrong order":   `{` + good + `,"budget":"\udc00\ud800"}`,
		"lone surrogate in a name":        `{` + good + `,"\ud83d":1}`,
		"lone surrogate, nested, unknown": `{` + good + `,"x":[{"y":"\uDBFF"}]}`,
		"raw control character":           `{` + good + ",\"budget\":\"a\nb\"}",
		"raw U+0000":                      `{` + good + ",\"budget\":\"\x00\"}",
		"unknown escape":                  `{` + good + `,"budget":"\x41"}`,
		"short escape":                    `{` + good + `,"budget":"\u12"}`,
		"nesting of 33":                   `{` + good + `,"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`,
		"nesting of 33, objects": `{` + good + `,"x":` + strings.Repeat(`{"x":`, 32) + `1` +
			strings.Repeat("}", 32) + `}`,
		"nesting of 33 without object": strings.Repeat("[", 33) + strings.Repeat("]", 33),
		"nesting without end":          strings.Repeat("[", 20_000),
		"nesting of 20,000":            strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			if ping, err := ParsePing([]byte(body), tax); !errors.Is(err, ErrJSON) || !reflect.DeepEqual(ping, Ping{}) {
				t.Errorf("ParsePing: got %+v, %v", ping, err)
			}
			if _, err := ParsePost([]byte(body)); !errors.Is(err, ErrJSON) {
				t.Errorf("ParsePost: got error %v", err)
			}
		})
	}
}

func TestValidJSON(t *testing.T) {
	const good = `"industry":"plumber","postcode":"SW1A 1AA"`
	tax := taxonomy(t)
	for name, body := range map[string]string{
		"plain":                         `{` + good + `}`,
		"blanks everywhere":             " \r\n\t{ \"industry\" :\t\"plumber\"\n,\r\"postcode\" : \"SW1A 1AA\" } \n",
		"escaped names":                 `{"\u0069ndustry":"plumber","p\u006fstcode":"SW1A 1AA"}`,
		"escaped values":                `{"industry":"\u0070lumber","postcode":"SW1A\u00201AA"}`,
		"unknown fields":                `{` + good + `,"x":null,"y":[1,-2.5e+3,"}",{"z":"]\"\\"}],"t":true,"f":false,"n":0}`,
		"a known name in another case":  `{` + good + `,"Industry":"dentist","COUNTRY":7}`,
		"a known name nested":           `{` + good + `,"x":{"industry":"dentist"}}`,
		"equal names in other objects":  `{` + good + `,"x":{"a":{"x":1}},"y":[{"a":1},{"a":1}]}`,
		"surrogate pair":                `{` + good + `,"x":"\ud83d\ude00"}`,
		"noncharacter":                  `{` + good + ",\"x\":\"\uffff\"}",
		"number beyond any type":        `{` + good + `,"x":1e999999}`,
		"nesting of 32":                 `{` + good + `,"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`,
		"nesting of 32, objects":        `{` + good + `,"x":` + strings.Repeat(`{"x":`, 31) + `1` + strings.Repeat("}", 31) + `}`,
		"100 brackets side by side":     `{` + good + `,"x":[` + strings.Repeat("[],{},", 50) + `[]]}`,
		"100 brackets in a string":      `{` + good + `,"x":"\"` + strings.Repeat("[{", 50) + `"}`,
		"brackets in a name, one below": `{` + good + `,"` + strings.Repeat("[{", 50) + `\\":[[]]}`,
		"U+0000 in an unknown field":    `{` + good + `,"x":"\u0000"}`,
	} {
		t.Run(name, func(t *testing.T) {
			ping, err := ParsePing([]byte(body), tax)
			if err != nil {
				t.Fatal(err, listed(err))
			}
			if !reflect.DeepEqual(ping, Ping{Industry: 0, Postcode: "SW1A 1AA", Country: [2]byte{'G', 'B'}}) {
				t.Errorf("got %+v", ping)
			}
		})
	}
}

func TestPayloadMustBeAnObject(t *testing.T) {
	tax := taxonomy(t)
	for _, body := range []string{`null`, `true`, `false`, `0`, `-1.5e3`, `""`, `"{}"`, `[]`, ` [{"industry":"plumber"}] `} {
		ping, err := ParsePing([]byte(body), tax)
		checkFault(t, err, ErrInvalidPing, "invalid_type")
		if !reflect.DeepEqual(ping, Ping{}) {
			t.Errorf("%s: got %+v", body, ping)
		}
		_, err = ParsePost([]byte(body))
		checkFault(t, err, ErrInvalidPost, "invalid_type")
	}
}

func TestShallowCountsOnlyStructure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(1, 60).Draw(t, "depth")
		noise, _ := json.Marshal(strings.Repeat("[{\"\\", rapid.IntRange(0, 40).Draw(t, "noise")))
		body := "[" + string(noise) + "]"
		for range depth - 1 {
			if rapid.Bool().Draw(t, "object") {
				body = `{"a":` + string(noise) + `,"b":` + body + `,"c":[]}`
			} else {
				body = `[{},` + body + `,` + string(noise) + `]`
			}
		}
		if want := depth <= maxDepth; strict([]byte(body)) != want {
			t.Fatalf("strict = %v at depth %d", !want, depth)
		}
	})
}

// sound implements decision 18 with the standard library, as a reference for the fuzz
// tests.
func sound(body []byte) bool {
	return utf8.Valid(body) && json.Valid(body) && paired(body) && distinct(json.NewDecoder(bytes.NewReader(body)), 1) == nil
}

// paired reports whether every surrogate escape of valid JSON is part of a pair.
func paired(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++
		switch r := escaped(body[i:]); {
		case r >= 0xdc00 && r <= 0xdfff:
			return false
		case r >= 0xd800 && r <= 0xdbff:
			if i += 5; body[i] != '\\' {
				return false
			}
			i++
			if low := escaped(body[i:]); low < 0xdc00 || low > 0xdfff {
				return false
			}
		}
	}
	return true
}

func escaped(after []byte) uint64 {
	if after[0] != 'u' {
		return 0
	}
	r, _ := strconv.ParseUint(string(after[1:5]), 16, 32)
	return r
}

// distinct reads one value of valid JSON, and rejects duplicate names and depths beyond 32.
func distinct(in *json.Decoder, depth int) error {
	in.UseNumber()
	token, err := in.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth > 32 {
		return errors.New("too deep")
	}
	names := map[any]bool{}
	for in.More() {
		if open == '{' {
			name, err := in.Token()
			if err != nil {
				return err
			}
			if names[name] {
				return errors.New("duplicate name")
			}
			names[name] = true
		}
		if err := distinct(in, depth+1); err != nil {
			return err
		}
	}
	_, err = in.Token()
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
