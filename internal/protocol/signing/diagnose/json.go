package diagnose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
)

type style struct {
	spacing
	escapes
	sorted bool
}

type spacing struct{ name, indent, comma, colon string }

type escapes struct {
	name                            string
	unicode, upper, slash, html, dn bool
}

// spacings returns the ways in which libraries put spaces and line breaks in JSON, the most common
// first.
func spacings() []spacing {
	return []spacing{
		{"compact", "", ",", ":"},
		{"with a space after each comma and colon, as in Python", "", ", ", ": "},
		{"indented by 2 spaces", "  ", ",", ": "},
		{"indented by 4 spaces", "    ", ",", ": "},
		{"indented by tabs", "\t", ",", ": "},
		{"with a space after each colon", "", ",", ": "},
	}
}

func escapeStyles() []escapes {
	return []escapes{
		{name: "without escaped characters"},
		{name: `with \uXXXX for non-ASCII characters, as in Python`, unicode: true},
		{name: `with \/ for slashes`, slash: true},
		{name: `with \uXXXX for non-ASCII characters and \/ for slashes, as in PHP`, unicode: true, slash: true},
		{name: `with \u003c, \u003e and \u0026 for <, > and &, as in Go`, html: true},
		{name: `with \uXXXX for non-ASCII and HTML characters, as in .NET`, unicode: true, upper: true, html: true, dn: true},
	}
}

// rewritten re-encodes the body's JSON in the styles of various libraries. It returns nil if the
// body is not JSON.
func rewritten(body []byte) (out []variant) {
	root, ok := parse(body)
	if !ok {
		return nil
	}
	var styles []style
	for _, sorted := range []bool{false, true} {
		for _, e := range escapeStyles() {
			for _, s := range spacings() {
				styles = append(styles, style{s, e, sorted})
			}
		}
	}
	texts := make([][]byte, len(styles))
	sent := style{} // the style of the body itself, if it is one of styles
	for i, s := range styles {
		texts[i] = s.write(nil, root, 0)
		if sent == (style{}) && bytes.Equal(texts[i], bytes.TrimSpace(body)) {
			sent = s
		}
	}
	for _, end := range []string{"", "\n"} {
		for i, s := range styles {
			if len(texts[i]) <= maxWritten {
				out = append(out,
					variant{slices.Concat(texts[i], []byte(end)), "json_rewritten", s.describe(sent, end), sameBytes})
			}
		}
	}
	return out
}

func (s style) describe(sent style, end string) string {
	var differs []string
	if s.spacing != sent.spacing {
		differs = append(differs, s.spacing.name)
	}
	if s.escapes != sent.escapes {
		differs = append(differs, s.escapes.name)
	}
	if s.sorted {
		differs = append(differs, "with sorted names")
	}
	if end != "" {
		differs = append(differs, "with a line break at the end")
	}
	return "The JSON was encoded twice, once for signing and once for sending. The signed JSON is " +
		strings.Join(differs, ", ") + "."
}

// node is a JSON value that preserves the order of names and the text of numbers.
type node struct {
	kind  byte // {, [ or "; 0 for a number, true, false or null
	text  string
	names []string
	items []node
}

const (
	deepest = 64
	// maxWritten limits the size of rewritten JSON in bytes, because indentation can make it very long.
	// Longer forms are skipped, because a partner is unlikely to have signed them.
	maxWritten = 4 * MaxDiagnosed
)

func parse(body []byte) (node, bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	root, err := parseNode(d, 0)
	if err != nil {
		return node{}, false
	}
	_, err = d.Token()
	return root, errors.Is(err, io.EOF)
}

func parseNode(d *json.Decoder, depth int) (n node, err error) {
	token, err := d.Token()
	if err != nil {
		return n, err
	}
	switch token := token.(type) {
	case string:
		return node{kind: '"', text: token}, nil
	case json.Delim:
		n.kind = byte(token) //nolint:gosec // a bracket
		if depth == deepest {
			return n, fmt.Errorf("nested deeper than %d", deepest)
		}
		for d.More() {
			if n.kind == '{' {
				name, err := d.Token()
				if err != nil {
					return n, err
				}
				text, _ := name.(string)
				n.names = append(n.names, text)
			}
			item, err := parseNode(d, depth+1)
			if err != nil {
				return n, err
			}
			n.items = append(n.items, item)
		}
		_, err = d.Token()
		return n, err
	case nil:
		return node{text: "null"}, nil
	}
	return node{text: fmt.Sprint(token)}, nil
}

// write appends the JSON value n to the slice out, in the style s. It stops soon after maxWritten
// bytes.
func (s style) write(out []byte, n node, depth int) []byte {
	switch {
	case len(out) > maxWritten:
		return out
	case n.kind == 0:
		return append(out, n.text...)
	case n.kind == '"':
		return s.quote(out, n.text)
	}
	order := make([]int, len(n.items))
	for i := range order {
		order[i] = i
	}
	if s.sorted && n.kind == '{' {
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(n.names[a], n.names[b]) })
	}
	out = append(out, n.kind)
	for i, at := range order {
		if i > 0 {
			out = append(out, s.comma...)
		}
		out = s.newline(out, depth+1)
		if n.kind == '{' {
			out = append(s.quote(out, n.names[at]), s.colon...)
		}
		out = s.write(out, n.items[at], depth+1)
	}
	if len(order) > 0 {
		out = s.newline(out, depth)
	}
	return append(out, n.kind+2) // in ASCII, ] and } are two after [ and {
}

func (s style) newline(out []byte, depth int) []byte {
	if s.indent == "" {
		return out
	}
	return append(append(out, '\n'), strings.Repeat(s.indent, depth)...)
}

func (s style) quote(out []byte, text string) []byte {
	out = append(out, '"')
	for _, r := range text {
		out = s.escape(out, r)
	}
	return append(out, '"')
}

func (s style) escape(out []byte, r rune) []byte {
	if short := strings.IndexRune("\"\\\b\f\n\r\t", r); short >= 0 && !(s.dn && r == '"') {
		return append(out, '\\', `"\bfnrt`[short])
	}
	switch {
	case r == '/' && s.slash:
		return append(out, '\\', '/')
	case r < ' ', s.unicode && r > '~', s.html &&
		(r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029'), s.dn && strings.ContainsRune("\"'+`", r):
		form := `\u%04x`
		if s.upper {
			form = `\u%04X`
		}
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			return fmt.Appendf(fmt.Appendf(out, form, high), form, low)
		}
		return fmt.Appendf(out, form, r)
	}
	return append(out, string(r)...)
}
