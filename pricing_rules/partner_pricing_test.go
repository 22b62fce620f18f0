package pricingrules

import (
	"strings"
	"testing"
)

func TestParseExclusion(t *testing.T) {
	tax, _, _ := shipped(t)
	for text, want := range map[string]PartnerExclusion{
		"industry plumber":                                     {Industry: "plumber"},
		"category legal-services":                              {Category: "legal-services"},
		"country fr":                                           {Country: "FR"},
		"country uk":                                           {Country: "GB"},
		"industry plumber, country EL":                         {Industry: "plumber", Country: "GR"},
		"industry: plumber, country: FR":                       {Industry: "plumber", Country: "FR"},
		" category:legal-services,country : gb":                {Category: "legal-services", Country: "GB"},
		" country  JP ,industry   plumber ":                    {Industry: "plumber", Country: "JP"},
		"industry plumber, category home-services":             {Industry: "plumber", Category: "home-services"},
		"category home-services, industry plumber, country GB": {Industry: "plumber", Category: "home-services", Country: "GB"},
	} {
		got, err := ParseExclusion(text, tax)
		if err != nil || got != want {
			t.Errorf("%q: got %+v (%v), want %+v", text, got, err, want)
		}
		if again, err := ParseExclusion(got.String(), tax); err != nil || again != got {
			t.Errorf("ParseExclusion(%s) = %+v (%v), want %+v", got, again, err, got)
		}
	}
	for text, says := range map[string]string{
		"plumber":                           "industry: plumber",
		"Plumer":                            "industry: plumber",
		"Home services":                     "",
		"Home-Services":                     "category: home-services",
		"":                                  "",
		"industry plumber,":                 "",
		"industry plumber country FR":       "",
		"industry plumbr":                   `"plumbr"`,
		"category plumber":                  `"plumber"`,
		"country France":                    "",
		"country other":                     "",
		"urgency emergency":                 `"urgency"`,
		"urgency: emergency":                `"urgency"`,
		"industry:":                         "",
		"industry plumber, industry roofer": "",
		"industry plumber, category legal-services":  "home-services",
		"industry " + strings.Repeat("x", 1000):      `xxx…"`,
		"industry <script>alert(1)</script>\x00\xff": "",
	} {
		if got, err := ParseExclusion(text, tax); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %+v (%v), want an error that contains %q", text, got, err, says)
		}
	}
}
