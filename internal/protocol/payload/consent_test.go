package payload

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// unconsented contains the members of a post without consent.
const unconsented = `"transactionId":"tx_1","email":"a@b.example"`

// consenting returns a minimal post with additional members in its consent.
func consenting(members string) string {
	return unconsented + `,"consent":{` + members + `,"acknowledged":true}`
}

func TestConsentAccepted(t *testing.T) {
	gave := func(c Consent) Post { return leastPost(func(p *Post) { p.Consent = c }) }
	on := func(text string, at time.Time) Post {
		return gave(Consent{AcknowledgedText: text, AcknowledgedAt: &at})
	}
	const lower = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	long := "https://example.com/" + strings.Repeat("é", 2048-20)
	checkAccepted(t, map[string]acceptedPost{
		"acknowledged":         {consenting(`"x":1`), gave(Consent{})},
		"nulls":                {consenting(`"acknowledgedAt":null,"disclosureText":null,"recipientHash":null,"thirdPartyFormCertUrl":null,"thirdPartyLeadId":null`), gave(Consent{})},
		"acknowledgedAt":       {consenting(`"acknowledgedAt":"2026-01-02T03:04:05Z"`), on("2026-01-02T03:04:05Z", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))},
		"with milliseconds":    {consenting(`"acknowledgedAt":"2026-01-02T03:04:05.678Z"`), on("2026-01-02T03:04:05.678Z", time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))},
		"with an offset":       {consenting(`"acknowledgedAt":"2026-01-02T03:04:05+05:30"`), on("2026-01-02T03:04:05+05:30", time.Date(2026, 1, 1, 21, 34, 5, 0, time.UTC))},
		"without an offset":    {consenting(`"acknowledgedAt":"2026-01-02T03:04:05"`), gave(Consent{AcknowledgedText: "2026-01-02T03:04:05"})},
		"acknowledgedAt empty": {consenting(`"acknowledgedAt":""`), gave(Consent{})},
		"acknowledgedAt blank": {consenting(`"acknowledgedAt":"\u200b \u00a0"`), gave(Consent{})},
		"blanks around acknowledgedAt": {
			consenting(`"acknowledgedAt":"\ufeff 2026-01-02T03:04:05Z\u00a0\n"`),
			on("2026-01-02T03:04:05Z", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		},
		"acknowledgedAt of 64 after trimming": {
			consenting(`"acknowledgedAt":" 2026-01-02T03:04:05.` + strings.Repeat("0", 43) + `Z "`),
			on("2026-01-02T03:04:05."+strings.Repeat("0", 43)+"Z", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		},
		"blanks around recipientHash": {
			consenting(`"recipientHash":"\t` + lower + ` \u200b"`), gave(Consent{RecipientHash: lower}),
		},
		"blanks around certificate": {
			consenting(`"thirdPartyFormCertUrl":"\u200b https://cert.example\n"`),
			gave(Consent{ThirdPartyFormCertURL: "https://cert.example"}),
		},
		"certificate of 2048 after trimming": {
			consenting(`"thirdPartyFormCertUrl":" ` + long + ` "`), gave(Consent{ThirdPartyFormCertURL: long}),
		},
		"recipientHash empty": {consenting(`"recipientHash":""`), gave(Consent{})},
		"certificate empty, top given": {consenting(`"thirdPartyFormCertUrl":" "`) +
			`,"thirdPartyFormCertUrl":"https://cert.example"`, gave(Consent{ThirdPartyFormCertURL: "https://cert.example"})},
		"certificates empty":   {consenting(`"thirdPartyFormCertUrl":""`) + `,"thirdPartyFormCertUrl":""`, gave(Consent{})},
		"disclosureText":       {consenting(`"disclosureText":" I agree.\n"`), gave(Consent{DisclosureText: " I agree.\n"})},
		"disclosureText long":  {consenting(`"disclosureText":` + chars(10000)), gave(Consent{DisclosureText: strings.Repeat("é", 10000)})},
		"recipientHash":        {consenting(`"recipientHash":"` + lower + `"`), gave(Consent{RecipientHash: lower})},
		"recipientHash, upper": {consenting(`"recipientHash":"` + strings.ToUpper(lower) + `"`), gave(Consent{RecipientHash: lower})},
		"certificate": {consenting(`"thirdPartyFormCertUrl":"https://cert.example/a?b=c#d"`) +
			`,"thirdPartyFormCertUrl":7`, gave(Consent{ThirdPartyFormCertURL: "https://cert.example/a?b=c#d"})},
		"certificate, top":    {least + `,"thirdPartyFormCertUrl":"https://cert.example"`, gave(Consent{ThirdPartyFormCertURL: "https://cert.example"})},
		"certificate of 2048": {consenting(`"thirdPartyFormCertUrl":"` + long + `"`), gave(Consent{ThirdPartyFormCertURL: long})},
		"lead token":          {consenting(`"thirdPartyLeadId":"L 1"`) + `,"thirdPartyLeadId":7`, gave(Consent{ThirdPartyLeadID: "L 1"})},
		"lead token empty, top given": {consenting(`"thirdPartyLeadId":" "`) + `,"thirdPartyLeadId":"L 1"`,
			gave(Consent{ThirdPartyLeadID: "L 1"})},
		"lead tokens empty":    {consenting(`"thirdPartyLeadId":""`) + `,"thirdPartyLeadId":" "`, gave(Consent{})},
		"lead token, top":      {least + `,"thirdPartyLeadId":"L 1"`, gave(Consent{ThirdPartyLeadID: "L 1"})},
		"lead token of 256":    {least + `,"thirdPartyLeadId":` + chars(256), gave(Consent{ThirdPartyLeadID: strings.Repeat("é", 256)})},
		"blanks in the object": {unconsented + `,"consent": { "acknowledged" : true } `, gave(Consent{})},
	})
}

