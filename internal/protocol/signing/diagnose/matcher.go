package diagnose

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // to recognise signatures made with it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// maxHashed limits the number of bytes that one diagnosis hashes. Hashing this many bytes takes about a
// second.
const maxHashed = 128 << 20

// matcher compares a partner's signature with the signatures that the given secrets would produce.
type matcher struct {
	mac    []byte
	keys   [][]byte
	macs   []hash.Hash
	hashed int
}

func newMatcher(mac []byte, keys []CandidateKey) *matcher {
	t := &matcher{mac: mac}
	for _, k := range keys {
		t.keys = append(t.keys, k.Key)
		t.macs = append(t.macs, hmac.New(sha256.New, k.Key))
	}
	return t
}

func (t *matcher) overBudget() bool { return t.hashed > maxHashed }

// hmac returns the index of the secret that signed the message, or -1.
func (t *matcher) hmac(message []byte) int {
	return t.firstMatch(len(message), func(i int) []byte {
		t.macs[i].Reset()
		t.macs[i].Write(message)
		return t.macs[i].Sum(nil)
	})
}

// firstMatch returns the index of the first secret for which sum returns the partner's
// signature, or -1. Comparisons take constant time and continue after a match.
func (t *matcher) firstMatch(size int, sum func(key int) []byte) int {
	found := -1
	for i := range t.keys {
		if t.overBudget() {
			break
		}
		t.hashed += size
		if hmac.Equal(sum(i), t.mac) && found < 0 {
			found = i
		}
	}
	return found
}

// explain tries single mistakes, the most likely first, and then combinations of two.
func (t *matcher) explain(timestamp, body string, sent sentTime) (finding, int) {
	bodies := bodyVariants([]byte(body))
	for _, try := range []func() (finding, int){
		func() (finding, int) { return t.joined(timestamp, variant{bytes: []byte(body)}) },
		func() (finding, int) { return t.bodies(timestamp, bodies) },
		func() (finding, int) { return t.timestamps(body, sent) },
		func() (finding, int) { return t.otherKeys(timestamp + "." + body) },
		func() (finding, int) { return t.plainHash(timestamp, body) },
		func() (finding, int) { return t.matchTwoCauses(timestamp, bodies) },
	} {
		if f, key := try(); f.verdict != "" {
			return f, key
		}
	}
	return unexplained(timestamp + "." + body), -1
}

func unexplained(signed string) finding {
	const shown = 40
	begins := signed
	if len(begins) > shown {
		begins = strings.ToValidUTF8(begins[:shown], "") + "…"
	}
	return finding{
		"unexplained",
		"The signature matches none of the partner's secrets. None of the common mistakes explains the difference.",
		fmt.Sprintf("Compare the bytes that the partner's program signs with the bytes that the service expects: %d bytes that begin with %s. If they are the same, the program uses a secret that does not belong to this partner. In that case, compare the last characters of the program's secret with those of the partner's secrets.",
			len(signed), begins),
	}
}

func joins(timestamp string, body []byte) []variant {
	const fix = "Sign the timestamp, a dot and the body: {timestamp}.{body}."
	join := func(cause, what string, parts ...string) variant {
		return variant{cause: cause, what: what, fix: fix, bytes: []byte(strings.Join(parts, ""))}
	}
	b := string(body)
	out := []variant{
		join("joined_body_alone", "The body was signed without the timestamp.", b),
		join("joined_without_dot", "The timestamp and body were signed without a dot between them.", timestamp, b),
		join("joined_timestamp_last", "In the signed bytes, the timestamp comes after the body.", b, ".", timestamp),
		join("joined_timestamp_last_without_dot",
			"In the signed bytes, the timestamp comes after the body, without a dot between them.", b, timestamp),
		join("joined_as_slack", "The signed text is v0:{timestamp}:{body}, as in Slack.", "v0:", timestamp, ":", b),
	}
	for _, other := range []struct{ cause, name, between string }{
		{"newline", "a line break", "\n"},
		{"colon", "a colon", ":"},
		{"comma", "a comma", ","},
		{"blank", "a space", " "},
		{"bar", "a vertical bar", "|"},
		{"hyphen", "a hyphen", "-"},
		{"semicolon", "a semicolon", ";"},
	} {
		out = append(out,
			join("joined_with_"+other.cause,
				"The timestamp and body were signed with "+other.name+" instead of a dot between them.", timestamp,
				other.between, b))
	}
	return out
}

func (t *matcher) joined(timestamp string, body variant) (finding, int) {
	for _, v := range joins(timestamp, body.bytes) {
		if key := t.hmac(v.bytes); key >= 0 {
			return v.combine(body), key
		}
	}
	return finding{}, -1
}

func (t *matcher) bodies(timestamp string, bodies []variant) (finding, int) {
	for _, v := range bodies {
		if t.overBudget() {
			break
		}
		if key := t.hmac(slices.Concat([]byte(timestamp+"."), v.bytes)); key >= 0 {
			return finding{v.cause, v.what, v.fix}, key
		}
	}
	return finding{}, -1
}

func (t *matcher) timestamps(body string, sent sentTime) (finding, int) {
	for _, text := range sent.instead {
		if key := t.hmac([]byte(text + "." + body)); key >= 0 {
			return finding{"timestamp_differs", "The signed timestamp, " + text +
				", differs from the one that was sent.", "Sign the exact text of X-Timestamp."}, key
		}
	}
	return finding{}, -1
}

