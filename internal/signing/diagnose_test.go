package signing

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
)

// secrets are two of a partner's, and what became of others.
var secrets = []Known{
	{"first (…aaaa)", []byte("pp_Zm9yIHRoZSBmaXJzdCBzZWNyZXQgb2YgdGhlbQ"), KeyActive},
	{"second (…bbbb)", []byte("  00112233445566778899aabbccddeeff "), KeyActive},
	{"hex (…eeff)", []byte("00112233445566778899aabbccddeeffeedd"), KeyActive},
	{"old (…cccc)", []byte("a retired secret of this partner"), KeyRetired},
	{"bad (…dddd)", []byte("a revoked secret of this partner"), KeyRevoked},
}

const compact = `{"zip":"1/2","name":"Zoë <b> & Ö","list":[1,2.50,true,null],"emoji":"😀","none":{},"a":[]}`

func macHex(key, signed string) string {
	return hex.EncodeToString(macOf(sha256.New, []byte(key), signed))
}

func sum(text string) string { return hex.EncodeToString(sha(text)) }

func TestDiagnoseFindsTheSecret(t *testing.T) {
	for i, key := range secrets {
		d := Diagnose(" "+stamp(0)+"\t", compact, strings.ToUpper(Sign(key.Key, stamp(0), []byte(compact))), secrets, now)
		if d.Key != i || d.Matches != (key.State == KeyActive) || !strings.Contains(d.Verdict, key.Name) || string(d.Signed) != stamp(0)+"."+compact {
			t.Errorf("%s: %+v", key.Name, d)
		}
		if (d.Fix == "") != d.Matches || key.State != KeyActive && !strings.Contains(d.Verdict, "which is "+key.State) {
			t.Errorf("%s: %s %s", key.Name, d.Verdict, d.Fix)
		}
		if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "upper case") {
			t.Errorf("%s: %q", key.Name, d.Notes)
		}
	}
}

// A signature that is right stays right when its time is over; how far it is off is told.
func TestDiagnoseTellsTheWindow(t *testing.T) {
	for _, c := range []struct {
		offset       int64
		verdict, fix string
	}{
		{300, "", ""}, {-300, "", ""},
		{301, "301 s after the service's clock", "clock is 301 s fast"},
		{-4000, "4000 s before the service's clock", "clock is 4000 s slow"},
	} {
		d := Diagnose(stamp(c.offset), compact, Sign(secrets[0].Key, stamp(c.offset), []byte(compact)), secrets, now)
		if !d.Matches || d.Key != 0 || !strings.Contains(d.Verdict, c.verdict) || !strings.Contains(d.Fix, c.fix) || (d.Fix == "") != (c.fix == "") {
			t.Errorf("%d s: %+v", c.offset, d)
		}
		wrong := Diagnose(stamp(c.offset), compact, strings.Repeat("0", 64), secrets, now)
		if wrong.Matches || wrong.Key != -1 || len(wrong.Notes) > 0 != (c.fix != "") {
			t.Errorf("%d s, and wrong: %+v", c.offset, wrong)
		}
	}
}

