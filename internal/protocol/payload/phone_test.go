package payload

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
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

func TestE164(t *testing.T) {
	for name, c := range map[string]struct {
		sent, country, want string // "" if the number is kept as sent
	}{
		"British":                        {"020 7946 0123", "GB", "+442079460123"},
		"British mobile":                 {"07400 123456", "GB", "+447400123456"},
		"with brackets":                  {"(020) 7946-0123", "GB", "+442079460123"},
		"with the optional zero":         {"+44 (0)20 7946 0123", "FR", "+442079460123"},
		"with the zero":                  {"+4402079460123", "FR", "+442079460123"},
		"with the zero after 00":         {"0044 020 7946 0123", "FR", "+442079460123"},
		"with a zero that Spain has not": {"+34 0 912 345 678", "GB", "+34912345678"},
		"without the plus":               {"44 20 7946 0123", "GB", "+442079460123"},
		"with 00":                        {"0033 1 99 00 12 34", "DE", "+33199001234"},
		"French":                         {"01 99 00 12 34", "FR", "+33199001234"},
		"French, dots":                   {"01.99.00.12.34", "FR", "+33199001234"},
		"Italian keeps its zero":         {"06 1234 5678", "IT", "+390612345678"},
		"Italian from abroad":            {"+39 06 1234 5678", "GB", "+390612345678"},
		"Argentine mobile":               {"011 15-2345-6789", "AR", "+5491123456789"},
		"American":                       {"(212) 555-0123", "US", "+12125550123"},
		"American with 1":                {"1-212-555-0123", "US", "+12125550123"},
		"American with 011":              {"011 44 20 7946 0123", "US", "+442079460123"},
		"Australian mobile":              {"0491 570 156", "AU", "+61491570156"},
		"Irish":                          {"01 555 1234", "IE", "+35315551234"},
		"international anywhere":         {"+61 491 570 156", "ZZ", "+61491570156"},
		"full-width digits":              {"０２０ ７９４６ ０１２３", "GB", "+442079460123"},
		"Arabic digits":                  {"٠٢٠ ٧٩٤٦ ٠١٢٣", "GB", "+442079460123"},
		"an extension is left out":       {"020 7946 0123 ext. 7", "GB", "+442079460123"},
		"copied from a phone's contacts": {"\u202a+44 20 7946 0123\u202c", "GB", "+442079460123"},
		"invisible characters inside":    {"020\u200b79\u206046\ufeff0123", "GB", "+442079460123"},
		"no-break and other spaces":      {"020\u00a07946\u2009\u20280123\u3000", "GB", "+442079460123"},
		"soft hyphens":                   {"+44\u00ad20\u00ad7946\u00ad0123", "GB", "+442079460123"},

		"American, read for the assumed country":    {"(212) 555-0123", "GB", ""},
		"possible, but in no range":                 {"07700 900123", "GB", ""},
		"possible, but in no range, international":  {"+44 7700 900123", "GB", ""},
		"the zero does not help":                    {"+44 0 212 555 0123", "GB", ""},
		"two zeros":                                 {"+34 00 912 345 678", "GB", ""},
		"a zero without the country code, in Spain": {"0912 345 678", "ES", ""},
		"national, country unknown":                 {"020 7946 0123", "ZZ", ""},
		"national, no country":                      {"020 7946 0123", "", ""},
		"local part of a number only":               {"555-0123", "US", ""},
		"too short":                                 {"12", "GB", ""},
		"too short, international":                  {"+12", "GB", ""},
		"too long":                                  {"+44 20 7946 0123 4567 8901 2345", "GB", ""},
		"unknown country code":                      {"+999 123 4567", "GB", ""},
		"words":                                     {"ask Jo", "GB", ""},
		"empty":                                     {"", "GB", ""},
		"plus alone":                                {"+", "GB", ""},
		"invisible only":                            {"\u200b", "GB", ""},
	} {
		if got, ok := E164(c.sent, c.country); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, ok, c.want)
		}
	}
}

