package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/plaintext"
)

// least contains the members of a minimal post.
const least = `"transactionId":"tx_1","contact":{"email":"a@b.example"},"consent":{"acknowledged":true}`

func leastPost(change func(*Post)) Post {
	p := Post{TransactionID: "tx_1", Contact: Contact{Email: "a@b.example"}}
	if change != nil {
		change(&p)
	}
	return p
}

type acceptedPost struct {
	body string
	want Post
}

func checkAccepted(t *testing.T, rows map[string]acceptedPost) {
	t.Helper()
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePost([]byte("{" + c.body + "}"))
			if err != nil {
				t.Fatal(err, listed(err))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type rejectedPost struct {
	body string
	want []string
}

func checkRejected(t *testing.T, rows map[string]rejectedPost) {
	t.Helper()
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePost([]byte("{" + c.body + "}"))
			checkFault(t, err, ErrInvalidPost, c.want...)
			if diff := cmp.Diff(Post{TransactionID: got.TransactionID, PartnerID: got.PartnerID}, got); diff != "" {
				t.Errorf("rejected post (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPostAccepted(t *testing.T) {
	checkAccepted(t, map[string]acceptedPost{
		"least":               {least, leastPost(nil)},
		"empty transactionId": {strings.Replace(least, "tx_1", "", 1), leastPost(func(p *Post) { p.TransactionID = "" })},
		"transactionId of 200": {strings.Replace(least, `"tx_1"`, chars(200), 1), leastPost(func(p *Post) {
			p.TransactionID = strings.Repeat("é", 200)
		})},
		"transactionId as sent": {strings.Replace(least, "tx_1", " TX_\\u0031 ", 1), leastPost(func(p *Post) {
			p.TransactionID = " TX_1 "
		})},
		"partnerId":         {least + `,"partnerId":"acme-uk"`, leastPost(func(p *Post) { p.PartnerID = "acme-uk" })},
		"partnerId as sent": {least + `,"partnerId":" Acme "`, leastPost(func(p *Post) { p.PartnerID = " Acme " })},
		"partnerId null":    {least + `,"partnerId":null`, leastPost(nil)},
		"partnerId of 128": {least + `,"partnerId":` + chars(128), leastPost(func(p *Post) {
			p.PartnerID = strings.Repeat("é", 128)
		})},
		"notes": {least + `,"notes":" line\n\u20ac"`, leastPost(func(p *Post) { p.Notes = " line\n€" })},
		"notes of 10000": {least + `,"notes":` + chars(10000), leastPost(func(p *Post) {
			p.Notes = strings.Repeat("é", 10000)
		})},
		"notes null":       {least + `,"notes":null`, leastPost(nil)},
		"unknown fields":   {least + `,"x":[{"email":1}],"Notes":7,"transactionid":1`, leastPost(nil)},
		"fields of a ping": {least + `,"industry":7,"urgency":[],"job_type":{}`, leastPost(nil)},
		"null contact": {
			`"transactionId":"tx_1","contact":null,"email":"a@b.example","consent":{"acknowledged":true}`, leastPost(nil),
		},
		"null location":  {least + `,"location":null`, leastPost(nil)},
		"empty location": {least + `,"location":{}`, leastPost(nil)},
		"everything null": {
			least + `,"location":{"postcode":null,"address":null,"country":null},"answers":null,"name":null,"phone":null`,
			leastPost(nil),
		},
		"contact of blanks inside": {strings.Replace(least, `{"email":"a@b.example"}`,
			"{ \n\"email\" : \"a@b.example\"\t}", 1), leastPost(nil)},
	})
}

func TestPostRejected(t *testing.T) {
	const consent = `"consent":{"acknowledged":true}`
	const email = `"email":"a@b.example"`
	checkRejected(t, map[string]rejectedPost{
		"nothing": {
			``, []string{"required transactionId", "required contact.email", "required consent.acknowledged"},
		},
		"no transactionId":       {email + "," + consent, []string{"required transactionId"}},
		"transactionId null":     {`"transactionId":null,` + email + "," + consent, []string{"required transactionId"}},
		"transactionId a number": {`"transactionId":1,` + email + "," + consent, []string{"invalid_type transactionId"}},
		"transactionId with U+0000": {
			`"transactionId":"tx_\u0000",` + email + "," + consent, []string{"invalid_value transactionId"},
		},
		"partnerId a number":    {least + `,"partnerId":7`, []string{"invalid_type partnerId"}},
		"partnerId of 129":      {least + `,"partnerId":` + chars(129), []string{"too_long partnerId"}},
		"partnerId with U+0000": {least + `,"partnerId":"\u0000"`, []string{"invalid_value partnerId"}},
		"partnerId empty":       {least + `,"partnerId":""`, []string{"invalid_value partnerId"}},
		"notes a number":        {least + `,"notes":7`, []string{"invalid_type notes"}},
		"notes of 10001":        {least + `,"notes":` + chars(10001), []string{"too_long notes"}},
		"notes with U+0000":     {least + `,"notes":"\u0000"`, []string{"invalid_value notes"}},
		"contact a string": {
			`"transactionId":"t","contact":"x",` + email + "," + consent, []string{"invalid_type contact"},
		},
		"contact an array": {
			`"transactionId":"t","contact":[],` + consent, []string{"invalid_type contact", "required contact.email"},
		},
		"location a string": {least + `,"location":"Paris"`, []string{"invalid_type location"}},
		"location false":    {least + `,"location":false`, []string{"invalid_type location"}},
		"in the specification's order": {
			`"answers":1,"notes":2,"thirdPartyLeadId":3,"thirdPartyFormCertUrl":4,"consent":{"recipientHash":5,"disclosureText":6,"acknowledgedAt":7,"acknowledged":8},` +
				`"country":9,"address":10,"postcode":11,"location":12,"phone":13,"name":14,"email":15,"contact":16,"partnerId":17,"transactionId":18`,
			[]string{"invalid_type transactionId", "invalid_type partnerId", "invalid_type contact", "invalid_type email", "invalid_type name", "invalid_type phone",
				"invalid_type location", "invalid_type postcode", "invalid_type address", "invalid_type country", "invalid_type consent.acknowledged",
				"invalid_type consent.acknowledgedAt", "invalid_type consent.disclosureText", "invalid_type consent.recipientHash",
				"invalid_type thirdPartyFormCertUrl", "invalid_type thirdPartyLeadId", "invalid_type notes", "invalid_type answers"},
		},
	})
}

// TestRejectedPostNamesItsPartner checks the fields of a rejected post that are used to
// choose the secret (decisions 12, 13).
func TestRejectedPostNamesItsPartner(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct{ body, transaction, partner string }{
		"payload":                     {`{"transactionId":"tx_1","partnerId":"p"}`, "tx_1", "p"},
		"payload, escapes":            {`{"transactionI\u0064":"tx_\u0031","partnerId":"p"}`, "tx_1", "p"},
		"payload, wrong types":        {`{"transactionId":1,"partnerId":["p"]}`, "", ""},
		"payload, nulls":              {`{"transactionId":null,"partnerId":null}`, "", ""},
		"payload, too long":           {`{"transactionId":"` + long + `","partnerId":"` + long + `"}`, long, long},
		"nested names are others":     {`{"x":{"transactionId":"tx_1"},"contact":{"partnerId":"p"}}`, "", ""},
		"no object":                   {`[{"transactionId":"tx_1","partnerId":"p"}]`, "", ""},
		"empty body":                  {``, "", ""},
		"JSON, cut off":               {`{"transactionId":"tx_1","partnerId":"p","notes":"...`, "tx_1", "p"},
		"JSON, cut off in the value":  {`{"transactionId":"tx_1","partnerId":"p`, "tx_1", ""},
		"JSON, broken before":         {`{"notes":nope,"transactionId":"tx_1","partnerId":"p"}`, "", ""},
		"JSON, broken between":        {`{"transactionId":"tx_1",,"partnerId":"p"}`, "tx_1", ""},
		"JSON, trailing data":         {`{"transactionId":"tx_1","partnerId":"p"} x`, "tx_1", "p"},
		"JSON, duplicate name":        {`{"partnerId":"p","partnerId":"q","transactionId":"tx_1"}`, "", "p"},
		"JSON, nested duplicate name": {`{"partnerId":"p","x":{"y":1,"y":2},"transactionId":"tx_1"}`, "", "p"},
		"JSON, invalid UTF-8":         {"{\"partnerId\":\"p\",\"transactionId\":\"\xff\"}", "", "p"},
		"JSON, lone surrogate":        {`{"partnerId":"p","transactionId":"\ud800"}`, "", "p"},
		"JSON, too deep": {`{"partnerId":"p","x":` + strings.Repeat("[", 32) +
			strings.Repeat("]", 32) + `,"transactionId":"tx_1"}`, "tx_1", "p"},
		"JSON, byte-order mark": {"\ufeff" + `{"partnerId":"p"}`, "", ""},
		"JSON, wrong types":     {`{"partnerId":7,"transactionId":{},`, "", ""},
		"JSON, an array":        {`["partnerId","p"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(c.body)
			got, err := ParsePost(body)
			if err == nil {
				t.Fatal("accepted")
			}
			for i := range body {
				body[i] = '#'
			}
			if diff := cmp.Diff(Post{TransactionID: c.transaction, PartnerID: c.partner}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPostDoesNotAliasTheBody(t *testing.T) {
	body := []byte(typicalPost)
	post, err := ParsePost(body)
	if err != nil {
		t.Fatal(err, listed(err))
	}
	for i := range body {
		body[i] = 'X'
	}
	acknowledged := time.Date(2026, 1, 2, 2, 4, 5, 678_000_000, time.UTC)
	want := Post{
		TransactionID: "tx_AQHsR2J3kq0ZVQk2mQ",
		PartnerID:     "acme-uk",
		Contact: Contact{
			Email:     "Jo.Bloggs@Example.com",
			Name:      "Jo Bloggs",
			Phone:     "020 7946 0123",
			PhonePath: []string{"contact", "phone"},
		},
		Location: Location{Postcode: "SW1A 1AA", Address: "10 Downing Street, London", Country: "GB"},
		Consent: Consent{
			AcknowledgedAt: &acknowledged, AcknowledgedText: "2026-01-02T03:04:05.678+01:00",
			DisclosureText:        "I agree to be called by up to four plumbers — on this number.",
			RecipientHash:         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			ThirdPartyFormCertURL: "https://cert.example/abc", ThirdPartyLeadID: "LEAD-1",
		},
		Notes:   "The tap drips.",
		Answers: []byte(`{ "rooms": 3, "owner": true }`),
	}
	if diff := cmp.Diff(want, post); diff != "" {
		t.Errorf("after reusing the buffer (-want +got):\n%s", diff)
	}
}

// Every known string may have escapes, and members may be in any order.
func TestPostIgnoresOrderAndEscapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 40, -1).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
		name := text.Filter(func(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) }).Draw(t, "name")
		address, disclosure, notes := text.Draw(t, "address"), text.Draw(t, "disclosure"), text.Draw(t, "notes")
		members := [][2]string{
			{"transactionId", quoted("tx_1")},
			{"consent", `{"disclosureText":` + everyCharacterEscaped(disclosure) + `,"acknowledged":true}`},
			{"email", everyCharacterEscaped("a@b.example")},
			{"name", everyCharacterEscaped(name)},
			{"notes", quoted(notes)},
			{"address", quoted(address)},
		}
		var parts []string
		for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "order") {
			parts = append(parts, everyCharacterEscaped(members[i][0])+":"+members[i][1])
		}
		got, err := ParsePost([]byte("{" + strings.Join(parts, " , ") + "}"))
		want := leastPost(func(p *Post) {
			p.Contact.Name, p.Location.Address, p.Consent.DisclosureText, p.Notes = name, address, disclosure, notes
			if plaintext.Trim(name) == "" {
				p.Contact.Name = ""
			}
			if plaintext.Trim(address) == "" {
				p.Location.Address = ""
			}
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", listed(err), diff)
		}
	})
}

const typicalPost = `{"transactionId":"tx_AQHsR2J3kq0ZVQk2mQ","partnerId":"acme-uk",
"contact":{"email":"Jo.Bloggs@Example.com","fullName":"Jo Bloggs","phone":"020 7946 0123"},
"location":{"postal_code":" SW1A 1AA ","street_address":"10 Downing Street, London","country":"gb"},
"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04:05.678+01:00","disclosureText":"I agree to be called by up to four plumbers \u2014 on this number.",
"recipientHash":"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"},
"thirdPartyFormCertUrl":"https://cert.example/abc","thirdPartyLeadId":"LEAD-1","notes":"The tap drips.","answers":{ "rooms": 3, "owner": true }}`

func BenchmarkParsePost(b *testing.B) {
	for name, body := range map[string]string{
		"typical": typicalPost,
		"least":   "{" + least + "}",
		"broken":  typicalPost + "}",
	} {
		b.Run(name, func(b *testing.B) {
			in := []byte(body)
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				_, _ = ParsePost(in)
			}
		})
	}
}

func FuzzParsePost(f *testing.F) {
	for _, seed := range []string{
		typicalPost, "{" + least + "}", `{}`, `[]`, `{"answers":{"a":{"b":"\u0000"}}}`, `{"partnerId":"p","partnerId":"q"}`,
		`{"contact":{"email":"\"a b\"@[IPv6:::1]","phoneE164":"+442079460123"}}`, `{"consent":{"acknowledgedAt":"2026-01-02T03:04:05,6z"}}`,
		`{"transactionId":"tx","email":"é@é.é","consent":{"acknowledged":true},"phone":"tel:+1-212-555-0100;ext=5","country":"US"}`,
		`{"transactionId":"tx","email":"a@b","consent":{"acknowledged":true},"phone":"(0)20 ٧946 0123 x9"}`,
		`{"transactionId":"tx","email":" a@b\u200b","consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04"},` +
			`"phone":"\u202a+4402079460123\u202c","name":"\u001b"}`,
		`{"partnerId":"p","transactionId":"\ud800"}`, strings.Repeat(`{"contact":`, 33) + "0" + strings.Repeat("}", 33),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := slices.Clone(body)
		post, err := ParsePost(body)
		if errors.Is(err, ErrJSON) == sound(sent) {
			t.Fatalf("valid JSON for the standard library: %v, ParsePost: %v", sound(sent), err)
		}
		if !slices.Equal(sent, body) {
			t.Fatal("ParsePost modified the body")
		}
		for i := range body {
			body[i] = '#'
		}
		again, _ := ParsePost(sent)
		if diff := cmp.Diff(post, again); diff != "" {
			t.Fatalf("parsed again (-first +second):\n%s", diff)
		}
		if err != nil {
			if !errors.Is(err, ErrJSON) && len(listed(err)) == 0 {
				t.Fatal("rejected without a reason")
			}
			return
		}
		checkFuzzed(t, sent, post)
	})
}

// checkFuzzed compares an accepted post with the result of encoding/json.
func checkFuzzed(t *testing.T, body []byte, post Post) {
	t.Helper()
	var loose map[string]json.RawMessage
	if err := json.Unmarshal(body, &loose); err != nil {
		t.Fatal("encoding/json rejects the body:", err)
	}
	var consent map[string]json.RawMessage // a struct would match names regardless of case
	if err := json.Unmarshal(loose["consent"], &consent); err != nil || string(consent["acknowledged"]) != "true" {
		t.Fatal("accepted without consent")
	}
	if post.Answers != nil && !bytes.Equal(post.Answers, loose["answers"]) {
		t.Fatalf("got answers %s, want %s", post.Answers, loose["answers"])
	}
	for _, country := range []string{"GB", "US", "ZZ"} {
		completed := post
		completed.Complete(country, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		c := completed.Contact
		if c.PhoneE164 != "" && !isE164(c.PhoneE164) || c.PhoneFlagged() == (c.PhoneE164 != "" || c.Phone == "") ||
			c.Phone != post.Contact.Phone {
			t.Fatalf("completed as %+v", c)
		}
		for _, w := range completed.Warnings {
			if w.Code == "" || len(w.Path) == 0 || w.Message == "" || strings.ContainsAny(w.Message, "\"\\") {
				t.Fatalf("got warning %+v", w)
			}
		}
	}
	for _, text := range []string{post.Contact.Email, post.Contact.Phone, post.Location.Postcode} {
		if plaintext.Trim(text) != text {
			t.Fatalf("%q is not trimmed", text)
		}
	}
	if strings.ContainsFunc(post.Contact.Name, unicode.IsControl) {
		t.Fatalf("the name %q contains control characters", post.Contact.Name)
	}
}