func (t *matcher) matchTwoCauses(timestamp string, bodies []variant) (finding, int) {
	for _, v := range bodies {
		if t.overBudget() {
			break
		}
		if f, key := t.joined(timestamp, v); key >= 0 {
			return f, key
		}
	}
	return finding{}, -1
}

// otherKeys tries altered secrets, such as one that was read from a file with a line break.
func (t *matcher) otherKeys(signed string) (finding, int) {
	const fix = "Use the secret exactly as shown, in UTF-8 and with its prefix. Do not decode, trim or extend it."
	cut := func(key []byte) []byte { return bytes.TrimPrefix(key, []byte("pp_")) }
	for _, m := range []struct {
		cause, what string
		of          func(key []byte) []byte
	}{
		{"secret_newline", "The secret was used with a line break at its end. This often happens when it is read from a file.", func(k []byte) []byte {
			return append(bytes.Clone(k), '\n')
		}},
		{"secret_crlf", "The secret was used with a Windows line break at its end.", func(k []byte) []byte {
			return append(bytes.Clone(k), '\r', '\n')
		}},
		{"secret_blank_behind", "The secret was used with a space at its end.", func(k []byte) []byte {
			return append(bytes.Clone(k), ' ')
		}},
		{"secret_blank_in_front", "The secret was used with a space before it.", func(k []byte) []byte {
			return append([]byte{' '}, k...)
		}},
		{"secret_quoted", "The secret was used with quotes around it.", func(k []byte) []byte {
			return []byte(`"` + string(k) + `"`)
		}},
		{"secret_trimmed", "The spaces at the start or end of the secret were removed.", bytes.TrimSpace},
		{"secret_without_prefix", "The secret's prefix was removed.", cut},
		{"secret_from_hex", "The secret was decoded as hex.", func(k []byte) []byte {
			return decoded(hex.DecodeString(string(k)))
		}},
		{"secret_from_base64", "The secret was decoded as base64.", fromBase64},
		{"secret_without_prefix_from_base64", "The secret's prefix was removed and the rest was decoded as base64.", func(k []byte) []byte {
			return fromBase64(cut(k))
		}},
		{"secret_without_prefix_from_hex", "The secret's prefix was removed and the rest was decoded as hex.", func(k []byte) []byte {
			return decoded(hex.DecodeString(string(cut(k))))
		}},
	} {
		if key := t.firstMatch(len(signed), func(i int) []byte { return macOf(sha256.New, m.of(t.keys[i]), signed) }); key >= 0 {
			return finding{m.cause, m.what, fix}, key
		}
	}
	return finding{}, -1
}

func fromBase64(key []byte) []byte {
	text := strings.TrimRight(string(key), "=")
	if out, err := base64.RawStdEncoding.DecodeString(text); err == nil {
		return out
	}
	return decoded(base64.RawURLEncoding.DecodeString(text))
}

func decoded(key []byte, err error) []byte {
	if err != nil {
		return nil
	}
	return key
}

func macOf(hash func() hash.Hash, key []byte, signed string) []byte {
	if key == nil {
		return nil
	}
	mac := hmac.New(hash, key)
	mac.Write([]byte(signed))
	return mac.Sum(nil)
}

// plainHash recognises a SHA-256 hash that was computed without HMAC, with or without the secret in
// the hashed text.
func (t *matcher) plainHash(timestamp, body string) (finding, int) {
	const fix = "Use HMAC SHA-256 with the secret as the key. A hash of a text that contains the secret is not an HMAC."
	for _, text := range []string{body, timestamp + "." + body} {
		if key := t.firstMatch(len(text), func(i int) []byte { return sha(text + string(t.keys[i])) }); key >= 0 {
			return finding{"plain_hash_secret_behind", "The signature is a plain SHA-256 of the text followed by the secret, instead of an HMAC.", fix}, key
		}
		if key := t.firstMatch(len(text), func(i int) []byte { return sha(string(t.keys[i]) + text) }); key >= 0 {
			return finding{"plain_hash_secret_in_front", "The signature is a plain SHA-256 of the secret followed by the text, instead of an HMAC.", fix}, key
		}
		if hmac.Equal(sha(text), t.mac) {
			return finding{"plain_hash", "The signature is a plain SHA-256 of the text, without a secret.", fix}, -1
		}
	}
	return finding{}, -1
}

func sha(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func hashName(n int) string {
	switch n {
	case sha1.Size:
		return "HMAC SHA-1"
	case sha256.Size:
		return "HMAC SHA-256"
	case sha512.Size384:
		return "HMAC SHA-384"
	case sha512.Size:
		return "HMAC SHA-512"
	}
	return ""
}

// otherHash returns the index of the secret that was used with a different hash, or -1.
func (t *matcher) otherHash(signed []byte) int {
	other := map[int]func() hash.Hash{
		sha1.Size:      sha1.New,
		sha512.Size384: sha512.New384,
		sha512.Size:    sha512.New,
	}[len(t.mac)]
	return t.firstMatch(len(signed), func(i int) []byte { return macOf(other, t.keys[i], string(signed)) })
}
