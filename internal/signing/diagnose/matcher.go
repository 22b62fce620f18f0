package diagnose

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // to name the mistake when a partner used it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// maxHashed bounds the bytes that one diagnosis hashes: a second or so of work, at worst.
const maxHashed = 128 << 20

// matcher compares one signature with what secrets make of messages.
type matcher struct {
	mac    []byte
	keys   [][]byte
	macs   []hash.Hash
	hashed int
}

func newTrial(mac []byte, keys []CandidateKey) *matcher {
	t := &matcher{mac: mac}
	for _, k := range keys {
		t.keys = append(t.keys, k.Key)
		t.macs = append(t.macs, hmac.New(sha256.New, k.Key))
	}
	return t
}

func (t *matcher) overBudget() bool { return t.hashed > maxHashed }

// hmac returns which secret signed the message; -1 for none.
func (t *matcher) hmac(message []byte) int {
	return t.any(len(message), func(i int) []byte {
		t.macs[i].Reset()
		t.macs[i].Write(message)
		return t.macs[i].Sum(nil)
	})
}

// any returns for which secret sum is the signature. Each comparison takes the same
// time, and so does finding none at first and at last.
func (t *matcher) any(size int, sum func(key int) []byte) int {
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

// explain tries one mistake after the other, the likely ones first, then two at once.
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
	return nothingFits(timestamp + "." + body), -1
}

func nothingFits(signed string) finding {
	const shown = 40
	begins := signed
	if len(begins) > shown {
		begins = strings.ToValidUTF8(begins[:shown], "") + "…"
	}
	return finding{
		"unexplained",
		"No secret of this partner gives this signature for this timestamp and body, and none of the usual mistakes explains it.",
		fmt.Sprintf("Compare what is signed, byte by byte: here it has %d bytes and begins with %s. If it is the same there, the secret is another: compare its last characters, and whether it belongs to this partner.",
			len(signed), begins),
	}
}

// joins are the ways to put timestamp and body together that are not ours.
func joins(timestamp string, body []byte) []variant {
	const mend = "Sign the timestamp, a dot and the body: {timestamp}.{body}."
	join := func(cause, what string, parts ...string) variant {
		return variant{cause: cause, what: what, fix: mend, bytes: []byte(strings.Join(parts, ""))}
	}
	b := string(body)
	out := []variant{
		join("joined_body_alone", "The body alone was signed, without the timestamp.", b),
		join("joined_without_dot", "There is no dot between timestamp and body in what was signed.", timestamp, b),
		join("joined_timestamp_last", "The timestamp was signed after the body.", b, ".", timestamp),
		join("joined_timestamp_last_without_dot", "The timestamp was signed after the body, without a dot.", b, timestamp),
		join("joined_as_slack", "What was signed is v0:{timestamp}:{body}, as Slack has it.", "v0:", timestamp, ":", b),
	}
	for _, other := range []struct{ cause, name, between string }{
		{"newline", "a line break", "\n"},
		{"colon", "a colon", ":"},
		{"comma", "a comma", ","},
		{"blank", "a blank", " "},
		{"bar", "a bar", "|"},
		{"hyphen", "a hyphen", "-"},
		{"semicolon", "a semicolon", ";"},
	} {
		out = append(out,
			join("joined_with_"+other.cause,
				"There is "+other.name+" and not a dot between timestamp and body in what was signed.", timestamp,
				other.between, b))
	}
	return out
}

func (t *matcher) joined(timestamp string, body variant) (finding, int) {
	for _, v := range joins(timestamp, body.bytes) {
		if key := t.hmac(v.bytes); key >= 0 {
			return v.and(body), key
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
			return finding{"timestamp_differs", "The timestamp that was signed is not the text that was sent: " +
				text + " was signed.", "Sign the very text that X-Timestamp holds."}, key
		}
	}
	return finding{}, -1
}

// matchTwoCauses tries another way of joining with another body.
func (t *matcher) matchTwoCauses(timestamp string, bodies []variant) (finding, int) {
	for _, v := range bodies {
		if t.overBudget() { // the joining costs time as well
			break
		}
		if f, key := t.joined(timestamp, v); key >= 0 {
			return f, key
		}
	}
	return finding{}, -1
}

