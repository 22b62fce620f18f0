package signing

import "bytes"

// variant is a message that may have been signed instead, and what that means.
type variant struct {
	bytes      []byte
	what, mend string
}

// and is the finding of two mistakes at once.
func (v variant) and(other variant) finding {
	if other.what == "" {
		return finding{v.what, v.mend}
	}
	return finding{v.what + " And: " + other.what, v.mend + " " + other.mend}
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
		what  string
		bytes []byte
	}{
		{"A line break at the body's end was signed, and not sent.", append(bytes.Clone(body), '\n')},
		{"A line break at the body's end was sent, and not signed.", bytes.TrimSuffix(bytes.TrimSuffix(body, []byte("\n")), []byte("\r"))},
		{"A Windows line break at the body's end was signed, and not sent.", append(bytes.Clone(body), '\r', '\n')},
		{"Line breaks or blanks around the body were sent, and not signed.", bytes.TrimSpace(body)},
		{"The body was signed with the line breaks of Unix, and is here with those of Windows. A text that is pasted into a form may change so.", lf},
		{"The body was signed with the line breaks of Windows, and sent with those of Unix.", bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n"))},
		{"A byte-order mark in front of the body was sent, and not signed.", bytes.TrimPrefix(body, bom)},
		{"A byte-order mark in front of the body was signed, and not sent.", append(bytes.Clone(bom), body...)},
	} {
		add(variant{m.bytes, m.what, sameBytes})
	}
	for _, v := range rewritten(body) {
		add(v)
	}
	return out
}
