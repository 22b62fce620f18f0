package payload

import (
	"slices"
	"strings"
	"testing"
)

// person contains the members of a post without an email address.
const person = `"transactionId":"tx_1","consent":{"acknowledged":true}`

func TestContactAccepted(t *testing.T) {
	numbered := func(phone string, path ...string) Post {
		return leastPost(func(p *Post) { p.Contact.Phone, p.Contact.PhonePath = phone, path })
	}
	phone := func(c Contact) Post {
		return leastPost(func(p *Post) { c.Email = p.Contact.Email; p.Contact = c })
	}
	longest := strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 59)+".", 3) + "example.c" // 254 characters
	checkAccepted(t, map[string]acceptedPost{
		"contact.email":      {person + `,"contact":{"email":"a@b.example"}`, leastPost(nil)},
		"email":              {person + `,"email":"a@b.example"`, leastPost(nil)},
		"contact.email wins": {person + `,"email":7,"contact":{"email":"a@b.example"}`, leastPost(nil)},
		"contact.email null": {person + `,"email":"a@b.example","contact":{"email":null}`, leastPost(nil)},
		"email in its letter case": {person + `,"email":"A@B.Example"`, leastPost(func(p *Post) {
			p.Contact.Email = "A@B.Example"
		})},
		"email of 254": {person + `,"email":"` + longest + `"`, leastPost(func(p *Post) {
			p.Contact.Email = longest
		})},
		"name":              {least + `,"name":"no"`, phone(Contact{Name: "no"})},
		"contact.name wins": {person + `,"name":7,"contact":{"fullName":8,"name":"Jo","email":"a@b.example"}`, phone(Contact{Name: "Jo"})},
		"contact.fullName": {person +
			`,"name":7,"contact":{"fullName":"Jo","name":null,"email":"a@b.example"}`, phone(Contact{Name: "Jo"})},
		"email trimmed": {person + `,"email":"\u200b a@b.example\u202c\u00a0\r\n"`, leastPost(nil)},
		"email of 254 with blanks": {person + `,"email":"` + longest + strings.Repeat(" ", 99) + `"`, leastPost(func(p *Post) {
			p.Contact.Email = longest
		})},
		"name third, as the others are empty": {person +
			`,"name":"Jo","contact":{"name":"","fullName":" ","email":"a@b.example"}`, phone(Contact{Name: "Jo"})},
		"names empty":  {least + `,"name":"\u200b"`, leastPost(nil)},
		"name of 200":  {least + `,"name":` + chars(200), phone(Contact{Name: strings.Repeat("é", 200)})},
		"name as sent": {least + `,"name":" Jo B "`, phone(Contact{Name: " Jo B "})},
		"contact.phoneE164": {person + `,"phone":7,"contact":{"phone":8,"phoneE164":"+442079460123","email":"a@b.example"}`,
			numbered("+442079460123", "contact", "phoneE164")},
		"phoneE164 with blanks": {person + `,"contact":{"phoneE164":" +44\u00a020 7946\u200b 0123\u202c","email":"a@b.example"}`,
			numbered("+44\u00a020 7946\u200b 0123", "contact", "phoneE164")},
		"contact.phone": {person + `,"phone":7,"contact":{"phone":"020 7946 0123","phoneE164":null,"email":"a@b.example"}`,
			numbered("020 7946 0123", "contact", "phone")},
		"contact.phone, as phoneE164 is empty": {person + `,"contact":{"phone":"020 7946 0123","phoneE164":"","email":"a@b.example"}`,
			numbered("020 7946 0123", "contact", "phone")},
		"phone, as the others are empty": {person + `,"phone":"020","contact":{"phone":" ","phoneE164":"\u200b","email":"a@b.example"}`,
			numbered("020", "phone")},
		"phone":                {least + `,"phone":"\u202a 020\u00a0\u202c"`, numbered("020", "phone")},
		"not a phone number":   {least + `,"phone":"ask Jo"`, numbered("ask Jo", "phone")},
		"phone empty":          {least + `,"phone":""`, leastPost(nil)},
		"phone blank":          {least + `,"phone":"\u00a0\u200b"`, leastPost(nil)},
		"phone of 64":          {least + `,"phone":` + chars(64), numbered(strings.Repeat("é", 64), "phone")},
		"phone of 64, trimmed": {least + `,"phone":"   ` + strings.Repeat("1", 64) + `"`, numbered(strings.Repeat("1", 64), "phone")},
		"phoneE164 at the top": {least + `,"phoneE164":7,"fullName":8`, leastPost(nil)},
	})
}

