package docs

import "regexp"

// token is a part of a JSON text. Kind is the CSS class that sets its colour, or "" for punctuation
// and white space.
type token struct{ Kind, Text string }

// jsonToken matches a string, a number or a literal. A string before a colon is a key. Numbers and
// literals have the same colour.
var jsonToken = regexp.MustCompile(`("(?:[^"\\]|\\.)*")(\s*:)?|[-+.0-9A-Za-z]+`)

// tokens splits valid JSON into tokens. The concatenated texts of the tokens are equal to the
// input.
func tokens(text string) []token {
	var all []token
	end := 0
	add := func(kind string, until int) {
		if until > end {
			all = append(all, token{kind, text[end:until]})
			end = until
		}
	}
	for _, m := range jsonToken.FindAllStringSubmatchIndex(text, -1) {
		add("", m[0])
		switch {
		case m[4] >= 0:
			add("key", m[3])
		case m[2] >= 0:
			add("string", m[1])
		default:
			add("number", m[1])
		}
	}
	add("", len(text))
	return all
}