// examples returns a valid number of each type in each country of libphonenumber's metadata.
func examples(yield func(country string, number *phonenumbers.PhoneNumber)) {
	for country := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{
			phonenumbers.FIXED_LINE, phonenumbers.MOBILE, phonenumbers.TOLL_FREE, phonenumbers.PREMIUM_RATE,
			phonenumbers.SHARED_COST, phonenumbers.VOIP, phonenumbers.PERSONAL_NUMBER, phonenumbers.UAN,
		} {
			if number := phonenumbers.GetExampleNumberForType(country, kind); number != nil && phonenumbers.IsValidNumber(number) {
				yield(country, number)
			}
		}
	}
}

// A number is read in the formats of its country, and as written abroad, with characters that consumers
// copy without seeing them.
func TestE164ReadsEveryCountry(t *testing.T) {
	countries := map[string]bool{}
	examples(func(country string, number *phonenumbers.PhoneNumber) {
		countries[country] = true
		want := phonenumbers.Format(number, phonenumbers.E164)
		national, international := phonenumbers.Format(number, phonenumbers.NATIONAL), phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
		if strings.HasPrefix(national, "09 15-") {
			return // the library writes mobile numbers of Argentina without their area code
		}
		for _, c := range []struct{ sent, country string }{
			{want, country},
			{want, "ZZ"}, // a valid number in E.164 format stays the same
			{international, country},
			{international, "GB"},
			{"\u202a" + international + "\u202c", ""},
			{strings.ReplaceAll(international, " ", "\u00a0"), "US"},
			{strings.ReplaceAll(international, " ", "\u200b"), "US"},
			{phonenumbers.Format(number, phonenumbers.RFC3966), country},
			{national, country},
			{"\u2067" + strings.ReplaceAll(national, " ", "\u2009\u200b") + "\u2069", country},
			{strings.ReplaceAll(national, "-", "\u2011"), country},
		} {
			if got, ok := E164(c.sent, c.country); !ok || got != want {
				t.Errorf("%+q of %s, read in %q: got %q, want %s", c.sent, country, c.country, got, want)
			}
		}
	})
	if len(countries) < 200 {
		t.Errorf("got numbers of %d countries only", len(countries))
	}
	for _, country := range []string{"GB", "FR", "BE", "DE", "AT", "ES", "IT", "NL", "IE", "US", "CA", "AU", "CH"} {
		if !countries[country] {
			t.Errorf("got no number of %s", country)
		}
	}
}

// A zero between the country code and the number is dropped, unless the number is valid with it.
func TestE164DropsTheTrunkZero(t *testing.T) {
	dropped := map[string]bool{}
	examples(func(country string, number *phonenumbers.PhoneNumber) {
		want := phonenumbers.Format(number, phonenumbers.E164)
		code := strconv.Itoa(int(number.GetCountryCode()))
		withZero := "+" + code + "0" + want[1+len(code):]
		if got, ok := E164(withZero, "ZZ"); ok && got == want {
			dropped[country] = true
		} else if ok && got != withZero {
			t.Errorf("%s of %s: got %s", withZero, country, got)
		}
	})
	for _, country := range []string{"GB", "FR", "BE", "DE", "AT", "ES", "NL", "IE", "AU", "CH", "SE", "PL", "PT"} {
		if !dropped[country] {
			t.Errorf("the zero of %s is not dropped", country)
		}
	}
}