// otherKeys tries what becomes of a secret on its way into a program.
func (t *matcher) otherKeys(signed string) (finding, int) {
	const mend = "Take the secret as it was shown, as UTF-8, prefix included and nothing decoded, cut off or added."
	cut := func(key []byte) []byte { return bytes.TrimPrefix(key, []byte("pp_")) }
	for _, m := range []struct {
		cause, what string
		of          func(key []byte) []byte
	}{
		{"secret_newline", "The secret that was signed with has a line break at its end, as one that is read from a file has.", func(k []byte) []byte {
			return append(bytes.Clone(k), '\n')
		}},
		{"secret_crlf", "The secret that was signed with has a Windows line break at its end.", func(k []byte) []byte {
			return append(bytes.Clone(k), '\r', '\n')
		}},
		{"secret_blank_behind", "The secret that was signed with has a blank at its end.", func(k []byte) []byte {
			return append(bytes.Clone(k), ' ')
		}},
		{"secret_blank_in_front", "The secret that was signed with has a blank in front.", func(k []byte) []byte {
			return append([]byte{' '}, k...)
		}},
		{"secret_quoted", "The secret that was signed with has quotes around it.", func(k []byte) []byte {
			return []byte(`"` + string(k) + `"`)
		}},
		{"secret_trimmed", "The blanks at the ends of the secret were cut off.", bytes.TrimSpace},
		{"secret_without_prefix", "The secret's prefix was cut off.", cut},
		{"secret_from_hex", "The secret was decoded as hex.", func(k []byte) []byte {
			return decoded(hex.DecodeString(string(k)))
		}},
		{"secret_from_base64", "The secret was decoded as base64.", fromBase64},
		{"secret_without_prefix_from_base64", "The secret's prefix was cut off, and the rest decoded as base64.", func(k []byte) []byte {
			return fromBase64(cut(k))
		}},
		{"secret_without_prefix_from_hex", "The secret's prefix was cut off, and the rest decoded as hex.", func(k []byte) []byte {
			return decoded(hex.DecodeString(string(cut(k))))
		}},
	} {
		if key := t.any(len(signed), func(i int) []byte { return macOf(sha256.New, m.of(t.keys[i]), signed) }); key >= 0 {
			return finding{m.cause, m.what, mend}, key
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

// decoded is nil for what is not in the form.
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

// plainHash knows SHA-256 without HMAC, and even without a secret.
func (t *matcher) plainHash(timestamp, body string) (finding, int) {
	const mend = "Use HMAC SHA-256 with the secret as its key: it is a function of its own, and not the hash of a text that holds the secret."
	for _, text := range []string{body, timestamp + "." + body} {
		if key := t.any(len(text), func(i int) []byte { return sha(text + string(t.keys[i])) }); key >= 0 {
			return finding{"plain_hash_secret_behind", "The signature is the plain SHA-256 of the text with the secret behind it, and no HMAC.", mend}, key
		}
		if key := t.any(len(text), func(i int) []byte { return sha(string(t.keys[i]) + text) }); key >= 0 {
			return finding{"plain_hash_secret_in_front", "The signature is the plain SHA-256 of the secret with the text behind it, and no HMAC.", mend}, key
		}
		if hmac.Equal(sha(text), t.mac) {
			return finding{"plain_hash", "The signature is the plain SHA-256 of the text: no secret is in it.", mend}, -1
		}
	}
	return finding{}, -1
}

func sha(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// hashName is the HMAC that a signature of n bytes may be; empty for none.
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

// otherHash returns which secret made a signature of another hash.
func (t *matcher) otherHash(signed []byte) int {
	other := map[int]func() hash.Hash{
		sha1.Size:      sha1.New,
		sha512.Size384: sha512.New384,
		sha512.Size:    sha512.New,
	}[len(t.mac)]
	return t.any(len(signed), func(i int) []byte { return macOf(other, t.keys[i], string(signed)) })
}
