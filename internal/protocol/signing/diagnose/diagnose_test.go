package diagnose

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/protocol/signing"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 999_000_000, time.UTC)

func stamp(offset int64) string { return strconv.FormatInt(now.Unix()+offset, 10) }

// secrets contains active, expired and revoked secrets of one partner.
var secrets = []CandidateKey{
	{"first (…aaaa)", []byte("pp_Zm9yIHRoZSBmaXJzdCBzZWNyZXQgb2YgdGhlbQ"), KeyActive},
	{"second (…bbbb)", []byte("  00112233445566778899aabbccddeeff "), KeyActive},
	{"hex (…eeff)", []byte("00112233445566778899aabbccddeeffeedd"), KeyActive},
	{"old (…cccc)", []byte("an expired secret of this partner"), KeyExpired},
	{"bad (…dddd)", []byte("a revoked secret of this partner"), KeyRevoked},
}

const compact = `{"zip":"1/2","name":"Zoë <b> & Ö","list":[1,2.50,true,null],"emoji":"😀","none":{},"a":[]}`

func macHex(key, signed string) string {
	return hex.EncodeToString(macOf(sha256.New, []byte(key), signed))
}

func sum(text string) string { return hex.EncodeToString(sha(text)) }

func TestDiagnoseFindsTheSecret(t *testing.T) {
	for i, key := range secrets {
		d := Signature(" "+stamp(0)+"\t", compact, strings.ToUpper(signing.Sign(key.Key, stamp(0), []byte(compact))),
			secrets, now)
		if d.Key != i || d.Matches != (key.State == KeyActive) || !strings.Contains(d.Verdict, key.Name) ||
			string(d.Signed) != stamp(0)+"."+compact {
			t.Errorf("%s: %+v", key.Name, d)
		}
		if (d.Fix == "") != d.Matches || key.State != KeyActive && !slices.Equal(d.Causes, []string{"secret_" + key.State}) {
			t.Errorf("%s: %s %s", key.Name, d.Verdict, d.Fix)
		}
		if len(d.Notes) != 1 { // upper case is accepted
			t.Errorf("%s: %q", key.Name, d.Notes)
		}
	}
}

// A valid signature remains valid outside its window, and the time difference is reported.
func TestDiagnoseReportsWindow(t *testing.T) {
	for _, c := range []struct {
		offset       int64
		cause, shows string
	}{
		{300, "", ""}, {-300, "", ""}, {301, "timestamp_early", "301 s"}, {-4000, "timestamp_late", "4000 s"},
	} {
		d := Signature(stamp(c.offset), compact, signing.Sign(secrets[0].Key, stamp(c.offset), []byte(compact)), secrets, now)
		if !d.Matches || d.Key != 0 || strings.Join(d.Causes, " ") != c.cause ||
			!strings.Contains(d.Verdict, c.shows) || !strings.Contains(d.Fix, c.shows) || (d.Fix == "") != (c.cause == "") {
			t.Errorf("%d s: %+v", c.offset, d)
		}
		wrong := Signature(stamp(c.offset), compact, strings.Repeat("0", 64), secrets, now)
		if wrong.Matches || wrong.Key != -1 || len(wrong.Notes) > 0 != (c.cause != "") {
			t.Errorf("%d s, wrong signature: %+v", c.offset, wrong)
		}
	}
}

