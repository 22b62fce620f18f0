package payload

import (
	"strings"
	"testing"
)

// person contains the members of a post without an email address.
const person = `"transactionId":"tx_1","consent":{"acknowledged":true}`

func TestContactAccepted(t *testing.T) {
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
		"name empty is a value": {person + `,"name":"no","contact":{"name":"","email":"a@b.example"}`, leastPost(nil)},
		"name of 200":           {least + `,"name":` + chars(200), phone(Contact{Name: strings.Repeat("é", 200)})},
		"name as sent":          {least + `,"name":" Jo\tB "`, phone(Contact{Name: " Jo\tB "})},
		"contact.phoneE164": {person + `,"phone":7,"contact":{"phone":8,"phoneE164":"+442079460123","email":"a@b.example"}`, phone(Contact{
			Phone:     "+442079460123",
			PhoneE164: "+442079460123",
		})},
		"contact.phone": {person +
			`,"phone":7,"contact":{"phone":"020 7946 0123","phoneE164":null,"email":"a@b.example"}`, phone(Contact{Phone: "020 7946 0123", PhoneFlagged: true})},
		"phone":                  {least + `,"phone":" 020 "`, phone(Contact{Phone: " 020 ", PhoneFlagged: true})},
		"not a phone number":     {least + `,"phone":"ask Jo"`, phone(Contact{Phone: "ask Jo", PhoneFlagged: true})},
		"phone empty is a value": {least + `,"phone":""`, phone(Contact{PhoneFlagged: true})},
		"phone of 64": {least + `,"phone":` + chars(64), phone(Contact{
			Phone:        strings.Repeat("é", 64),
			PhoneFlagged: true,
		})},
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
		"email with blanks around":      {person + `,"email":" a@b.example "`, []string{"invalid_value email"}},
		"email with U+0000":             {person + `,"email":"a\u0000@b.example"`, []string{"invalid_value email"}},
		"email of 255":                  {person + `,"email":"` + strings.Repeat("é", 244) + `@b.example` + `x"`, []string{"too_long email"}},
		"contact.name a number":         {person + `,"contact":{"name":7,"email":"a@b.example"}`, []string{"invalid_type contact.name"}},
		"contact.fullName a list":       {person + `,"contact":{"fullName":[],"email":"a@b.example"}`, []string{"invalid_type contact.fullName"}},
		"name of 201":                   {least + `,"name":` + chars(201), []string{"too_long name"}},
		"name with U+0000":              {least + `,"name":"\u0000"`, []string{"invalid_value name"}},
		"phoneE164 a number":            {person + `,"contact":{"phoneE164":442079460123,"email":"a@b.example"}`, []string{"invalid_type contact.phoneE164"}},
		"phoneE164 empty":               {person + `,"contact":{"phoneE164":"","email":"a@b.example"}`, []string{"invalid_value contact.phoneE164"}},
		"phoneE164 with blanks":         {person + `,"contact":{"phoneE164":"+44 20 7946 0123","email":"a@b.example"}`, []string{"invalid_value contact.phoneE164"}},
		"phoneE164 bad, phone good": {person +
			`,"contact":{"phoneE164":"no","phone":"020 7946 0123","email":"a@b.example"}`, []string{"invalid_value contact.phoneE164"}},
		"phoneE164 of 65":        {person + `,"contact":{"phoneE164":` + chars(65) + `,"email":"a@b.example"}`, []string{"too_long contact.phoneE164"}},
		"contact.phone a number": {person + `,"contact":{"phone":7,"email":"a@b.example"}`, []string{"invalid_type contact.phone"}},
		"phone of 65":            {least + `,"phone":` + chars(65), []string{"too_long phone"}},
		"phone with U+0000":      {least + `,"phone":"\u0000"`, []string{"invalid_value phone"}},
		"several at once":        {person + `,"contact":{"phone":7,"name":8,"email":9}`, []string{"invalid_type contact.email", "invalid_type contact.name", "invalid_type contact.phone"}},
	})
}
