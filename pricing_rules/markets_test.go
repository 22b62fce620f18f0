package pricingrules

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
)

// For every pair of letters, the currency must be the one that "Currency by country" in the
// specification defines.
func TestShippedMarketsMatchTheSpecification(t *testing.T) {
	_, markets, _ := shipped(t)
	currencies := map[string]money.Currency{
		"GB": money.GBP, "US": money.USD, "CA": money.CAD, "AU": money.AUD,
		"FR": money.EUR, "BE": money.EUR, "DE": money.EUR, "AT": money.EUR,
		"ES": money.EUR, "IT": money.EUR, "NL": money.EUR, "IE": money.EUR,
		"CH": money.GBP, // one of "any other code, including CH" in the specification, but with prices of its own
	}
	if markets.Len() != len(currencies)+1 {
		t.Errorf("got %d markets, want %d", markets.Len(), len(currencies)+1)
	}
	for a := byte('A'); a <= 'Z'; a++ {
		for b := byte('A'); b <= 'Z'; b++ {
			country := [2]byte{a, b}
			market := markets.At(markets.Index(country))
			want, own := currencies[string(country[:])]
			if own && (market.Code != string(country[:]) || market.Currency != want) {
				t.Errorf("%s: got market %s in %s, want its own in %s", country, market.Code, market.Currency, want)
			}
			if !own && (market.Code != OtherMarket || market.Currency != money.GBP) {
				t.Errorf("%s: got market %s in %s, want other in GBP", country, market.Code, market.Currency)
			}
		}
	}
}

func TestMarketsIndexAcceptsAnyBytes(t *testing.T) {
	_, markets, _ := shipped(t)
	for a := range 256 {
		for _, b := range []byte{0, 'A' - 1, 'B', 'Z', 'Z' + 1, 'b', 255} {
			i := markets.Index([2]byte{byte(a), b})
			code := markets.At(i).Code
			if code != OtherMarket && code != string([]byte{byte(a), b}) {
				t.Fatalf("%q: got market %s, want other", []byte{byte(a), b}, code)
			}
		}
	}
}

func TestMarketsByCode(t *testing.T) {
	_, markets, _ := shipped(t)
	for i := range markets.Len() {
		if got, ok := markets.ByCode(markets.At(i).Code); !ok || got != i {
			t.Errorf("ByCode(%s) = %d, %v, want %d", markets.At(i).Code, got, ok, i)
		}
	}
	if _, ok := markets.ByCode("PL"); ok {
		t.Error("ByCode(PL) found a market")
	}
}

func TestParseMarketsRejects(t *testing.T) {
	const tail = "other: {name: Others, currency: GBP}\n"
	rejects(t, func(file string, data []byte) error { _, err := ParseMarkets(file, data); return err }, []rejection{
		{"empty", "", "f.yaml:1"},
		{"a list", "[]", "f.yaml:1\n" +
			"f.yaml:1"},
		{"no other", "markets: []\n", "f.yaml:1"},
		{"no currency", tail + "markets:\n  - {country: GB, name: Britain}\n", "f.yaml:3"},
		{"unknown currency", tail + "markets:\n  - {country: CH, name: Switzerland, currency: CHF}\n",
			`f.yaml:3 "CHF"`},
		{"lower case", tail + "markets:\n  - {country: gb, name: Britain, currency: GBP}\n",
			`f.yaml:3 "gb"`},
		{"country not a string", tail + "markets:\n  - {country: 44, name: Britain, currency: GBP}\n", "f.yaml:3"},
		{"duplicate country", tail + "markets:\n  - {country: GB, name: Britain, currency: GBP}\n  - {country: GB, name: Again, currency: GBP}\n",
			`f.yaml:4 "GB"`},
		{"other with a country", "other: {country: ZZ, name: Others, currency: GBP}\n", `f.yaml:1 "country"`},
		{"empty name", "other: {name: '', currency: GBP}\n", "f.yaml:1"},
		{"market not a mapping", tail + "markets:\n  - GB\n", "f.yaml:3"},
	})
}

func TestSuggest(t *testing.T) {
	tax, markets, _ := shipped(t)
	for text, want := range map[string]string{
		"uk": "GB", "UK": "GB", "gb ": "GB", "France": "FR", "germny": "DE", "any other countrie": OtherMarket,
		"EL": "", "GP": "", "PL": "", "": "", "\xff": "",
	} {
		if got := markets.Suggest(text); got != want {
			t.Errorf("country %q suggests %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"plummer": "plumber", "Plumber": "plumber", "personal injury lawyer": "personal-injury-lawyer", "zebra": "", "": "",
	} {
		if got := tax.Suggest(text); got != want {
			t.Errorf("industry %q suggests %q, want %q", text, got, want)
		}
	}
	if got := tax.SuggestCategory("Home service"); got != "home-services" {
		t.Errorf("the category suggests %q", got)
	}
	_, err := ParseBases("f.csv", []byte("industry,country,base\nplummer,uk,50\nplumber,PL,50\n"), tax, markets)
	for _, want := range []string{"did you mean plumber?", "use GB", `use "other"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q: %v", want, err)
		}
	}
}
