package payload

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// detailOf returns the detail of an ErrJSON. It fails the test if err is another error.
func detailOf(t *testing.T, err error) apperr.Detail {
	t.Helper()
	f := apperr.As(err)
	if !errors.Is(err, ErrJSON) || f.Detail == nil {
		t.Fatalf("got %v, want an invalid body with a detail", err)
	}
	return *f.Detail
}

// In each body, ⚑ marks the offset of the error. It is removed before the body is parsed.
func TestInvalidJSONDetail(t *testing.T) {
	tax := taxonomy(t)
	for body, want := range map[string]JSONReason{
		"⚑":                               JSONEmpty,
		"⚑ \r\n":                          JSONEmpty,
		"⚑\ufeff{}":                       JSONByteOrderMark,
		"{⚑\ufeff}":                       JSONSyntax,
		"⚑\xff\xfe{\x00}\x00":             JSONInvalidUTF8,
		`{"a":"b` + "⚑\xe9" + `"}`:        JSONInvalidUTF8,
		`{"` + "⚑\xc3\x28" + `":1}`:       JSONInvalidUTF8,
		`{"a":"` + "⚑\xed\xa0\x80" + `"}`: JSONInvalidUTF8,
		`{"a":"b⚑\ud800"}`:                JSONLoneSurrogate,
		`{"a":"⚑\udc00\ud800"}`:           JSONLoneSurrogate,
		`{"⚑\uD83D":1}`:                   JSONLoneSurrogate,
		`{"a":"⚑\x41"}`:                   JSONInvalidEscape,
		`{"a":"b⚑\u12"}`:                  JSONInvalidEscape,
		`{"a⚑\q":1}`:                      JSONInvalidEscape,
		`{"a":"b` + "⚑\n" + `"}`:          JSONControlCharacter,
		`{"a":"` + "⚑\x00" + `"}`:         JSONControlCharacter,
		`{"a":⚑NaN}`:                      JSONInvalidNumber,
		`{"a":⚑Infinity}`:                 JSONInvalidNumber,
		`{"a":-⚑Infinity}`:                JSONInvalidNumber,
		`{"a":0⚑1}`:                       JSONInvalidNumber,
		`{"a": ⚑+1}`:                      JSONInvalidNumber,
		`{"a":⚑.5}`:                       JSONInvalidNumber,
		`[1.⚑]`:                           JSONInvalidNumber,
		`{"a":1.5⚑.2}`:                    JSONInvalidNumber,
		`{"a":0⚑x10}`:                     JSONInvalidNumber,
		`{"a":-⚑}`:                        JSONInvalidNumber,
		`{"a":1,⚑"a":2}`:                  JSONDuplicateName,
		`{"a":1, ⚑"\u0061":2}`:            JSONDuplicateName,
		`{"x":[{"a":1,⚑"a":2}]}`:          JSONDuplicateName,
		strings.Repeat("[", 32) + "⚑[" + strings.Repeat("]", 33): JSONTooDeep,
		strings.Repeat(`{"a":`, 32) + "⚑[{":                      JSONTooDeep,
		`{}⚑{}`:                                                  JSONTrailingData,
		`{} ⚑// end`:                                             JSONTrailingData,
		`[1,{"a":"]"}]⚑]`:                                        JSONTrailingData,
		"{}⚑\x00":                                                JSONTrailingData,
		`0⚑1`:                                                    JSONTrailingData,
		`⚑industry=plumber`:                                      JSONSyntax,
		`{"a":1⚑,}`:                                              JSONSyntax,
		`{"a":1 ⚑"b":2}`:                                         JSONSyntax,
		`{"a":1 ⚑2}`:                                             JSONSyntax,
		`{⚑,"a":1}`:                                              JSONSyntax,
		`{⚑'a':1}`:                                               JSONSyntax,
		`{⚑a:1}`:                                                 JSONSyntax,
		`{⚑1:2}`:                                                 JSONSyntax,
		`{"a":⚑True}`:                                            JSONSyntax,
		"{\"a\":tru⚑\n}":                                         JSONSyntax,
		`{"a":[1⚑}`:                                              JSONSyntax,
		"{⚑\x00}":                                                JSONSyntax,
		"⚑\u00a0{}":                                              JSONSyntax,
		"⚑\x1f\x8b\x08\x00":                                      JSONSyntax,
		`{"a":1⚑`:                                                JSONTruncated,
		`{"a" ⚑1}`:                                               JSONSyntax,
		`{"a":"b\u12⚑`:                                           JSONTruncated,
		"{\"a\":\"b\xc3⚑":                                        JSONTruncated,
		`{"a⚑`:                                                   JSONTruncated,
		`{"a":tru⚑`:                                              JSONTruncated,
		`[[{"a":[⚑`:                                              JSONTruncated,
		"{\"a\":\"b\",\n ⚑":                                      JSONTruncated,
	} {
		offset := strings.Index(body, "⚑")
		body = strings.Replace(body, "⚑", "", 1)
		_, pingErr := ParsePing([]byte(body), tax)
		_, postErr := ParsePost([]byte(body))
		for _, err := range []error{pingErr, postErr} {
			if got := detailOf(t, err); got != (apperr.Detail{Reason: string(want), Offset: offset}) {
				t.Errorf("%.60q: got %v, want %s at %d", body, got, want, offset)
			}
		}
	}
}

