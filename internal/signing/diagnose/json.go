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

// style is how a library writes JSON.
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

// spacings and the escapes below begin with what most libraries write.
func spacings() []spacing {
	return []spacing{
		{"compact", "", ",", ":"},
		{"with a blank after each comma and colon, as Python writes it", "", ", ", ": "},
		{"indented by 2 blanks", "  ", ",", ": "},
		{"indented by 4 blanks", "    ", ",", ": "},
		{"indented by tabs", "\t", ",", ": "},
		{"with a blank after each colon", "", ",", ": "},
	}
}

func escapeStyles() []escapes {
	return []escapes{
		{name: "with its characters as they are"},
		{name: `with \uXXXX for what is not ASCII, as Python writes it`, unicode: true},
		{name: `with \/ for slashes`, slash: true},
		{name: `with \uXXXX for what is not ASCII and \/ for slashes, as PHP writes it`, unicode: true, slash: true},
		{name: `with \u003c, \u003e and \u0026 for <, > and &, as Go writes it`, html: true},
		{name: `with \uXXXX for what is not ASCII and for signs of HTML, as .NET writes it`, unicode: true, upper: true, html: true, dn: true},
	}
}

// rewritten are the ways in which libraries write the body's JSON; none when it is not
// JSON.
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
	sent := style{} // how the body itself is written, when it is one of the styles
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

// describe says what was signed, without what it has in common with what was sent.
func (s style) describe(sent style, end string) string {
	var differs []string
	if s.spacing != sent.spacing {
		differs = append(differs, s.spacing.name)
	}
	if s.escapes != sent.escapes {
		differs = append(differs, s.escapes.name)
	}
	if s.sorted {
		differs = append(differs, "with its names sorted")
	}
	if end != "" {
		differs = append(differs, "with a line break at its end")
	}
	return "The body's JSON was written twice, once to sign it and once to send it: what was signed is " +
		strings.Join(differs, ", ") + "."
}

// node is JSON with the order of its names, and with its numbers as they were written.
type node struct {
	kind  byte // { [ " or 0 for a number, true, false and null
	text  string
	names []string
	items []node
}

const (
	deepest = 64
	// maxWritten bounds what deep indentation makes of a body: what was sent in a
	// post was hardly longer before.
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
			return n, fmt.Errorf("deeper than %d", deepest)
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

// write stops soon after maxWritten.
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
	return append(out, n.kind+2) // ] and } are two after [ and {
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
