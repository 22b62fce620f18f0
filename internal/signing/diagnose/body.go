package diagnose

import "bytes"

// variant is a message that may have been signed instead, and what that means.
type variant struct {
	bytes            []byte
	cause, what, fix string
}

// and is the finding of two mistakes at once.
func (v variant) and(other variant) finding {
	if other.what == "" {
		return finding{v.cause, v.what, v.fix}
	}
	return finding{v.cause + "+" + other.cause, v.what + " And: " + other.what, v.fix + " " + other.fix}
}

const sameBytes = "Sign the very bytes that are sent: write the body once, keep it, sign it and send it."

// bodyVariants are what may have been signed instead of the body, the likely first.
func bodyVariants(body []byte) (out []variant) {
	bom := []byte("\ufeff")
	lf := bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	seen := map[string]bool{string(body): true}
	add := func(v variant) {
		if !seen[string(v.bytes)] {
			seen[string(v.bytes)] = true
			out = append(out, v)
		}
	}
	for _, m := range []struct {
		cause, what string
		bytes       []byte
	}{
		{"body_newline_signed", "A line break at the body's end was signed, and not sent.", append(bytes.Clone(body), '\n')},
		{"body_newline_sent", "A line break at the body's end was sent, and not signed.", bytes.TrimSuffix(bytes.TrimSuffix(body, []byte("\n")), []byte("\r"))},
		{"body_crlf_signed", "A Windows line break at the body's end was signed, and not sent.", append(bytes.Clone(body), '\r', '\n')},
		{"body_blanks_sent", "Line breaks or blanks around the body were sent, and not signed.", bytes.TrimSpace(body)},
		{"body_lf_signed", "The body was signed with the line breaks of Unix, and is here with those of Windows. A text that is pasted into a form may change so.", lf},
		{"body_crlf_inside_signed", "The body was signed with the line breaks of Windows, and sent with those of Unix.", bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n"))},
		{"body_bom_sent", "A byte-order mark in front of the body was sent, and not signed.", bytes.TrimPrefix(body, bom)},
		{"body_bom_signed", "A byte-order mark in front of the body was signed, and not sent.", append(bytes.Clone(bom), body...)},
	} {
		add(variant{m.bytes, m.cause, m.what, sameBytes})
	}
	for _, v := range rewritten(body) {
		add(v)
	}
	return out
}