func TestDiagnoseMalformedSignatures(t *testing.T) {
	key, ts := secrets[0].Key, stamp(0)
	right := signing.Sign(key, ts, []byte(compact))
	raw, _ := hex.DecodeString(right)
	url := base64.RawURLEncoding.EncodeToString(raw)
	leading := leadingZero(key)
	for _, c := range []struct {
		name, body, signature, cause string
	}{
		{"sha256=", compact, "sha256=" + right, "signature_prefix"},
		{"hmac-sha256:", compact, "hmac-sha256: " + right, "signature_prefix"},
		{"v1=", compact, "v1=" + right, "signature_prefix"},
		{"as in Stripe", compact, "t=" + ts + ",v1=" + right, "signature_prefix"},
		{"a long prefix", compact, "HMAC-SHA256 Signature=\u00e9" + right, "signature_prefix"},
		{"0x", compact, "0x" + right, "signature_prefix"},
		{"base64", compact, base64.StdEncoding.EncodeToString(raw), "signature_base64"},
		{"base64 unpadded", compact, base64.RawStdEncoding.EncodeToString(raw), "signature_base64"},
		{"base64url", compact, url, "signature_base64"},
		{"base64 of the hex", compact, base64.StdEncoding.EncodeToString([]byte(right)), "signature_base64_of_hex"},
		{"a prefix and base64", compact, "sha256=" + base64.StdEncoding.EncodeToString(raw), "signature_prefix_base64"},
		{"quotes", compact, `"` + right + `"`, "signature_quoted"},
		{"a no-break space", compact, right + "\u00a0", "signature_quoted"},
		{"a zero-width space", compact, "\u200b" + right, "signature_quoted"},
		{"pairs as C# writes them", compact, strings.ToUpper(inPairs(right, "-")), "signature_separated"},
		{"a leading zero lost", leading, strings.TrimLeft(signing.Sign(key, ts, []byte(leading)), "0"), "signature_length"},
		{"SHA-1", compact, hex.EncodeToString(macOf(sha1.New, key, ts+"."+compact)), "signature_hash"},
		{"SHA-512", compact, hex.EncodeToString(macOf(sha512.New, key, ts+"."+compact)), "signature_hash"},
		{"SHA-512 in base64", compact, base64.StdEncoding.EncodeToString(macOf(sha512.New, key, ts+"."+compact)),
			"signature_base64"},
	} {
		d := Signature(ts, c.body, c.signature, secrets, now)
		if d.Matches || d.Key != 0 || d.Causes[0] != c.cause || d.Verdict == "" || d.Fix == "" {
			t.Errorf("%s: %d %v, want %s", c.name, d.Key, d.Causes, c.cause)
		}
	}
	for name, signature := range map[string]string{
		"nothing": "", "truncated": right[:40+9], "a word": "soon", "not hex": strings.Repeat("g", 64), "one digit": "a",
	} {
		if d := Signature(ts, compact, signature, secrets, now); d.Matches || d.Key != -1 || d.Verdict == "" || d.Fix == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	// If there are two mistakes, the malformed signature is the verdict and the other mistake is
	// in the notes.
	d := Signature(ts, compact, "sha256="+macHex(string(key), compact), secrets, now)
	if want := []string{"signature_prefix", "joined_body_alone"}; !slices.Equal(d.Causes, want) || len(d.Notes) != 2 {
		t.Errorf("two mistakes: got %v %q", d.Causes, d.Notes)
	}
}

// leadingZero returns a body whose signature begins with exactly one zero.
func leadingZero(key []byte) string {
	for i := 0; ; i++ {
		body := `{"n":` + strconv.Itoa(i) + `}`
		if s := signing.Sign(key, stamp(0), []byte(body)); s[0] == '0' && s[1] != '0' {
			return body
		}
	}
}

func inPairs(digits, between string) string {
	var out []string
	for i := 0; i < len(digits); i += 2 {
		out = append(out, digits[i:i+2])
	}
	return strings.Join(out, between)
}

func TestDiagnoseTimestamps(t *testing.T) {
	ts, date := stamp(0), now.Format(time.RFC3339)
	for _, c := range []struct{ name, sent, signed, causes string }{
		{"milliseconds", ts + "999", ts + "999", "timestamp_milliseconds"},
		{"milliseconds, seconds signed", ts + "999", ts, "timestamp_milliseconds timestamp_differs"},
		{"microseconds", ts + "999000", ts + "999000", "timestamp_microseconds"},
		{"nanoseconds", ts + "999000123", ts + "999000123", "timestamp_nanoseconds"},
		{"milliseconds signed, seconds sent", ts, ts + "000", "timestamp_differs"},
		{"leading zeros sent", "00" + ts, ts, "timestamp_differs"},
		{"a date", date, date, "timestamp_date"},
		{"a date, seconds signed", date, ts, "timestamp_date timestamp_differs"},
		{"a fraction", ts + ".999", ts + ".999", "timestamp_fraction"},
		{"quotes", `"` + ts + `"`, ts, "timestamp_quoted timestamp_differs"},
		{"a sign", "+" + ts, "+" + ts, "timestamp_quoted"},
		{"nothing", "", "", "timestamp_missing"},
		{"a word", "now", "now", "timestamp_form"},
		{"beyond 64 bits", strings.Repeat("9", 40), strings.Repeat("9", 40), "timestamp_too_large"},
	} {
		d := Signature(c.sent, compact, signing.Sign(secrets[0].Key, c.signed, []byte(compact)), secrets, now)
		if d.Matches || d.Key != 0 || strings.Join(d.Causes, " ") != c.causes || d.Verdict == "" || d.Fix == "" {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

func TestDiagnoseFindsTheSignedBytes(t *testing.T) {
	ts := stamp(0)
	first := string(secrets[0].Key)
	goHTML, _ := json.Marshal(map[string]string{"html": "<b> & é"})
	var goLine bytes.Buffer
	if err := json.NewEncoder(&goLine).Encode(map[string]string{"html": "<b> & é"}); err != nil {
		t.Fatal(err)
	}
	const windows = "{\r\n\"a\":1\r\n}"
	for _, c := range []struct {
		name, body, key, signed, causes string
	}{
		{"the body alone", compact, first, compact, "joined_body_alone"},
		{"no separator", compact, first, ts + compact, "joined_without_dot"},
		{"a line break", compact, first, ts + "\n" + compact, "joined_with_newline"},
		{"a colon", compact, first, ts + ":" + compact, "joined_with_colon"},
		{"the timestamp last", compact, first, compact + "." + ts, "joined_timestamp_last"},
		{"the timestamp last, no dot", compact, first, compact + ts, "joined_timestamp_last_without_dot"},
		{"as in Slack", compact, first, "v0:" + ts + ":" + compact, "joined_as_slack"},
		{"a newline signed but not sent", compact, first, ts + "." + compact + "\n", "body_newline_signed"},
		{"a newline sent but not signed", compact + "\n", first, ts + "." + compact, "body_newline_sent"},
		{"a Windows newline signed but not sent", compact, first, ts + "." + compact + "\r\n", "body_crlf_signed"},
		{"a Windows newline sent but not signed", compact + "\r\n", first, ts + "." + compact, "body_newline_sent"},
		{"spaces around", "  " + compact + "\n\n", first, ts + "." + compact, "body_blanks_sent"},
		{"Unix signed", windows, first, ts + "." + strings.ReplaceAll(windows, "\r", ""), "body_lf_signed"},
		{"Windows signed", strings.ReplaceAll(windows, "\r", ""), first, ts + "." + windows, "body_crlf_inside_signed"},
		{"a BOM sent", "\ufeff" + compact, first, ts + "." + compact, "body_bom_sent"},
		{"a BOM signed", compact, first, ts + ".\ufeff" + compact, "body_bom_signed"},
		{"the secret with a newline", compact, first + "\n", ts + "." + compact, "secret_newline"},
		{"the secret in quotes", compact, `"` + first + `"`, ts + "." + compact, "secret_quoted"},
		{"the secret without its prefix", compact, first[3:], ts + "." + compact, "secret_without_prefix"},
		{"the secret decoded", compact, string(fromBase64([]byte(first[3:]))), ts + "." + compact,
			"secret_without_prefix_from_base64"},
		{"SHA-256, secret last", compact, "", compact + first, "plain_hash_secret_behind"},
		{"SHA-256, secret first", compact, "", first + ts + "." + compact, "plain_hash_secret_in_front"},
		{"compact signed", `{ "b": 1.50, "a": "x" }`, first, ts + `.{"b":1.50,"a":"x"}`, "json_rewritten"},
		{"Python signed", `{"b":1.50,"a":["x"]}`, first, ts + `.{"b": 1.50, "a": ["x"]}`, "json_rewritten"},
		{"Python's ASCII signed", `{"a":"é😀","b":[1,2]}`, first, ts + `.{"a": "\u00e9\ud83d\ude00", "b": [1, 2]}`,
			"json_rewritten"},
		{"raw signed", `{"a":"\u00e9\ud83d\ude00"}`, first, ts + `.{"a":"é😀"}`, "json_rewritten"},
		{"2 spaces", `{"a":{"b":[1,{}]}}`, first,
			ts + ".{\n  \"a\": {\n    \"b\": [\n      1,\n      {}\n    ]\n  }\n}", "json_rewritten"},
		{"4 spaces", `{"a":1}`, first, ts + ".{\n    \"a\": 1\n}", "json_rewritten"},
		{"tabs", `{"a":1}`, first, ts + ".{\n\t\"a\": 1\n}", "json_rewritten"},
		{"sorted", `{"b":1,"a":{"d":1,"c":2}}`, first, ts + `.{"a":{"c":2,"d":1},"b":1}`, "json_rewritten"},
		{"PHP", `{"u":"https://a/é"}`, first, ts + `.{"u":"https:\/\/a\/\u00e9"}`, "json_rewritten"},
		{"slashes", `{"u":"https://a/é"}`, first, ts + `.{"u":"https:\/\/a\/é"}`, "json_rewritten"},
		{"Go", `{"html":"<b> & é"}`, first, ts + "." + string(goHTML), "json_rewritten"},
		{"Go's encoder", `{"html":"<b> & é"}`, first, ts + "." + goLine.String(), "json_rewritten"},
		{".NET", `{"a":"Ö'+ \"<"}`, first, ts + `.{"a":"\u00D6\u0027\u002B \u0022\u003C"}`, "json_rewritten"},
		{"Python, and the body alone", `{"b":1,"a":2}`, first, `{"b": 1, "a": 2}`, "joined_body_alone+json_rewritten"},
	} {
		signature := sum(c.signed)
		if c.key != "" {
			signature = macHex(c.key, c.signed)
		}
		d := Signature(ts, c.body, signature, secrets, now)
		if d.Matches || d.Key != 0 || strings.Join(d.Causes, " ") != c.causes || d.Verdict == "" || d.Fix == "" ||
			len(d.Notes) != 1 || !strings.Contains(d.Notes[0], secrets[0].Name) {
			t.Errorf("%s: %d %v %q", c.name, d.Key, d.Causes, d.Notes)
		}
	}
	for _, c := range []struct {
		name, key, causes string
		which             int
	}{
		{"spaces trimmed", strings.TrimSpace(string(secrets[1].Key)), "secret_trimmed", 1},
		{"decoded as hex", string(decoded(hex.DecodeString(string(secrets[2].Key)))), "secret_from_hex", 2},
		{"expired secret with a newline", string(secrets[3].Key) + "\n", "secret_newline secret_expired", 3},
	} {
		d := Signature(ts, compact, macHex(c.key, ts+"."+compact), secrets, now)
		if d.Matches || d.Key != c.which || strings.Join(d.Causes, " ") != c.causes || len(d.Notes) != 1 {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	if d := Signature(ts, compact, sum(compact), secrets, now); d.Matches || d.Key != -1 ||
		!slices.Equal(d.Causes, []string{"plain_hash"}) {
		t.Errorf("no secret: %+v", d)
	}
}

func TestDiagnoseReportsUnexplainedSignatures(t *testing.T) {
	d := Signature(stamp(0), compact, macHex("another partner's secret", stamp(0)+"."+compact), secrets, now)
	if d.Matches || d.Key != -1 || !slices.Equal(d.Causes, []string{"unexplained"}) ||
		!strings.Contains(d.Fix, strconv.Itoa(len(compact)+11)) || !strings.Contains(d.Fix, stamp(0)+`.{"zip"`) {
		t.Errorf("%+v", d)
	}
	if d := Signature(stamp(0), compact, strings.Repeat("0", 64), nil, now); d.Matches || d.Key != -1 ||
		!slices.Equal(d.Causes, []string{"no_secret"}) {
		t.Errorf("without secrets: %+v", d)
	}
	if d := Signature(stamp(0), strings.Repeat("x", MaxDiagnosed+1), strings.Repeat("0", 64), secrets, now); d.Matches || !slices.Equal(d.Causes, []string{"body_too_large"}) {
		t.Errorf("too long: %s", d.Verdict)
	}
}

// A diagnosis does a limited amount of work. If it reaches the limit, a note says so.
func TestDiagnoseLimitsItsWork(t *testing.T) {
	many := make([]CandidateKey, 100)
	for i := range many {
		many[i] = CandidateKey{Name: strconv.Itoa(i), Key: bytes.Repeat([]byte{byte(i)}, 40), State: KeyActive}
	}
	deep := strings.Repeat("[", 60) + strings.TrimSuffix(strings.Repeat("1,", 32000), ",") + strings.Repeat("]", 60)
	for _, body := range []string{deep, `"` + strings.Repeat("é", MaxDiagnosed/2-1) + `"`} {
		size := 0
		for _, v := range bodyVariants([]byte(body)) {
			size += len(v.bytes)
		}
		if size > 64<<20 {
			t.Errorf("%.8s… has variants with a total of %d bytes", body, size)
		}
		work := newMatcher(make([]byte, 32), many)
		work.explain(stamp(0), body, sentTime{})
		if work.hashed > maxHashed+maxWritten {
			t.Errorf("%.8s…: hashed %d bytes", body, work.hashed)
		}
	}
	d := Signature(stamp(0), strings.Repeat("[", MaxDiagnosed), strings.Repeat("0", 64), many, now)
	if d.Key != -1 || len(d.Notes) != 1 {
		t.Errorf("%s %q", d.Verdict, d.Notes)
	}
}

func FuzzDiagnose(f *testing.F) {
	f.Add(stamp(0), compact, signing.Sign(secrets[0].Key, stamp(0), []byte(compact)))
	f.Add(stamp(0)+"000", "{\"a\": \"\\ud800\"}", "sha256=00")
	f.Add("2026-01-02T03:04:05Z", "\ufeff[", `"AA-BB"`)
	f.Fuzz(func(t *testing.T, timestamp, body, signature string) {
		d := Signature(timestamp, body, signature, secrets, now)
		seconds, _ := strconv.ParseInt(signing.TrimBlanks(timestamp), 10, 64)
		claim, err := signing.Check(signing.Headers{
			Timestamp: []string{timestamp},
			Signature: []string{signature},
		}, time.Unix(seconds, 0))
		verified := false
		for _, k := range secrets {
			verified = verified || err == nil && k.State == KeyActive && signing.NewVerifier(k.Key).Verify(claim, []byte(body))
		}
		if d.Matches != verified && len(body) <= MaxDiagnosed && seconds < 1e11 {
			t.Fatalf("matches: %t, verified: %t", d.Matches, verified)
		}
		if d.Verdict == "" || d.Key >= len(secrets) || d.Matches && d.Key < 0 {
			t.Fatalf("%+v", d)
		}
		for _, k := range secrets {
			if text := d.Verdict + d.Fix + strings.Join(d.Notes, ""); strings.Contains(text, string(k.Key)) &&
				!strings.Contains(timestamp+body+signature, string(k.Key)) {
				t.Fatal("the diagnosis contains a key")
			}
		}
	})
}