// A valid number in E.164 format stays the same, even if it begins with the digits of a national prefix.
func TestE164KeepsValidNumbers(t *testing.T) {
	var all []*phonenumbers.PhoneNumber
	examples(func(_ string, number *phonenumbers.PhoneNumber) { all = append(all, number) })
	slices.SortFunc(all, func(a, b *phonenumbers.PhoneNumber) int {
		return strings.Compare(phonenumbers.Format(a, phonenumbers.E164), phonenumbers.Format(b, phonenumbers.E164))
	})
	rapid.Check(t, func(t *rapid.T) {
		example := rapid.SampledFrom(all).Draw(t, "example")
		digits := []byte(phonenumbers.GetNationalSignificantNumber(example))
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			digits[rapid.IntRange(0, len(digits)-1).Draw(t, "place")] = byte('0' + rapid.IntRange(0, 9).Draw(t, "digit"))
		}
		national, err := strconv.ParseUint(string(digits), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		number := &phonenumbers.PhoneNumber{CountryCode: example.CountryCode, NationalNumber: &national}
		if zeros := int32(len(digits) - len(strings.TrimLeft(string(digits), "0"))); zeros > 0 {
			leading := true
			number.ItalianLeadingZero, number.NumberOfLeadingZeros = &leading, &zeros
		}
		want := phonenumbers.Format(number, phonenumbers.E164)
		if got, ok := E164(want, "GB"); phonenumbers.IsValidNumber(number) && (!ok || got != want) {
			t.Fatalf("%s: got %q, %v", want, got, ok)
		}
	})
}

func TestE164IsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.OneOf(rapid.StringMatching(`[+0-9 ().xXa-z\x{200b}\x{a0}-]{0,40}`), rapid.StringMatching(`\+[1-9][0-9]{6,13}`),
			rapid.StringN(0, 64, -1)).Draw(t, "sent")
		country := rapid.StringMatching(`[A-Z]{2}`).Draw(t, "country")
		checkE164(t, sent, country)
	})
}

func FuzzE164(f *testing.F) {
	for _, seed := range []string{"020 7946 0123", "+4402079460123", "\u202a+39 06 1234 5678\u202c", "tel:+1-212-555-0100;ext=5", "1-800-FLOWERS", "٠٢٠"} {
		f.Add(seed, "GB")
	}
	f.Fuzz(func(t *testing.T, sent, country string) { checkE164(t, sent, country) })
}

// checkE164 checks that the result of E164 is in E.164 format, and that reading it again changes nothing. It
// also checks that a search for the number as sent finds it.
func checkE164(t rapid.TB, sent, country string) {
	t.Helper()
	forms := PhoneForms(sent, country)
	text, ok := E164(sent, country)
	if !ok {
		if digits := PhoneDigits(sent); text != "" || digits != "" && !slices.Contains(forms, digits) {
			t.Fatalf("%q: got %q, and a search for %q", sent, text, forms)
		}
		return
	}
	again, ok := E164(text, country)
	if !isE164(text) || !ok || again != text || !slices.Contains(forms, text) {
		t.Fatalf("%q: got %s, then %q, and a search for %q", sent, text, again, forms)
	}
}

func TestPhoneDigits(t *testing.T) {
	for sent, want := range map[string]string{
		"(212) 555-0123": "2125550123", "+1 212": "1212", "٠٢٠ 79": "02079", "０２０": "020", "\U0001d7ce\U0001d7d7\U0001d7d8\U0001d7ff": "0909",
		"ask Jo": "", "": "",
	} {
		if got := PhoneDigits(sent); got != want {
			t.Errorf("PhoneDigits(%q) = %q, want %q", sent, got, want)
		}
	}
}

func TestPhoneForms(t *testing.T) {
	for sent, want := range map[string][]string{
		"020 7946 0123":       {"+442079460123", "02079460123"},
		"+442079460123":       {"+442079460123", "442079460123"},
		"(212) 555-0123":      {"2125550123"},
		" ask 12 ":            {"12"},
		"ask Jo":              nil,
		"\u202a020 7946 0123": {"+442079460123", "02079460123"},
	} {
		if got := PhoneForms(sent, "GB"); !slices.Equal(got, want) {
			t.Errorf("PhoneForms(%q) = %q, want %q", sent, got, want)
		}
	}
}

func BenchmarkE164(b *testing.B) {
	for name, c := range map[string]struct{ phone, country string }{
		"national":             {"020 7946 0123", "GB"},
		"E.164":                {"+442079460123", "GB"},
		"E.164 of Canada":      {"+16135550123", "CA"},
		"E.164 and no country": {"+442079460123", ""},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := E164(c.phone, c.country); !ok {
					b.Fatal("not valid")
				}
			}
		})
	}
}
