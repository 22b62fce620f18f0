package payload

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/plaintext"
)

// base returns the result for a ping with industry plumber and postcode 75001.
func base(change func(*Ping)) Ping {
	p := Ping{Industry: 0, Postcode: "75001", Country: [2]byte{'G', 'B'}}
	if change != nil {
		change(&p)
	}
	return p
}

// TestPingAccepted has one row for each rule in decisions 6 to 9.
func TestPingAccepted(t *testing.T) {
	const industry, postcode = `"industry":"plumber"`, `"postcode":"75001"`
	const both = industry + "," + postcode
	tax := taxonomy(t)
	for name, c := range map[string]struct {
		body string
		want Ping
	}{
		"industry and postcode": {both, base(nil)},
		"vertical":              {`"vertical":"electrician",` + postcode, base(func(p *Ping) { p.Industry = 1 })},
		"term id as a number":   {`"taxonomyTermId":2001,` + postcode, base(func(p *Ping) { p.Industry = 2 })},
		"term id as a string":   {`"taxonomyTermId":"2001",` + postcode, base(func(p *Ping) { p.Industry = 2 })},
		"term id in escapes":    {`"taxonomyTermId":"\u0032001",` + postcode, base(func(p *Ping) { p.Industry = 2 })},
		"null industry":         {`"industry":null,"vertical":"plumber",` + postcode, base(nil)},
		"blank industry":        {`"industry":" ","vertical":"plumber",` + postcode, base(nil)},
		"empty industry":        {`"industry":"","vertical":"plumber",` + postcode, base(nil)},
		"empty and null others": {both + `,"vertical":"","taxonomyTermId":null`, base(nil)},
		"empty term id":         {both + `,"taxonomyTermId":""`, base(nil)},
		"postal_code":           {industry + `,"postal_code":"75001"`, base(nil)},
		"null postcode":         {industry + `,"postcode":null,"postal_code":"75001"`, base(nil)},
		"empty postcode":        {industry + `,"postcode":"","postal_code":"75001"`, base(nil)},
		"empty postal_code":     {both + `,"postal_code":""`, base(nil)},
		"both postcodes, equal": {both + `,"postal_code":"75001"`, base(nil)},
		"equal after trimming": {industry + `,"postcode":" 75001","postal_code":"75\u003001\u00a0"`, base(func(p *Ping) {
			p.Postcode = "75001"
		})},
		"blank postcode": {industry + `,"postcode":"\u200b","postal_code":"75001"`, base(nil)},
		"postcode without invisible characters around it": {
			industry + `,"postcode":"\u202a\u200b75001\u202c","postal_code":"75001\ufeff"`, base(nil),
		},
		"postcode trimmed": {industry + `,"postcode":"\u2003\t 75001 \u0085\n"`, base(nil)},
		"postcode of 1":    {industry + `,"postcode":"é"`, base(func(p *Ping) { p.Postcode = "é" })},
		"postcode of 16": {industry + `,"postcode":"  ` + strings.Repeat("é", 16) + `  "`, base(func(p *Ping) {
			p.Postcode = strings.Repeat("é", 16)
		})},
		"postcode of any form": {industry + `,"postcode":"<—/ 9"`, base(func(p *Ping) { p.Postcode = "<—/ 9" })},
		"country":              {both + `,"country":"FR"`, base(func(p *Ping) { p.Country = [2]byte{'F', 'R'} })},
		"country, lower case":  {both + `,"country":" us\n"`, base(func(p *Ping) { p.Country = [2]byte{'U', 'S'} })},
		"UK": {both + `,"country":"uk"`, base(func(p *Ping) {
			p.Warnings = []Warning{
				{CountryAlias, []string{"country"}, "UK was read as GB, the ISO 3166-1 code of the United Kingdom. Send GB"},
			}
		})},
		"EL": {both + `,"country":"EL"`, base(func(p *Ping) {
			p.Country = [2]byte{'G', 'R'}
			p.Warnings = []Warning{
				{CountryAlias, []string{"country"}, "EL was read as GR, the ISO 3166-1 code of Greece. Send GR"},
			}
		})},
		"country not on the list": {both + `,"country":"Zz"`, base(func(p *Ping) { p.Country = [2]byte{'Z', 'Z'} })},
		"country null":            {both + `,"country":null`, base(nil)},
		"country empty":           {both + `,"country":""`, base(nil)},
		"country blank":           {both + `,"country":" \u00a0\u200b"`, base(nil)},
		"country, invisible": {
			both + `,"country":"\u202afr\u202c"`, base(func(p *Ping) { p.Country = [2]byte{'F', 'R'} }),
		},
		"urgency": {both + `,"urgency":"\t Emergency "`, base(func(p *Ping) { p.Urgency = "Emergency" })},
		"urgency of 64": {both + `,"urgency":` + chars(64), base(func(p *Ping) {
			p.Urgency = strings.Repeat("é", 64)
		})},
		"urgency null":    {both + `,"urgency":null`, base(nil)},
		"urgency empty":   {both + `,"urgency":""`, base(nil)},
		"urgency blank":   {both + `,"urgency":"  "`, base(nil)},
		"urgency unknown": {both + `,"urgency":"whenever"`, base(func(p *Ping) { p.Urgency = "whenever" })},
		"job_type":        {both + `,"job_type":"repair"`, base(func(p *Ping) { p.JobType = "repair" })},
		"jobType":         {both + `,"jobType":"repair"`, base(func(p *Ping) { p.JobType = "repair" })},
		"job_type wins": {both + `,"jobType":"no","job_type":"repair"`, base(func(p *Ping) {
			p.JobType = "repair"
		})},
		"jobType is not looked at": {
			both + `,"jobType":7,"job_type":"repair"`, base(func(p *Ping) { p.JobType = "repair" }),
		},
		"empty job_type is a value": {both + `,"job_type":"","jobType":"repair"`, base(nil)},
		"null job_type is ignored": {both + `,"job_type":null,"jobType":"repair"`, base(func(p *Ping) {
			p.JobType = "repair"
		})},
		"job_type of 256": {both + `,"job_type":` + chars(256), base(func(p *Ping) {
			p.JobType = strings.Repeat("é", 256)
		})},
		"budget": {both + `,"budget":" 500 € "`, base(func(p *Ping) { p.Budget = " 500 € " })},
		"budget of 256": {both + `,"budget":` + chars(256), base(func(p *Ping) {
			p.Budget = strings.Repeat("é", 256)
		})},
		"budget null":      {both + `,"budget":null`, base(nil)},
		"fields of a post": {both + `,"email":7,"contact":"x","transactionId":[]`, base(nil)},
		"all of them, in any order": {
			`"budget":"b","jobType":"j","urgency":"u","country":"ie","postal_code":"p","vertical":"dentist"`,
			Ping{Industry: 2, Postcode: "p", Country: [2]byte{'I', 'E'}, Urgency: "u", JobType: "j", Budget: "b"},
		},
		"control characters in text": {both + `,"urgency":"a\tb","budget":"a\nb"`, base(func(p *Ping) {
			p.Urgency, p.Budget = "a\tb", "a\nb"
		})},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePing([]byte("{"+c.body+"}"), tax)
			if err != nil {
				t.Fatal(err, listed(err))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestPingRejected has one row for each rule, and checks the order of the problems.
func TestPingRejected(t *testing.T) {
	const industry, postcode = `"industry":"plumber"`, `"postcode":"75001"`
	const both = industry + "," + postcode
	tax := taxonomy(t)
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"nothing":     {``, []string{"required industry", "required postcode"}},
		"no industry": {postcode, []string{"required industry"}},
		"industries null and empty": {
			postcode + `,"industry":"","vertical":null,"taxonomyTermId":""`, []string{"required industry"},
		},
		"industry and vertical": {both + `,"vertical":"plumber"`, []string{"conflict vertical"}},
		"industry and term id":  {both + `,"taxonomyTermId":1001`, []string{"conflict taxonomyTermId"}},
		"vertical and term id": {
			`"taxonomyTermId":1001,"vertical":"plumber",` + postcode, []string{"conflict taxonomyTermId"},
		},
		"all three": {`"taxonomyTermId":1001,"vertical":"plumber",` + both, []string{"conflict vertical"}},
		"wrong and one too many": {
			`"industry":5,"vertical":5,` + postcode, []string{"invalid_type industry", "conflict vertical"},
		},

		"industry a number":        {`"industry":1001,` + postcode, []string{"invalid_type industry"}},
		"industry true":            {`"industry":true,` + postcode, []string{"invalid_type industry"}},
		"industry an empty array":  {`"industry":[],` + postcode, []string{"invalid_type industry"}},
		"industry an object":       {`"industry":{},` + postcode, []string{"invalid_type industry"}},
		"industry unknown":         {`"industry":"plumbers",` + postcode, []string{"invalid_value industry"}},
		"industry in another case": {`"industry":"Plumber",` + postcode, []string{"invalid_value industry"}},
		"industry with a blank":    {`"industry":"plumber ",` + postcode, []string{"invalid_value industry"}},
		"industry blank":           {`"industry":" ",` + postcode, []string{"required industry"}},
		"industry with U+0000":     {`"industry":"plumber\u0000",` + postcode, []string{"invalid_value industry"}},
		"industry a term id":       {`"industry":"1001",` + postcode, []string{"invalid_value industry"}},
		"vertical unknown":         {`"vertical":"plumbers",` + postcode, []string{"invalid_value vertical"}},
		"vertical a number":        {`"vertical":1,` + postcode, []string{"invalid_type vertical"}},
		"term id unknown":          {`"taxonomyTermId":1003,` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id 0":                {`"taxonomyTermId":0,` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id negative":         {`"taxonomyTermId":-1001,` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id with a fraction":  {`"taxonomyTermId":1001.0,` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id with an exponent": {`"taxonomyTermId":1001e0,` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id beyond an int": {
			`"taxonomyTermId":100000000000000000001001,` + postcode, []string{"invalid_value taxonomyTermId"},
		},
		"term id wrapping around": {
			`"taxonomyTermId":"18446744073709552617",` + postcode, []string{"invalid_value taxonomyTermId"},
		},
		"term id string, plus":         {`"taxonomyTermId":"+1001",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, minus":        {`"taxonomyTermId":"-1001",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, leading zero": {`"taxonomyTermId":"01001",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, blank":        {`"taxonomyTermId":"1001 ",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, fraction":     {`"taxonomyTermId":"1001.0",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, exponent":     {`"taxonomyTermId":"1e3",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, hex":          {`"taxonomyTermId":"0x3e9",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, other digits": {`"taxonomyTermId":"１００１",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, a slug":       {`"taxonomyTermId":"plumber",` + postcode, []string{"invalid_value taxonomyTermId"}},
		"term id string, U+0000": {
			`"taxonomyTermId":"1001\u0000",` + postcode, []string{"invalid_value taxonomyTermId"},
		},
		"term id false":              {`"taxonomyTermId":false,` + postcode, []string{"invalid_type taxonomyTermId"}},
		"term id an array":           {`"taxonomyTermId":[1001],` + postcode, []string{"invalid_type taxonomyTermId"}},
		"term id an object":          {`"taxonomyTermId":{},` + postcode, []string{"invalid_type taxonomyTermId"}},
		"no postcode":                {industry, []string{"required postcode"}},
		"postcodes null and empty":   {industry + `,"postcode":null,"postal_code":""`, []string{"required postcode"}},
		"postcode a number":          {industry + `,"postcode":75001`, []string{"invalid_type postcode"}},
		"postcode an object":         {industry + `,"postcode":{}`, []string{"invalid_type postcode"}},
		"postcode blank":             {industry + `,"postcode":" \u00a0"`, []string{"required postcode"}},
		"postcode invisible":         {industry + `,"postcode":"\u200b"`, []string{"required postcode"}},
		"postcode of 17":             {industry + `,"postcode":` + chars(17), []string{"too_long postcode"}},
		"postcode with a tab":        {industry + `,"postcode":"75\t001"`, []string{"invalid_value postcode"}},
		"postcode with U+0000":       {industry + `,"postcode":"75001\u0000"`, []string{"invalid_value postcode"}},
		"postcode with a C1 control": {industry + `,"postcode":"75\u0080001"`, []string{"invalid_value postcode"}},
		"postal_code a number":       {industry + `,"postal_code":75001`, []string{"invalid_type postal_code"}},
		"postal_code blank":          {industry + `,"postal_code":" "`, []string{"required postcode"}},
		"postal_code of 17":          {industry + `,"postal_code":` + chars(17), []string{"too_long postal_code"}},
		"postcodes that differ":      {both + `,"postal_code":"75002"`, []string{"conflict postal_code"}},
		"postcodes that differ in case": {
			industry + `,"postcode":"sw1","postal_code":"SW1"`, []string{"conflict postal_code"},
		},
		"postcode and a number": {both + `,"postal_code":75001`, []string{"invalid_type postal_code"}},
		"a number and postal_code": {
			industry + `,"postcode":75001,"postal_code":"75001"`, []string{"invalid_type postcode"},
		},
		"two numbers": {
			industry + `,"postcode":75001,"postal_code":75001`, []string{"invalid_type postcode", "invalid_type postal_code"},
		},
		"two long ones": {
			industry + `,"postcode":` + chars(17) + `,"postal_code":` + chars(17), []string{"too_long postcode"},
		},

		"country a number":         {both + `,"country":1`, []string{"invalid_type country"}},
		"country of one letter":    {both + `,"country":"G"`, []string{"invalid_value country"}},
		"country of three":         {both + `,"country":"GBR"`, []string{"invalid_value country"}},
		"country with a digit":     {both + `,"country":"G8"`, []string{"invalid_value country"}},
		"country with a bracket":   {both + `,"country":"G{"`, []string{"invalid_value country"}},
		"country, dotless i":       {both + `,"country":"ıe"`, []string{"invalid_value country"}},
		"country, one wide char":   {both + `,"country":"é"`, []string{"invalid_value country"}},
		"country, fullwidth":       {both + `,"country":"ＧＢ"`, []string{"invalid_value country"}},
		"country with U+0000":      {both + `,"country":"G\u0000"`, []string{"invalid_value country"}},
		"urgency a number":         {both + `,"urgency":1`, []string{"invalid_type urgency"}},
		"urgency of 65":            {both + `,"urgency":` + chars(65), []string{"too_long urgency"}},
		"urgency of 65, blanks":    {both + `,"urgency":"` + strings.Repeat(" ", 65) + `"`, []string{"too_long urgency"}},
		"urgency with U+0000":      {both + `,"urgency":"\u0000"`, []string{"invalid_value urgency"}},
		"job_type an array":        {both + `,"job_type":[]`, []string{"invalid_type job_type"}},
		"job_type of 257":          {both + `,"job_type":` + chars(257), []string{"too_long job_type"}},
		"job_type with U+0000":     {both + `,"job_type":"\u0000"`, []string{"invalid_value job_type"}},
		"jobType a number":         {both + `,"jobType":1`, []string{"invalid_type jobType"}},
		"jobType of 257":           {both + `,"jobType":` + chars(257), []string{"too_long jobType"}},
		"bad job_type, good other": {both + `,"job_type":1,"jobType":"repair"`, []string{"invalid_type job_type"}},
		"budget a number":          {both + `,"budget":500`, []string{"invalid_type budget"}},
		"budget of 257":            {both + `,"budget":` + chars(257), []string{"too_long budget"}},
		"budget with U+0000":       {both + `,"budget":"5\u00000"`, []string{"invalid_value budget"}},
		"all at once, in the specification's order": {
			`"budget":1,"jobType":2,"urgency":3,"country":4,"postal_code":5,"taxonomyTermId":[]`,
			[]string{"invalid_type taxonomyTermId", "invalid_type postal_code", "invalid_type country",
				"invalid_type urgency", "invalid_type jobType", "invalid_type budget"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePing([]byte("{"+c.body+"}"), tax)
			checkFault(t, err, ErrInvalidPing, c.want...)
			if !reflect.DeepEqual(got, Ping{}) {
				t.Errorf("got %+v from a rejected ping", got)
			}
		})
	}
}

// The order of members, white space and string escapes do not affect the result.
func TestPingIgnoresOrderAndEscapes(t *testing.T) {
	tax := taxonomy(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 16, 64).Filter(func(s string) bool {
			return utf8.ValidString(s) && !strings.ContainsAny(s, "\x00")
		})
		members := []string{"industry", "dentist", "postcode", "AB 1", "country", "ca",
			"urgency", text.Draw(t, "urgency"), "jobType", text.Draw(t, "jobType"), "budget", text.Draw(t, "budget"),
			text.Draw(t, "unknown") + "!", text.Draw(t, "value")}
		order := rapid.Permutation([]int{0, 2, 4, 6, 8, 10, 12}).Draw(t, "order")
		var plain, fancy []string
		for _, i := range order {
			name, value := quoted(members[i]), quoted(members[i+1])
			plain = append(plain, name+":"+value)
			name, value = everyCharacterEscaped(members[i]), everyCharacterEscaped(members[i+1])
			fancy = append(fancy, " "+name+"\t: \n"+value+"\r")
		}
		slices.Reverse(fancy)
		one, err := ParsePing([]byte("{"+strings.Join(plain, ",")+"}"), tax)
		if err != nil {
			t.Fatal(err, listed(err))
		}
		other, err := ParsePing([]byte("\n{"+strings.Join(fancy, ",")+"} "), tax)
		if err != nil || !reflect.DeepEqual(one, other) {
			t.Fatalf("got %+v and %+v (%v)", one, other, err)
		}
		want := Ping{
			Industry: 2, Postcode: "AB 1", Country: [2]byte{'C', 'A'},
			Urgency: plaintext.Trim(members[7]), JobType: members[9], Budget: members[11],
		}
		if !reflect.DeepEqual(one, want) {
			t.Fatalf("got %+v, want %+v", one, want)
		}
	})
}

func TestPingDoesNotAliasTheBody(t *testing.T) {
	body := []byte(`{"vertical":"dentist","postcode":" AB1 ","country":"ca","urgency":"Urgent","job_type":"re\u0070air","budget":"500"}`)
	ping, err := ParsePing(body, taxonomy(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'X'
	}
	if want := (Ping{
		Industry: 2, Postcode: "AB1", Country: [2]byte{'C', 'A'}, Urgency: "Urgent", JobType: "repair", Budget: "500",
	}); !reflect.DeepEqual(ping, want) {
		t.Errorf("after reusing the buffer: got %+v, want %+v", ping, want)
	}
}

// TestParsePingAllocations uses the minimum of many runs, because the race detector
// randomly empties pools, including that of jsontext.
func TestParsePingAllocations(t *testing.T) {
	tax := taxonomy(t)
	body := []byte(typicalPing)
	fewest := 100.0
	for range 200 {
		fewest = min(fewest, testing.AllocsPerRun(1, func() {
			if _, err := ParsePing(body, tax); err != nil {
				t.Error(err)
			}
		}))
	}
	if fewest != 1 {
		t.Errorf("got %v allocations per ping, want 1 for its strings", fewest)
	}
}

const typicalPing = `{"industry":"plumber","postcode":"SW1A 1AA","country":"GB","urgency":"emergency","job_type":"repair","budget":"500-1000"}`

func BenchmarkParsePing(b *testing.B) {
	tax := taxonomy(b)
	for name, body := range map[string]string{
		"typical":  typicalPing,
		"least":    `{"industry":"plumber","postcode":"SW1A 1AA"}`,
		"escaped":  strings.ReplaceAll(typicalPing, "-", `\u002d`),
		"rejected": `{"industry":"plumbers","country":"GBR"}`,
	} {
		b.Run(name, func(b *testing.B) {
			in := []byte(body)
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				_, _ = ParsePing(in, tax)
			}
		})
	}
}

func FuzzParsePing(f *testing.F) {
	tax := taxonomy(f)
	for _, seed := range []string{
		typicalPing, `{}`, `null`, ` { } `, `{"taxonomyTermId":"1001","postal_code":"\u00e9"}`, `{"a":[{"b":{}}],"a":1}`,
		`{"vertical":"dentist","postcode":"1","x":"\ud83d\ude00","y":"\\\"","z":[]}`, `{"budget":"\ud800"}`, "\ufeff{}", `{"x":{"y":[1.5e-3,true,null]}}`,
		strings.Repeat("[", 33) + strings.Repeat("]", 33), strings.Repeat(`{"":`, 32) + "0" + strings.Repeat("}", 32),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := slices.Clone(body)
		ping, err := ParsePing(body, tax)
		if errors.Is(err, ErrJSON) == sound(sent) {
			t.Fatalf("valid JSON for the standard library: %v, ParsePing: %v", sound(sent), err)
		}
		if !slices.Equal(sent, body) {
			t.Fatal("ParsePing modified the body")
		}
		if err != nil {
			if !errors.Is(err, ErrJSON) && len(listed(err)) == 0 {
				t.Fatal("rejected without a reason")
			}
			return
		}
		for i := range body {
			body[i] = '#'
		}
		if again, err := ParsePing(sent, tax); err != nil || !reflect.DeepEqual(again, ping) {
			t.Fatalf("parsing again: %+v became %+v (%v)", ping, again, err)
		}
		var loose map[string]any
		if err := json.Unmarshal(sent, &loose); err != nil {
			t.Fatal("encoding/json rejects the body:", err)
		}
		if n := utf8.RuneCountInString(ping.Postcode); n < 1 || n > maxPostcode ||
			utf8.RuneCountInString(ping.Urgency) > maxUrgency {
			t.Fatalf("got %+v", ping)
		}
	})
}
