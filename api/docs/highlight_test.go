package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokens(t *testing.T) {
	want := []token{
		{"", "{"}, {"key", `"a"`}, {"", ": "}, {"string", `"x: \"1\" \\"`}, {"", ", "},
		{"key", `"b"`}, {"", " : ["}, {"number", "-4.5e+1"}, {"", ", "}, {"number", "null"}, {"", ", "}, {"string", `""`}, {"", "]}"},
	}
	text := ""
	for _, expected := range want {
		text += expected.Text
	}
	if diff := cmp.Diff(want, tokens(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := tokens(""); got != nil {
		t.Errorf("empty text: got %v", got)
	}
}

// Highlighting does not change the text of any example.
func TestTokensKeepTheText(t *testing.T) {
	general := newPages(t, "").reference
	examples := general.ErrorBodies
	for _, e := range general.Endpoints {
		examples = append(append(examples, e.Requests...), e.Answer.Samples...)
	}
	for _, example := range examples {
		var text strings.Builder
		for _, token := range example.Tokens() {
			text.WriteString(token.Text)
		}
		if text.String() != example.JSON {
			t.Errorf("got %s, want %s", text.String(), example.JSON)
		}
	}
}