func TestConsentRejected(t *testing.T) {
	given := func(consent string) string { return unconsented + `,"consent":` + consent }
	checkRejected(t, map[string]rejectedPost{
		"absent":                  {unconsented, []string{"required consent.acknowledged"}},
		"null":                    {given(`null`), []string{"required consent.acknowledged"}},
		"empty":                   {given(`{}`), []string{"required consent.acknowledged"}},
		"at the top":              {unconsented + `,"acknowledged":true`, []string{"required consent.acknowledged"}},
		"in another letter case":  {given(`{"Acknowledged":true}`), []string{"required consent.acknowledged"}},
		"acknowledged null":       {given(`{"acknowledged":null}`), []string{"required consent.acknowledged"}},
		"acknowledged false":      {given(`{"acknowledged":false}`), []string{"invalid_value consent.acknowledged"}},
		"acknowledged a text":     {given(`{"acknowledged":"true"}`), []string{"invalid_type consent.acknowledged"}},
		"acknowledged empty":      {given(`{"acknowledged":""}`), []string{"invalid_type consent.acknowledged"}},
		"acknowledged 1":          {given(`{"acknowledged":1}`), []string{"invalid_type consent.acknowledged"}},
		"acknowledged in a list":  {given(`{"acknowledged":[true]}`), []string{"invalid_type consent.acknowledged"}},
		"acknowledged an object":  {given(`{"acknowledged":{"acknowledged":true}}`), []string{"invalid_type consent.acknowledged"}},
		"true":                    {given(`true`), []string{"invalid_type consent.acknowledged"}},
		"false":                   {given(`false`), []string{"invalid_type consent.acknowledged"}},
		"a text":                  {given(`"true"`), []string{"invalid_type consent.acknowledged"}},
		"a list":                  {given(`[{"acknowledged":true}]`), []string{"invalid_type consent.acknowledged"}},
		"a number":                {given(`1`), []string{"invalid_type consent.acknowledged"}},
		"no object, others read":  {given(`true`) + `,"thirdPartyLeadId":1`, []string{"invalid_type consent.acknowledged", "invalid_type thirdPartyLeadId"}},
		"acknowledgedAt a number": {consenting(`"acknowledgedAt":1767322800`), []string{"invalid_type consent.acknowledgedAt"}},
		"acknowledgedAt a date":   {consenting(`"acknowledgedAt":"2026-01-02"`), []string{"invalid_value consent.acknowledgedAt"}},
		"acknowledgedAt of 65":    {consenting(`"acknowledgedAt":"2026-01-02T03:04:05.` + strings.Repeat("0", 44) + `Z"`), []string{"too_long consent.acknowledgedAt"}},
		"disclosureText a list":   {consenting(`"disclosureText":["I agree"]`), []string{"invalid_type consent.disclosureText"}},
		"disclosureText long":     {consenting(`"disclosureText":` + chars(10001)), []string{"too_long consent.disclosureText"}},
		"disclosureText U+0000":   {consenting(`"disclosureText":"\u0000"`), []string{"invalid_value consent.disclosureText"}},
		"recipientHash a number":  {consenting(`"recipientHash":7`), []string{"invalid_type consent.recipientHash"}},
		"acknowledgedAt, a space": {consenting(`"acknowledgedAt":"2026-01-02T03:04:05 Z"`), []string{"invalid_value consent.acknowledgedAt"}},
		"recipientHash, a space":  {consenting(`"recipientHash":"` + strings.Repeat("a", 32) + ` ` + strings.Repeat("a", 32) + `"`), []string{"invalid_value consent.recipientHash"}},
		"certificate, a space":    {consenting(`"thirdPartyFormCertUrl":"https://cert.example/a b"`), []string{"invalid_value consent.thirdPartyFormCertUrl"}},
		"recipientHash of 63":     {consenting(`"recipientHash":"` + strings.Repeat("a", 63) + `"`), []string{"invalid_value consent.recipientHash"}},
		"recipientHash of 65":     {consenting(`"recipientHash":"` + strings.Repeat("a", 65) + `"`), []string{"invalid_value consent.recipientHash"}},
		"recipientHash with a g":  {consenting(`"recipientHash":"` + strings.Repeat("a", 63) + `g"`), []string{"invalid_value consent.recipientHash"}},
		"certificate a number":    {consenting(`"thirdPartyFormCertUrl":7`), []string{"invalid_type consent.thirdPartyFormCertUrl"}},
		"certificate, http":       {consenting(`"thirdPartyFormCertUrl":"http://cert.example"`), []string{"invalid_value consent.thirdPartyFormCertUrl"}},
		"certificate bad, top":    {least + `,"thirdPartyFormCertUrl":"x"`, []string{"invalid_value thirdPartyFormCertUrl"}},
		"certificate of 2049": {consenting(`"thirdPartyFormCertUrl":"https://example.com/` +
			strings.Repeat("é", 2049-20) + `"`), []string{"too_long consent.thirdPartyFormCertUrl"}},
		"certificate with U+0000": {consenting(`"thirdPartyFormCertUrl":"https://example.com/\u0000"`), []string{"invalid_value consent.thirdPartyFormCertUrl"}},
		"lead token a number":     {consenting(`"thirdPartyLeadId":7`), []string{"invalid_type consent.thirdPartyLeadId"}},
		"lead token of 257":       {least + `,"thirdPartyLeadId":` + chars(257), []string{"too_long thirdPartyLeadId"}},
		"lead token with U+0000":  {least + `,"thirdPartyLeadId":"\u0000"`, []string{"invalid_value thirdPartyLeadId"}},
		"several at once":         {given(`{"acknowledgedAt":1,"recipientHash":2}`), []string{"required consent.acknowledged", "invalid_type consent.acknowledgedAt", "invalid_type consent.recipientHash"}},
	})
}

