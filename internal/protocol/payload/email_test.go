package payload

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIsEmail(t *testing.T) {
	for name, address := range map[string]string{
		"plain":                  "jo@example.com",
		"dots and marks":         "jo.b+tag_1@mail.example.co.uk",
		"every atom mark":        "!#$%&'*+-/=?^_`{|}~@example.com",
		"upper case":             "JO@EXAMPLE.COM",
		"one label":              "jo@localhost",
		"digits in the domain":   "jo@1a.2b",
		"hyphens inside":         "jo@a--b.example",
		"non-ASCII local part":   "jösé@example.com",
		"non-ASCII domain":       "jo@müller.example",
		"another script":         "用户@例子.广告",
		"combining marks":        "अजय@डाटा.भारत",
		"an emoji":               "jo👍@example.com",
		"punycode":               "jo@xn--mller-kva.example",
		"quoted":                 `"jo..b"@example.com`,
		"quoted @":               `"jo@home"@example.com`,
		"quoted pair":            `"jo\"b\\"@example.com`,
		"empty quotes":           `""@example.com`,
		"local part of 64":       strings.Repeat("a", 64) + "@example.com",
		"local part of 64, wide": strings.Repeat("é", 32) + "@example.com",
		"label of 63":            "jo@" + strings.Repeat("a", 63) + ".com",
		"IPv4 literal":           "jo@[192.0.2.1]",
		"IPv6 literal":           "jo@[IPv6:2001:db8::1]",
	} {
		if !isEmail([]byte(address)) {
			t.Errorf("%s: %q was rejected", name, address)
		}
	}
}

func TestIsEmailRejects(t *testing.T) {
	for name, address := range map[string]string{
		"empty":                     "",
		"no @":                      "jo.example.com",
		"@ alone":                   "@",
		"no local part":             "@example.com",
		"no domain":                 "jo@",
		"two @":                     "jo@home@example.com",
		"two addresses":             "jo@example.com,al@example.com",
		"two addresses, semicolon":  "jo@example.com;al@example.com",
		"display name":              "Jo <jo@example.com>",
		"angle brackets":            "<jo@example.com>",
		"mailto":                    "mailto:jo@example.com",
		"comment":                   "jo(home)@example.com",
		"leading blank":             " jo@example.com",
		"trailing blank":            "jo@example.com ",
		"trailing line end":         "jo@example.com\n",
		"blank inside":              "jo b@example.com",
		"blank in quotes":           `"jo b"@example.com`,
		"escaped blank in quotes":   `"jo\ b"@example.com`,
		"no-break space":            "jo\u00a0b@example.com",
		"ideographic space":         "jo@exa\u3000mple.com",
		"line separator":            "jo\u2028b@example.com",
		"control character":         "jo\x01@example.com",
		"delete":                    "jo\x7f@example.com",
		"C1 control":                "jo@exa\u0085mple.com",
		"control in quotes":         "\"jo\x02\"@example.com",
		"leading dot":               ".jo@example.com",
		"trailing dot":              "jo.@example.com",
		"two dots":                  "jo..b@example.com",
		"open quote":                `"jo@example.com`,
		"one quote":                 `"@example.com`,
		"quote inside":              `j"o@example.com`,
		"quote inside quotes":       `"j"o"@example.com`,
		"backslash at the end":      `"jo\"@example.com`,
		"backslash outside":         `jo\b@example.com`,
		"quoted and not":            `"jo".b@example.com`,
		"local part of 65":          strings.Repeat("a", 65) + "@example.com",
		"local part of 66 octets":   strings.Repeat("é", 33) + "@example.com",
		"leading dot in domain":     "jo@.example.com",
		"trailing dot in domain":    "jo@example.com.",
		"two dots in domain":        "jo@example..com",
		"leading hyphen":            "jo@-example.com",
		"trailing hyphen":           "jo@example-.com",
		"hyphen alone":              "jo@-",
		"underscore in domain":      "jo@exa_mple.com",
		"port":                      "jo@example.com:25",
		"path":                      "jo@example.com/x",
		"label of 64":               "jo@" + strings.Repeat("a", 64) + ".com",
		"domain of 256 octets":      "jo@" + strings.Repeat("é.", 85) + "a",
		"bare IPv6":                 "jo@2001:db8::1",
		"open literal":              "jo@[192.0.2.1",
		"closed literal":            "jo@192.0.2.1]",
		"empty literal":             "jo@[]",
		"literal of a name":         "jo@[example.com]",
		"IPv4 out of range":         "jo@[192.0.2.256]",
		"IPv6 without its tag":      "jo@[2001:db8::1]",
		"IPv4 with the tag of IPv6": "jo@[IPv6:192.0.2.1]",
		"IPv6 with a zone":          "jo@[IPv6:fe80::1%eth0]",
	} {
		if isEmail([]byte(address)) {
			t.Errorf("%s: %q was accepted", name, address)
		}
	}
}

