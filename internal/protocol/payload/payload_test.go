package payload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/pingpost/pingpost/internal/base/apperr"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// taxonomy returns a small taxonomy: plumber is 1001, electrician 1002 and dentist 2001.
func taxonomy(t testing.TB) *pricingrules.Taxonomy {
	t.Helper()
	tax, err := pricingrules.ParseTaxonomy("taxonomy.yaml", []byte(`
categories:
  - slug: home-services
    name: Home services
    industries:
      1001: plumber
      1002: electrician
  - slug: health-wellness
    name: Health & wellness
    industries:
      2001: dentist
`))
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

// listed returns the fields of an error as "code parent.name", in their original order,
// because the order is part of the contract.
func listed(err error) []string {
	var out []string
	if f := apperr.As(err); f != nil {
		for _, p := range f.Fields {
			out = append(out, strings.TrimSpace(string(p.Code)+" "+strings.Join(p.Path, ".")))
		}
	}
	return out
}

// checkFault fails the test unless err is a copy of base with exactly the wanted fields, each with
// a path and a message.
func checkFault(t testing.TB, err error, base *apperr.Error, want ...string) {
	t.Helper()
	f := apperr.As(err)
	if f == nil || f.Code != base.Code || f.Reason != base.Reason || f.Message != base.Message {
		t.Fatalf("got error %v, want %v", err, base)
	}
	if got := listed(err); !slices.Equal(got, want) {
		t.Errorf("got problems %q, want %q", got, want)
	}
	for _, p := range f.Fields {
		if p.Path == nil || p.Message == "" {
			t.Errorf("entry %+v has no path or no message", p)
		}
	}
	if base.Fields != nil {
		t.Fatal("the package-level error was modified")
	}
}

// with returns a JSON object made from alternating names and raw values.
func with(members ...string) string {
	var b strings.Builder
	for i := 0; i < len(members); i += 2 {
		fmt.Fprintf(&b, ",%q:%s", members[i], members[i+1])
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// chars returns a JSON string of n two-byte characters, to detect code that counts bytes
// instead of code points.
func chars(n int) string { return `"` + strings.Repeat("é", n) + `"` }

func TestMessagesNeverRepeatValues(t *testing.T) {
	const canary = "canary"
	values := []string{`"canary"`, `"canary\u0000"`, `["canary"]`, `{"canary":"canary"}`,
		`"` + strings.Repeat(canary, 3000) + `"`, `"+canary"`, `"https://canary@"`}
	var long strings.Builder
	for i := range maxAnswers + 1 {
		fmt.Fprintf(&long, `,"canary%d%s":"\u0000"`, i, strings.Repeat("x", maxAnswerKey))
	}
	values = append(values, "{"+long.String()[1:]+"}")
	nested := func(parent string, names ...string) (out []string) {
		for _, name := range names {
			for _, v := range values {
				out = append(out, with(parent, with(name, v)))
			}
		}
		return out
	}
	var bodies []string
	for _, v := range values {
		bodies = append(bodies, v)
		for _, name := range []string{"industry", "vertical", "taxonomyTermId", "postcode", "postal_code", "country", "urgency",
			"job_type", "jobType", "budget", "transactionId", "partnerId", "contact", "email", "name", "phone", "location",
			"address", "consent", "thirdPartyFormCertUrl", "thirdPartyLeadId", "notes", "answers"} {
			bodies = append(bodies, with(name, v))
		}
		bodies = append(bodies, with("industry", v, "vertical", v, "postcode", v, "postal_code", `"canary2"`))
	}
	bodies = append(bodies, nested("contact", "email", "name", "fullName", "phoneE164", "phone")...)
	bodies = append(bodies, nested("location", "postcode", "postal_code", "address", "street_address", "country")...)
	bodies = append(bodies, nested("consent", "acknowledged", "acknowledgedAt", "disclosureText", "recipientHash")...)
	tax := taxonomy(t)
	for _, body := range bodies {
		_, pingErr := ParsePing([]byte(body), tax)
		_, postErr := ParsePost([]byte(body))
		for _, err := range []error{pingErr, postErr} {
			f := apperr.As(err)
			if f == nil {
				t.Fatalf("%.80s was accepted", body)
			}
			if strings.Contains(fmt.Sprintf("%+v %v", *f, err), canary) {
				t.Errorf("%.80s: the error repeats a value: %+v", body, f.Fields)
			}
		}
	}
}

// quoted returns text as a JSON string, with only the required escapes.
func quoted(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

// everyCharacterEscaped returns text as a JSON string of \u escapes.
func everyCharacterEscaped(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return `"` + b.String() + `"`
}
