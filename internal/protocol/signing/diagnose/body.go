package diagnose

import "bytes"

// variant is a message that the partner may have signed by mistake, with a description of the mistake.
type variant struct {
	bytes            []byte
	cause, what, fix string
}

// combine returns one finding for a signature that contains the mistakes of both variants.
func (v variant) combine(other variant) finding {
	if other.what == "" {
		return finding{v.cause, v.what, v.fix}
	}
	return finding{v.cause + "+" + other.cause, v.what + " " + other.what, v.fix + " " + other.fix}
}

const sameBytes = "Encode the body once, then sign and send the same bytes."

// bodyVariants returns the messages that may have been signed instead of the body, most likely first.
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
		{"body_newline_signed", "A line break at the end of the body was signed but not sent.",
			append(bytes.Clone(body), '\n')},
		{"body_newline_sent", "A line break at the end of the body was sent but not signed.",
			bytes.TrimSuffix(bytes.TrimSuffix(body, []byte("\n")), []byte("\r"))},
		{"body_crlf_signed", "A Windows line break at the end of the body was signed but not sent.",
			append(bytes.Clone(body), '\r', '\n')},
		{"body_blanks_sent", "Spaces or line breaks around the body were sent but not signed.", bytes.TrimSpace(body)},
		{"body_lf_signed", "The body was signed with Unix line breaks, but the body here has Windows line breaks. Pasting into a form can change line breaks.", lf},
		{"body_crlf_inside_signed", "The body was signed with Windows line breaks, but sent with Unix line breaks.",
			bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n"))},
		{"body_bom_sent", "A byte-order mark before the body was sent but not signed.", bytes.TrimPrefix(body, bom)},
		{"body_bom_signed", "A byte-order mark before the body was signed but not sent.", append(bytes.Clone(bom), body...)},
	} {
		add(variant{m.bytes, m.cause, m.what, sameBytes})
	}
	for _, v := range rewritten(body) {
		add(v)
	}
	return out
}