// Invisible characters would make two different addresses look the same, and a lookup of
// the visible address would miss the other.
const invisible = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u200b\u200c\u200d\u200e\u202a\u202e\u2060\u2066\u206f\u3164\ufe00\ufe0f\ufeff\uffa0\ufff9" +
	"\U000110bd\U00013430\U0001bca0\U0001d173\U000e0001\U000e0061\U000e0100\U000e0fff"

func TestIsEmailRejectsInvisibleCharacters(t *testing.T) {
	for _, r := range invisible {
		for _, address := range []string{"jo" + string(r) + "@example.com", `"jo` + string(r) + `"@example.com`,
			`"jo\` + string(r) + `"@example.com`, "jo@exa" + string(r) + "mple.com"} {
			if isEmail([]byte(address)) {
				t.Errorf("%+q was accepted", address)
			}
		}
	}
}

func TestIsEmailNeverAcceptsBlanksOrControls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bad := rapid.SampledFrom([]rune(" \t\r\n\v\f\x00\x1f\x7f\u0080\u009f\u00a0\u1680\u2003\u2029\u3000"+invisible)).Draw(t, "bad")
		before, after := rapid.StringMatching(`["a-z@.]{0,6}`).Draw(t, "before"), rapid.StringMatching(`["a-z@.]{0,12}`).Draw(t, "after")
		if address := before + string(bad) + after; isEmail([]byte(address)) {
			t.Fatalf("%q was accepted", address)
		}
	})
}

func TestNormaliseEmail(t *testing.T) {
	for sent, want := range map[string]string{
		"jo@example.com":             "jo@example.com",
		" Jo.B+Tag@EXAMPLE.com\n":    "jo.b+tag@example.com",
		"JÖ@MÜLLER.example":          "jö@xn--mller-kva.example",
		"jo@b\u00fccher.example":     "jo@xn--bcher-kva.example",
		"jo@bu\u0308cher.example":    "jo@xn--bcher-kva.example",
		"jo@XN--bcher-kva.EXAMPLE":   "jo@xn--bcher-kva.example",
		"jo\u0308@example.com":       "j\u00f6@example.com",
		"jo@fa\u00df.example":        "jo@xn--fa-hia.example",
		"jo@a_\u00fc.example":        "jo@a_\u00fc.example", // not a host name
		"\u0130@example.com":         NormaliseEmail("I\u0307@example.com"),
		"\u00a0\"Jo B\"@example.com": "\"jo b\"@example.com",
		"":                           "",
	} {
		if got := NormaliseEmail(sent); got != want {
			t.Errorf("NormaliseEmail(%q) = %q, want %q", sent, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.OneOf(rapid.String(),
			rapid.StringOf(rapid.RuneFrom([]rune("aB@.-_xn\u00fc\u0308\u00df\u0130\u3002\uff20\u212b\u200d\u05d0")))).Draw(t, "address")
		once := NormaliseEmail(address)
		if again := NormaliseEmail(once); again != once {
			t.Fatalf("normalising %q again gives %q", once, again)
		}
	})
}
