package payload

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestIsE164(t *testing.T) {
	form := regexp.MustCompile(`^\+[1-9][0-9]{1,14}$`)
	for _, text := range []string{"", "+", "+4", "+44", "+442079460123", "+123456789012345", "+1234567890123456", "+0123", "442079460123",
		"00442079460123", "+44 2079460123", "+44-2079460123", "+4420794601a3", "++442079460123", "+44٢079", "+442079460123 ", "\u200e+442079460123"} {
		if isE164(text) != form.MatchString(text) {
			t.Errorf("isE164(%q) = %v", text, isE164(text))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[+0-9 a-]{0,20}`).Draw(t, "text")
		if isE164(text) != form.MatchString(text) {
			t.Fatalf("isE164(%q) = %v", text, isE164(text))
		}
	})
}

func TestNormalisePhone(t *testing.T) {
	for name, c := range map[string]struct {
		sent, country, want string // "" if it remains flagged
	}{
		"British":                     {"020 7946 0123", "GB", "+442079460123"},
		"British mobile, reserved":    {"07700 900123", "GB", "+447700900123"},
		"with brackets":               {"(020) 7946-0123", "GB", "+442079460123"},
		"with the optional zero":      {"+44 (0)20 7946 0123", "FR", "+442079460123"},
		"with 00":                     {"0033 1 99 00 12 34", "DE", "+33199001234"},
		"French":                      {"01 99 00 12 34", "FR", "+33199001234"},
		"French, dots":                {"01.99.00.12.34", "FR", "+33199001234"},
		"Italian keeps its zero":      {"06 1234 5678", "IT", "+390612345678"},
		"American":                    {"(212) 555-0123", "US", "+12125550123"},
		"American with 1":             {"1-212-555-0123", "US", "+12125550123"},
		"American with 011":           {"011 44 20 7946 0123", "US", "+442079460123"},
		"Australian mobile":           {"0491 570 156", "AU", "+61491570156"},
		"Irish":                       {"01 555 1234", "IE", "+35315551234"},
		"international anywhere":      {"+61 491 570 156", "ZZ", "+61491570156"},
		"fullwidth digits":            {"０２０ ７９４６ ０１２３", "GB", "+442079460123"},
		"an extension is left out":    {"020 7946 0123 ext. 7", "GB", "+442079460123"},
		"national, country unknown":   {"020 7946 0123", "ZZ", ""},
		"national, no country":        {"020 7946 0123", "", ""},
		"local part of a number only": {"555-0123", "US", ""},
		"too short":                   {"12", "GB", ""},
		"too long":                    {"+44 20 7946 0123 4567 8901 2345", "GB", ""},
		"unknown country code":        {"+999 123 4567", "GB", ""},
		"words":                       {"ask Jo", "GB", ""},
		"empty":                       {"", "GB", ""},
		"plus alone":                  {"+", "GB", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := Post{Contact: Contact{Phone: c.sent, PhoneFlagged: true}}
			for range 2 { // the second call changes nothing
				p.NormalisePhone(c.country)
				if want := (Contact{Phone: c.sent, PhoneE164: c.want, PhoneFlagged: c.want == ""}); p.Contact != want {
					t.Fatalf("got %+v, want %+v", p.Contact, want)
				}
			}
		})
	}
}

func TestNormalisePhoneIgnoresUnflaggedPhones(t *testing.T) {
	for name, c := range map[string]Contact{
		"none given":         {},
		"in E.164 as it was": {Phone: "+442079460123", PhoneE164: "+442079460123"},
		"in E.164, unusual":  {Phone: "+12", PhoneE164: "+12"},
	} {
		p := Post{Contact: c}
		p.NormalisePhone("GB")
		if p.Contact != c {
			t.Errorf("%s: changed to %+v", name, p.Contact)
		}
	}
}

func TestNormalisePhoneYieldsE164OrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.OneOf(rapid.StringMatching(`[+0-9 ().xXa-z-]{0,40}`), rapid.StringN(0, 64, -1)).Draw(t, "sent")
		p := Post{Contact: Contact{Phone: sent, PhoneFlagged: true}}
		p.NormalisePhone(rapid.StringMatching(`[A-Z]{2}`).Draw(t, "country"))
		c := p.Contact
		if c.Phone != sent || c.PhoneFlagged != (c.PhoneE164 == "") || c.PhoneE164 != "" && !isE164(c.PhoneE164) {
			t.Fatalf("%q: got %+v", sent, c)
		}
	})
}

func BenchmarkNormalisePhone(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		p := Post{Contact: Contact{Phone: "020 7946 0123", PhoneFlagged: true}}
		p.NormalisePhone("GB")
	}
}