func TestContactRejected(t *testing.T) {
	checkRejected(t, map[string]rejectedPost{
		"no email":                      {person, []string{"required contact.email"}},
		"emails null":                   {person + `,"email":null,"contact":{"email":null}`, []string{"required contact.email"}},
		"contact.email a number":        {person + `,"contact":{"email":7}`, []string{"invalid_type contact.email"}},
		"contact.email bad, email good": {person + `,"email":"a@b.example","contact":{"email":"no"}`, []string{"invalid_value contact.email"}},
		"email empty":                   {person + `,"email":""`, []string{"invalid_value email"}},
		"email an object":               {person + `,"email":{}`, []string{"invalid_type email"}},
		"email blank":                   {person + `,"email":" \u200b"`, []string{"invalid_value email"}},
		"email with a blank inside":     {person + `,"email":"a\u200b@b.example"`, []string{"invalid_value email"}},
		"email with U+0000":             {person + `,"email":"a\u0000@b.example"`, []string{"invalid_value email"}},
		"email of 255":                  {person + `,"email":"` + strings.Repeat("é", 244) + `@b.example` + `x"`, []string{"too_long email"}},
		"contact.name a number":         {person + `,"contact":{"name":7,"email":"a@b.example"}`, []string{"invalid_type contact.name"}},
		"contact.fullName a list":       {person + `,"contact":{"fullName":[],"email":"a@b.example"}`, []string{"invalid_type contact.fullName"}},
		"name of 201":                   {least + `,"name":` + chars(201), []string{"too_long name"}},
		"name with U+0000":              {least + `,"name":"\u0000"`, []string{"invalid_value name"}},
		"phoneE164 a number":            {person + `,"contact":{"phoneE164":442079460123,"email":"a@b.example"}`, []string{"invalid_type contact.phoneE164"}},
		"phoneE164 with brackets":       {person + `,"contact":{"phoneE164":"+44 (0)20 7946 0123","email":"a@b.example"}`, []string{"invalid_value contact.phoneE164"}},
		"phoneE164 as dialled":          {person + `,"contact":{"phoneE164":"020 7946 0123","email":"a@b.example"}`, []string{"invalid_value contact.phoneE164"}},
		"phoneE164 bad, phone good": {person +
			`,"contact":{"phoneE164":"no","phone":"020 7946 0123","email":"a@b.example"}`, []string{"invalid_value contact.phoneE164"}},
		"phoneE164 of 65":        {person + `,"contact":{"phoneE164":` + chars(65) + `,"email":"a@b.example"}`, []string{"too_long contact.phoneE164"}},
		"contact.phone a number": {person + `,"contact":{"phone":7,"email":"a@b.example"}`, []string{"invalid_type contact.phone"}},
		"phone of 65":            {least + `,"phone":` + chars(65), []string{"too_long phone"}},
		"phone with U+0000":      {least + `,"phone":"\u0000"`, []string{"invalid_value phone"}},
		"several at once":        {person + `,"contact":{"phone":7,"name":8,"email":9}`, []string{"invalid_type contact.email", "invalid_type contact.name", "invalid_type contact.phone"}},
	})
}

// Control characters in a name do not cost the lead. They are replaced by spaces, with a warning.
func TestControlCharactersInNames(t *testing.T) {
	for sent, want := range map[string]string{
		`Jo\tBloggs`:                    "Jo Bloggs",
		`\u001b[1mJo\u0007`:             "[1mJo",
		`Jo\r\nBloggs\u0085`:            "Jo  Bloggs",
		`\u0007`:                        "",
		`Zoe\u0308 \u202eB\u200d\u0001`: "Zoe\u0308 \u202eB\u200d",
	} {
		for _, path := range [][]string{{"name"}, {"contact", "name"}, {"contact", "fullName"}} {
			body := least + `,"name":"` + sent + `"`
			if len(path) == 2 {
				body = person + `,"contact":{"email":"a@b.example","` + path[1] + `":"` + sent + `"}`
			}
			post, err := ParsePost([]byte("{" + body + "}"))
			if err != nil {
				t.Fatal(err, listed(err))
			}
			if post.Contact.Name != want || len(post.Warnings) != 1 || post.Warnings[0].Code != ControlCharacters ||
				!slices.Equal(post.Warnings[0].Path, path) {
				t.Errorf("%s: got name %q and warnings %v, want %q and a warning at %v", sent, post.Contact.Name, post.Warnings, want, path)
			}
		}
	}
}
