package payload

import (
	"strings"
	"testing"
)

func TestLocationAccepted(t *testing.T) {
	at := func(l Location) Post { return leastPost(func(p *Post) { p.Location = l }) }
	checkAccepted(t, map[string]acceptedPost{
		"postcode first": {least +
			`,"location":{"postal_code":1,"postcode":" A 1 "},"postcode":2,"postal_code":3`, at(Location{Postcode: "A 1"})},
		"location.postal_code second": {least +
			`,"location":{"postal_code":"A2","postcode":null},"postcode":2,"postal_code":3`, at(Location{Postcode: "A2"})},
		"postcode third":        {least + `,"location":{},"postcode":"A3","postal_code":3`, at(Location{Postcode: "A3"})},
		"postal_code fourth":    {least + `,"postcode":null,"postal_code":"A4"`, at(Location{Postcode: "A4"})},
		"two that differ":       {least + `,"postcode":"A3","postal_code":"A4"`, at(Location{Postcode: "A3"})},
		"postcode of 16":        {least + `,"postcode":"\u2003` + strings.Repeat("é", 16) + ` "`, at(Location{Postcode: strings.Repeat("é", 16)})},
		"address first":         {least + `,"location":{"street_address":1,"address":"1 High St"},"address":2`, at(Location{Address: "1 High St"})},
		"street_address second": {least + `,"location":{"street_address":"2 High St"},"address":2`, at(Location{Address: "2 High St"})},
		"address third":         {least + `,"address":" 3 High St\n"`, at(Location{Address: " 3 High St\n"})},
		"postcode fifth, as the others are empty": {least +
			`,"location":{"postcode":"","postal_code":" "},"postcode":"\u200b","postal_code":"A5"`, at(Location{Postcode: "A5"})},
		"postcodes empty":  {least + `,"location":{"postcode":""},"postal_code":"\u00a0"`, at(Location{})},
		"postcode trimmed": {least + `,"postcode":"\u200b\u202aA 1\u202c\ufeff"`, at(Location{Postcode: "A 1"})},
		"location empty":   {least + `,"location":"","postcode":"A3"`, at(Location{Postcode: "A3"})},
		"location blank":   {least + `,"location":" \u2060"`, at(Location{})},
		"address empty":    {least + `,"location":{"address":"","street_address":" "},"address":"3 High St"`, at(Location{Address: "3 High St"})},
		"address of 500":   {least + `,"address":` + chars(500), at(Location{Address: strings.Repeat("é", 500)})},
		"country first":    {least + `,"location":{"country":" fr "},"country":7`, at(Location{Country: "FR"})},
		"country second":   {least + `,"country":"de"`, at(Location{Country: "DE"})},
		"country null":     {least + `,"location":{"country":null},"country":"de"`, at(Location{Country: "DE"})},
		"country empty":    {least + `,"location":{"country":""},"country":"de"`, at(Location{Country: "DE"})},
		"UK": {least + `,"location":{"country":"uk"}`, func() Post {
			p := at(Location{Country: "GB"})
			p.Warnings = []Warning{{CountryAlias, []string{"location", "country"}, "UK was read as GB, the ISO 3166-1 code of the United Kingdom. Send GB"}}
			return p
		}()},
		"country blank":   {least + `,"location":{"country":" \u200b"},"country":"de"`, at(Location{Country: "DE"})},
		"countries empty": {least + `,"location":{"country":""},"country":""`, at(Location{})},
	})
}

func TestLocationRejected(t *testing.T) {
	checkRejected(t, map[string]rejectedPost{
		"location.postcode a number":    {least + `,"location":{"postcode":1}`, []string{"invalid_type location.postcode"}},
		"location.postal_code a number": {least + `,"location":{"postal_code":1}`, []string{"invalid_type location.postal_code"}},
		"postal_code of 17":             {least + `,"postal_code":` + chars(17), []string{"too_long postal_code"}},
		"postcode with a line end":      {least + `,"postcode":"A\n1"`, []string{"invalid_value postcode"}},
		"postcode with U+0000":          {least + `,"postcode":"\u0000"`, []string{"invalid_value postcode"}},
		"address a number":              {least + `,"location":{"address":1}`, []string{"invalid_type location.address"}},
		"street_address a number":       {least + `,"location":{"street_address":1}`, []string{"invalid_type location.street_address"}},
		"address of 501":                {least + `,"address":` + chars(501), []string{"too_long address"}},
		"address with U+0000":           {least + `,"address":"\u0000"`, []string{"invalid_value address"}},
		"location.country a number":     {least + `,"location":{"country":1}`, []string{"invalid_type location.country"}},
		"country of three":              {least + `,"country":"GBR"`, []string{"invalid_value country"}},
		"location a text":               {least + `,"location":"Paris"`, []string{"invalid_type location"}},
		"several at once":               {least + `,"location":{"country":1,"address":2,"postcode":3}`, []string{"invalid_type location.postcode", "invalid_type location.address", "invalid_type location.country"}},
	})
}