// TestMissingConsentSaysWhatIsRequired checks the message that the specification prescribes for any
// value other than true.
func TestMissingConsentSaysWhatIsRequired(t *testing.T) {
	for _, consent := range []string{`null`, `{}`, `{"acknowledged":false}`, `{"acknowledged":"yes"}`, `[]`} {
		_, err := ParsePost([]byte("{" + unconsented + `,"consent":` + consent + "}"))
		if f := apperr.As(err); f == nil || len(f.Fields) != 1 ||
			!slices.Equal(f.Fields[0].Path, []string{"consent", "acknowledged"}) {
			t.Errorf("consent %s: %+v", consent, f)
		}
	}
}

func TestIsPlainHTTPS(t *testing.T) {
	for text, want := range map[string]bool{
		"https://cert.example":                true,
		"HTTPS://Cert.Example/A?b=c&d=%20#e":  true,
		"https://cert.example:8443/":          true,
		"https://192.0.2.1/":                  true,
		"https://[2001:db8::1]:443/":          true,
		"https://müller.example/ä":            true,
		"":                                    false,
		"cert.example":                        false,
		"//cert.example":                      false,
		"http://cert.example":                 false,
		"ftp://cert.example":                  false,
		"javascript:alert(1)":                 false,
		"https:":                              false,
		"https:cert.example":                  false,
		"https:/cert.example":                 false,
		"https://":                            false,
		"https:///path":                       false,
		"https://:443/":                       false,
		"https://jo@cert.example/":            false,
		"https://jo:pw@cert.example/":         false,
		"https://@cert.example/":              false,
		"https://cert.example@evil.example/":  false,
		"https://cert.example\\@evil.example": false,
		"https://cert.example:port/":          false,
		"https://cert.example/a b":            false,
		" https://cert.example/":              false,
		"https://cert.example/\u00a0":         false,
		"https://cert.example/\u0085":         false,
		"https://cert.example/\n":             false,
		"https://cert.example/%zz":            false,
		"https://[2001:db8::1/":               false,
		"https://cert example/":               false,
	} {
		if got := isPlainHTTPS(text); got != want {
			t.Errorf("isPlainHTTPS(%q) = %v", text, got)
		}
	}
}