func TestDiagnoseMalformedSignatures(t *testing.T) {
	key, ts := secrets[0].Key, stamp(0)
	right := Sign(key, ts, []byte(compact))
	raw, _ := hex.DecodeString(right)
	url := base64.RawURLEncoding.EncodeToString(raw)
	leading := leadingZero(key)
	for _, c := range []struct {
		name, body, signature, says string
	}{
		{"sha256=", compact, "sha256=" + right, "prefix sha256="},
		{"hmac-sha256:", compact, "hmac-sha256: " + right, "prefix hmac-sha256:"},
		{"v1=", compact, "v1=" + right, "prefix v1="},
		{"as Stripe has it", compact, "t=" + ts + ",v1=" + right, "prefix t="},
		{"a long prefix", compact, "HMAC-SHA256 Signature=\u00e9" + right, "a text before"},
		{"0x", compact, "0x" + right, "prefix 0x"},
		{"base64", compact, base64.StdEncoding.EncodeToString(raw), "in base64"},
		{"base64 unpadded", compact, base64.RawStdEncoding.EncodeToString(raw), "in base64"},
		{"base64url", compact, url, "in base64"},
		{"base64 of the hex", compact, base64.StdEncoding.EncodeToString([]byte(right)), "base64 of its hex digits"},
		{"a prefix and base64", compact, "sha256=" + base64.StdEncoding.EncodeToString(raw), "prefix sha256= in front, and is in base64"},
		{"quotes", compact, `"` + right + `"`, "quotes, blanks or invisible"},
		{"a no-break space", compact, right + "\u00a0", "quotes, blanks or invisible"},
		{"a zero-width space", compact, "\u200b" + right, "quotes, blanks or invisible"},
		{"pairs as C# writes them", compact, strings.ToUpper(inPairs(right, "-")), "digits are separated"},
		{"a leading zero lost", leading, strings.TrimLeft(Sign(key, ts, []byte(leading)), "0"), "63 hex digits, and not 64"},
		{"SHA-1", compact, hex.EncodeToString(macOf(sha1.New, key, ts+"."+compact)), "40 hex digits, as of HMAC SHA-1"},
		{"SHA-512", compact, hex.EncodeToString(macOf(sha512.New, key, ts+"."+compact)), "128 hex digits, as of HMAC SHA-512"},
		{"SHA-512 in base64", compact, base64.StdEncoding.EncodeToString(macOf(sha512.New, key, ts+"."+compact)), "in base64"},
	} {
		d := Diagnose(ts, c.body, c.signature, secrets, now)
		if d.Matches || d.Key != 0 || !strings.Contains(d.Verdict, c.says) || d.Fix == "" {
			t.Errorf("%s: %d %s %s", c.name, d.Key, d.Verdict, d.Fix)
		}
	}
	for name, signature := range map[string]string{
		"nothing": "", "cut off": right[:40+9], "a word": "soon", "not hex": strings.Repeat("g", 64), "one digit": "a",
	} {
		if d := Diagnose(ts, compact, signature, secrets, now); d.Matches || d.Key != -1 || d.Verdict == "" || d.Fix == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	// Two things wrong: the form first, and the other is not kept back.
	d := Diagnose(ts, compact, "sha256="+macHex(string(key), compact), secrets, now)
	if !strings.Contains(d.Verdict, "prefix") || !strings.Contains(strings.Join(d.Notes, "\n"), "The body alone was signed") {
		t.Errorf("two: %s %q", d.Verdict, d.Notes)
	}
}

// leadingZero is a body whose signature begins with one zero.
func leadingZero(key []byte) string {
	for i := 0; ; i++ {
		body := `{"n":` + strconv.Itoa(i) + `}`
		if s := Sign(key, stamp(0), []byte(body)); s[0] == '0' && s[1] != '0' {
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
	for _, c := range []struct{ name, sent, signed, says, note string }{
		{"milliseconds", ts + "999", ts + "999", "in milliseconds", ""},
		{"milliseconds, seconds signed", ts + "999", ts, "in milliseconds", "timestamp that was signed is not the text that was sent: " + ts},
		{"microseconds", ts + "999000", ts + "999000", "in microseconds", ""},
		{"nanoseconds", ts + "999000123", ts + "999000123", "in nanoseconds", ""},
		{"milliseconds signed, seconds sent", ts, ts + "000", "is not the text that was sent", ""},
		{"leading zeros sent", "00" + ts, ts, "is not the text that was sent", ""},
		{"a date", date, date, "is a date", ""},
		{"a date, seconds signed", date, ts, "is a date", "is not the text that was sent"},
		{"a fraction", ts + ".999", ts + ".999", "has a fraction", ""},
		{"quotes", `"` + ts + `"`, ts, "has quotes", "is not the text that was sent"},
		{"a sign", "+" + ts, "+" + ts, "a sign", ""},
		{"nothing", "", "", "no timestamp", ""},
		{"a word", "now", "now", "no whole number", ""},
		{"beyond 64 bits", strings.Repeat("9", 40), strings.Repeat("9", 40), "too large", ""},
	} {
		d := Diagnose(c.sent, compact, Sign(secrets[0].Key, c.signed, []byte(compact)), secrets, now)
		if d.Matches || d.Key != 0 || !strings.Contains(d.Verdict, c.says) || !strings.Contains(strings.Join(d.Notes, "\n"), c.note) || d.Fix == "" {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

func TestDiagnoseWhatWasSigned(t *testing.T) {
	ts := stamp(0)
	first := string(secrets[0].Key)
	goHTML, _ := json.Marshal(map[string]string{"html": "<b> & é"})
	var goLine bytes.Buffer
	if err := json.NewEncoder(&goLine).Encode(map[string]string{"html": "<b> & é"}); err != nil {
		t.Fatal(err)
	}
	const windows = "{\r\n\"a\":1\r\n}"
	for _, c := range []struct {
		name, body, key, signed, says string
	}{
		{"the body alone", compact, first, compact, "body alone"},
		{"no separator", compact, first, ts + compact, "no dot"},
		{"a line break", compact, first, ts + "\n" + compact, "a line break and not a dot"},
		{"a colon", compact, first, ts + ":" + compact, "a colon and not a dot"},
		{"the timestamp last", compact, first, compact + "." + ts, "after the body"},
		{"the timestamp last, no dot", compact, first, compact + ts, "after the body, without a dot"},
		{"as Slack", compact, first, "v0:" + ts + ":" + compact, "Slack"},
		{"a newline more", compact, first, ts + "." + compact + "\n", "was signed, and not sent"},
		{"a newline less", compact + "\n", first, ts + "." + compact, "was sent, and not signed"},
		{"a Windows newline more", compact, first, ts + "." + compact + "\r\n", "A Windows line break at the body's end"},
		{"a Windows newline less", compact + "\r\n", first, ts + "." + compact, "was sent, and not signed"},
		{"blanks around", "  " + compact + "\n\n", first, ts + "." + compact, "around the body were sent"},
		{"Unix signed", windows, first, ts + "." + strings.ReplaceAll(windows, "\r", ""), "line breaks of Unix, and is here"},
		{"Windows signed", strings.ReplaceAll(windows, "\r", ""), first, ts + "." + windows, "line breaks of Windows, and sent"},
		{"a BOM sent", "\ufeff" + compact, first, ts + "." + compact, "mark in front of the body was sent"},
		{"a BOM signed", compact, first, ts + ".\ufeff" + compact, "mark in front of the body was signed"},
		{"the secret with a newline", compact, first + "\n", ts + "." + compact, "secret that was signed with has a line break"},
		{"the secret in quotes", compact, `"` + first + `"`, ts + "." + compact, "has quotes around it"},
		{"the secret without its prefix", compact, first[3:], ts + "." + compact, "prefix was cut off."},
		{"the secret decoded", compact, string(fromBase64([]byte(first[3:]))), ts + "." + compact, "the rest decoded as base64"},
		{"SHA-256 behind", compact, "", compact + first, "plain SHA-256 of the text with the secret behind"},
		{"SHA-256 in front", compact, "", first + ts + "." + compact, "plain SHA-256 of the secret with the text behind"},
		{"compact signed", `{ "b": 1.50, "a": "x" }`, first, ts + `.{"b":1.50,"a":"x"}`, "what was signed is compact"},
		{"Python signed", `{"b":1.50,"a":["x"]}`, first, ts + `.{"b": 1.50, "a": ["x"]}`, "what was signed is with a blank after each comma and colon, as Python writes it."},
		{"Python's ASCII signed", `{"a":"é😀","b":[1,2]}`, first, ts + `.{"a": "\u00e9\ud83d\ude00", "b": [1, 2]}`, "as Python writes it, with \\uXXXX"},
		{"raw signed", `{"a":"\u00e9\ud83d\ude00"}`, first, ts + `.{"a":"é😀"}`, "what was signed is with its characters as they are."},
		{"2 blanks", `{"a":{"b":[1,{}]}}`, first, ts + ".{\n  \"a\": {\n    \"b\": [\n      1,\n      {}\n    ]\n  }\n}", "indented by 2 blanks."},
		{"4 blanks", `{"a":1}`, first, ts + ".{\n    \"a\": 1\n}", "indented by 4 blanks."},
		{"tabs", `{"a":1}`, first, ts + ".{\n\t\"a\": 1\n}", "indented by tabs."},
		{"sorted", `{"b":1,"a":{"d":1,"c":2}}`, first, ts + `.{"a":{"c":2,"d":1},"b":1}`, "signed is with its names sorted."},
		{"PHP", `{"u":"https://a/é"}`, first, ts + `.{"u":"https:\/\/a\/\u00e9"}`, "as PHP writes it."},
		{"slashes", `{"u":"https://a/é"}`, first, ts + `.{"u":"https:\/\/a\/é"}`, `with \/ for slashes.`},
		{"Go", `{"html":"<b> & é"}`, first, ts + "." + string(goHTML), "as Go writes it."},
		{"Go's encoder", `{"html":"<b> & é"}`, first, ts + "." + goLine.String(), "as Go writes it, with a line break at its end."},
		{".NET", `{"a":"Ö'+ \"<"}`, first, ts + `.{"a":"\u00D6\u0027\u002B \u0022\u003C"}`, "as .NET writes it."},
		{"Python, and the body alone", `{"b":1,"a":2}`, first, `{"b": 1, "a": 2}`, "body alone was signed, without the timestamp. And: The body's JSON"},
	} {
		signature := sum(c.signed)
		if c.key != "" {
			signature = macHex(c.key, c.signed)
		}
		d := Diagnose(ts, c.body, signature, secrets, now)
		if d.Matches || d.Key != 0 || !strings.Contains(d.Verdict, c.says) || d.Fix == "" || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], secrets[0].Name) {
			t.Errorf("%s: %d %s %q", c.name, d.Key, d.Verdict, d.Notes)
		}
	}
	for _, c := range []struct {
		name, key, says string
		which           int
	}{
		{"blanks cut off", strings.TrimSpace(string(secrets[1].Key)), "blanks at the ends", 1},
		{"decoded as hex", string(decoded(hex.DecodeString(string(secrets[2].Key)))), "decoded as hex", 2},
		{"of a retired one", string(secrets[3].Key) + "\n", "has a line break", 3},
	} {
		d := Diagnose(ts, compact, macHex(c.key, ts+"."+compact), secrets, now)
		if d.Matches || d.Key != c.which || !strings.Contains(d.Verdict, c.says) || len(d.Notes) != 1 {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	if d := Diagnose(ts, compact, sum(compact), secrets, now); d.Matches || d.Key != -1 || !strings.Contains(d.Verdict, "no secret is in it") {
		t.Errorf("no secret: %+v", d)
	}
}

func TestDiagnoseFindsNothing(t *testing.T) {
	d := Diagnose(stamp(0), compact, macHex("somebody else's secret", stamp(0)+"."+compact), secrets, now)
	if d.Matches || d.Key != -1 || !strings.Contains(d.Verdict, "none of the usual mistakes") ||
		!strings.Contains(d.Fix, strconv.Itoa(len(compact)+11)+" bytes") || !strings.Contains(d.Fix, stamp(0)+`.{"zip"`) {
		t.Errorf("%+v", d)
	}
	if d := Diagnose(stamp(0), compact, strings.Repeat("0", 64), nil, now); d.Matches || d.Key != -1 || !strings.Contains(d.Verdict, "no secret") {
		t.Errorf("without secrets: %+v", d)
	}
	if d := Diagnose(stamp(0), strings.Repeat("x", MaxDiagnosed+1), strings.Repeat("0", 64), secrets, now); d.Matches || !strings.Contains(d.Verdict, "65537 bytes") {
		t.Errorf("too long: %s", d.Verdict)
	}
}

// The most that can be asked for is bounded work, and it is said when that was not enough.
func TestDiagnoseIsBounded(t *testing.T) {
	many := make([]Known, 100)
	for i := range many {
		many[i] = Known{Name: strconv.Itoa(i), Key: bytes.Repeat([]byte{byte(i)}, 40), State: KeyActive}
	}
	deep := strings.Repeat("[", 60) + strings.TrimSuffix(strings.Repeat("1,", 32000), ",") + strings.Repeat("]", 60)
	for _, body := range []string{deep, `"` + strings.Repeat("é", MaxDiagnosed/2-1) + `"`} {
		size := 0
		for _, v := range bodyVariants([]byte(body)) {
			size += len(v.bytes)
		}
		if size > 64<<20 {
			t.Errorf("%.8s… is tried as %d bytes", body, size)
		}
		work := newTrial(make([]byte, 32), many)
		work.explain(stamp(0), body, sentTime{})
		if work.hashed > maxHashed+maxWritten {
			t.Errorf("%.8s…: %d bytes were hashed", body, work.hashed)
		}
	}
	d := Diagnose(stamp(0), strings.Repeat("[", MaxDiagnosed), strings.Repeat("0", 64), many, now)
	if d.Key != -1 || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "not every combination") {
		t.Errorf("%s %q", d.Verdict, d.Notes)
	}
}

func FuzzDiagnose(f *testing.F) {
	f.Add(stamp(0), compact, Sign(secrets[0].Key, stamp(0), []byte(compact)))
	f.Add(stamp(0)+"000", "{\"a\": \"\\ud800\"}", "sha256=00")
	f.Add("2026-01-02T03:04:05Z", "\ufeff[", `"AA-BB"`)
	f.Fuzz(func(t *testing.T, timestamp, body, signature string) {
		d := Diagnose(timestamp, body, signature, secrets, now)
		seconds, _ := strconv.ParseInt(trim(timestamp), 10, 64)
		claim, err := Check(Headers{Timestamp: []string{timestamp}, Signature: []string{signature}}, time.Unix(seconds, 0))
		verified := false
		for _, k := range secrets {
			verified = verified || err == nil && k.State == KeyActive && NewVerifier(k.Key).Verify(claim, []byte(body))
		}
		if d.Matches != verified && len(body) <= MaxDiagnosed && seconds < 1e11 {
			t.Fatalf("matches: %t, verified: %t", d.Matches, verified)
		}
		if d.Verdict == "" || d.Key >= len(secrets) || d.Matches && d.Key < 0 {
			t.Fatalf("%+v", d)
		}
		for _, k := range secrets {
			if text := d.Verdict + d.Fix + strings.Join(d.Notes, ""); strings.Contains(text, string(k.Key)) && !strings.Contains(timestamp+body+signature, string(k.Key)) {
				t.Fatal("a key is in the diagnosis")
			}
		}
	})
}