func TestWithContentEncoding(t *testing.T) {
	invalid := explain([]byte("\x1f\x8b\x08"))
	payload := ErrInvalidPost.WithFields(notAnObject())
	for _, c := range []struct {
		coding string
		err    error
		want   error
	}{
		{"gzip", invalid, jsonError(JSONCompressed, 0)},
		{" BR ", invalid, jsonError(JSONCompressed, 0)},
		{"identity", invalid, invalid},
		{"utf-8", invalid, invalid},
		{"", invalid, invalid},
		{"gzip", payload, payload},
		{"gzip", nil, nil},
	} {
		got := WithContentEncoding(c.err, c.coding)
		if (got == nil) != (c.want == nil) || got != nil && !errors.Is(got, c.want) {
			t.Errorf("%q: got %v, want %v", c.coding, got, c.want)
		}
		if errors.Is(c.want, ErrJSON) && detailOf(t, got) != detailOf(t, c.want) {
			t.Errorf("%q: got %v, want %v", c.coding, detailOf(t, got), detailOf(t, c.want))
		}
	}
}

// FuzzExplain checks that explain finds an error in each body that the function strict rejects, and
// that there is no error before its offset: the text up to the offset is empty, incomplete or valid.
func FuzzExplain(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff{}", "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":"\q"}`, `{"a":01}`, `{"a":NaN}`, `{"a":1,"a":2}`,
		strings.Repeat("[", 33), `{"a":`, "{}{}", `{"a":1,}`, "{\x00}", "[1 2", `{"a":"b\`,
	} {
		f.Add([]byte(seed))
	}
	known := map[JSONReason]bool{
		JSONEmpty: true, JSONByteOrderMark: true, JSONInvalidUTF8: true, JSONLoneSurrogate: true, JSONInvalidEscape: true,
		JSONControlCharacter: true, JSONInvalidNumber: true, JSONDuplicateName: true, JSONTooDeep: true,
		JSONTruncated: true, JSONTrailingData: true, JSONSyntax: true,
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if strict(body) {
			return
		}
		sent := bytes.Clone(body)
		got := detailOf(t, explain(body))
		if !known[JSONReason(got.Reason)] || got.Offset < 0 || got.Offset > len(body) || !bytes.Equal(sent, body) {
			t.Fatalf("got %v", got)
		}
		before := body[:got.Offset]
		if strict(before) {
			return
		}
		switch first := detailOf(t, explain(before)); JSONReason(first.Reason) {
		case JSONEmpty, JSONTruncated:
		case JSONInvalidNumber: // such as 1. in 1.}
		default:
			t.Fatalf("got %v, but there is an error before: %v", got, first)
		}
	})
}
