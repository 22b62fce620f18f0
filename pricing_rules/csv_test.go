package pricingrules

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parsed parses a CSV file with the shipped taxonomy and markets.
func parsed(t testing.TB, text string) []BaseLine {
	t.Helper()
	tax, markets, _ := shipped(t)
	lines, err := ParseBases("f.csv", []byte(text), tax, markets)
	if err != nil {
		t.Fatalf("%q: got error\n%v", text, err)
	}
	return lines
}

// Parsing must return the same lines for every format in which a spreadsheet can save the table.
func TestParseBases(t *testing.T) {
	want := []BaseLine{
		{Line: 2, Target: Target{Industry: "plumber", Country: "GB"}, Minor: 4560},
		{Line: 3, Target: Target{Category: "automotive", Country: "FR", Urgency: "urgent"}, Minor: 123400},
		{Line: 4, Target: Target{Industry: "taxi", Country: "other", Urgency: "standard"}},
	}
	plain := "category,industry,country,urgency,base,currency\nhome-services,plumber,GB,any,45.60,GBP\nautomotive,,FR,urgent,1234,EUR\n,taxi,other,standard,,\n"
	points, commas := strings.ReplaceAll(plain, ",", ";"), strings.ReplaceAll(strings.ReplaceAll(plain, ",", ";"), ".", ",")
	for name, text := range map[string]string{
		"plain":                 plain,
		"byte-order mark":       "\ufeff" + plain,
		"semicolons":            points,
		"semicolons and commas": commas,
		"Excel":                 "\ufeff" + strings.ReplaceAll(commas, "\n", "\r\n"),
		"tabs":                  strings.ReplaceAll(commas, ";", "\t"),
		"no last line break":    strings.TrimSuffix(plain, "\n"),
		"quotes": strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(plain, "plumber", `"plumber"`), "45.60", `"45.60"`),
			"industry", `"industry"`),
		"spaces around":          strings.ReplaceAll(plain, ",", " , "),
		"capitals in the header": strings.Replace(plain, "category,industry", "Category,INDUSTRY", 1),
		"columns without a name": strings.Replace(strings.Replace(plain, "currency\n", "currency,,\n", 1), "GBP\n", "GBP,,\n", 1),
		"empty lines at the end": plain + "\n,,,,,\n  \n",
		"UK":                     strings.ReplaceAll(plain, ",GB,", ",UK,"),
		"missing cells":          strings.ReplaceAll(plain, "standard,,\n", "standard\n"),
	} {
		t.Run(name, func(t *testing.T) {
			if got := parsed(t, text); !slices.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// Columns can be in any order, and ParseBases ignores columns that are only for information.
func TestParseBasesFindsColumns(t *testing.T) {
	for text, want := range map[string]BaseLine{
		"base,country,industry\n0.01,GB,plumber\n": {
			Line:   2,
			Target: Target{Industry: "plumber", Country: "GB"},
			Minor:  1,
		},
		"country,category,base\nUS,automotive,1000000\n": {
			Line:   2,
			Target: Target{Category: "automotive", Country: "US"},
			Minor:  MaxAmount,
		},
		"industry,country,base,inherited,source,price\nplumber,GB,,20,every lead,\"no\nidea\"": {
			Line:   2,
			Target: Target{Industry: "plumber", Country: "GB"},
		},
		"\n\nindustry,country,base\n\nplumber,GB,5\n": {
			Line:   5,
			Target: Target{Industry: "plumber", Country: "GB"},
			Minor:  500,
		},
	} {
		if got := parsed(t, text); len(got) != 1 || got[0] != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func baseRejections() []rejection {
	const head = "industry,country,base\n"
	const full = "category,industry,country,urgency,base,currency\n"
	return []rejection{
		{"empty", "", "f.yaml:1"},
		{"only line breaks", "\r\n\r\n", "f.yaml:1"},
		{"only the header", head, "f.yaml:1"},
		{"only empty lines", head + ",,\n\n", "f.yaml:1"},
		{"UTF-16, little-endian", "\xff\xfei\x00n\x00", "f.yaml:1"},
		{"UTF-16, big-endian", "\xfe\xff\x00i\x00n", "f.yaml:1"},
		{"Windows-1252", head + "plumber,GB,\x80 45\n", "f.yaml:1"},
		{"too large", head + strings.Repeat(" ", MaxFile), "f.yaml"},
		{"unknown column", "industry,country,base,prise\n",
			`f.yaml:1 "prise"`},
		{"duplicate column", "industry,country,base,Base\n", `f.yaml:1 "base"`},
		{"no header", "plumber,GB,45\n", `f.yaml:1 "plumber"
f.yaml:1 "gb"
f.yaml:1 "45"
f.yaml:1
f.yaml:1
f.yaml:1`},
		{"missing columns", "industry,urgency\n", "f.yaml:1\nf.yaml:1"},
		{"unclosed quote", head + "\"plumber,GB,5\nroofer,GB,5\nroofer,FR,5\n", "f.yaml:2"},
		{"quote in a cell", head + "plum\"ber,GB,5\n", "f.yaml:2"},
		{"industry", head + "plumbr,GB,5\n", `f.yaml:2 "plumbr"`},
		{"category", full + "trades,,GB,,5,\n", `f.yaml:2 "trades"`},
		{"wrong category", full + "automotive,plumber,GB,,5,\n", `f.yaml:2 "automotive"`},
		{"neither industry nor category", full + ",,GB,,5,\n", "f.yaml:2"},
		{"country", head + "plumber,PL,5\n", `f.yaml:2 "PL" "other"`},
		{"no country", head + "plumber,,5\n", `f.yaml:2 "" "other"`},
		{"urgency", full + ",plumber,GB,soon,5,\n", `f.yaml:2 "soon"`},
		{"wrong currency", full + ",plumber,GB,,5,EUR\n", `f.yaml:2 "EUR"`},
		{"two currencies", full + ",plumber,GB,,5,\"GBP, EUR\"\n", `f.yaml:2 "GBP, EUR"`},
		{"currency in the amount", head + "plumber,GB,£5\n", `f.yaml:2 "£5"`},
		{"negative amount", head + "plumber,GB,-5\n", "f.yaml:2"},
		{"zero", head + "plumber,GB,0.00\n", "f.yaml:2"},
		{"too precise", head + "plumber,GB,45.601\n", `f.yaml:2 "45.601"`},
		{"exponent", head + "plumber,GB,4E1\n", `f.yaml:2 "4E1"`},
		{"too large amount", head + "plumber,GB,1000000.01\n", "f.yaml:2"},
		{"exceeds int64", head + "plumber,GB,99999999999999999999\n", `f.yaml:2 "99999999999999999999"`},
		{"decimal comma", head + "plumber,GB,45,60\n", "f.yaml:2"},
		{"decimal comma in quotes", head + "plumber,GB,\"45,60\"\n", `f.yaml:2 "45,60"`},
		{"thousands separator", "industry;country;base\nplumber;GB;1.234,50\n", `f.yaml:2 "1.234,50"`},
		{"ambiguous separator", "industry;country;base\nplumber;GB;1,234\n", `f.yaml:2 "1.234"`},
		{"duplicate row", full + ",plumber,GB,,5,\n,roofer,GB,,5,\nhome-services,plumber,GB,any,6,\n", "f.yaml:4"},
		{"many problems", full + "x,,PL,soon,-1,\n\n,plumber,GB,,0,USD\n", `f.yaml:2 "x"
f.yaml:2 "soon"
f.yaml:2 "PL" "other"
f.yaml:2
f.yaml:4 "USD"
f.yaml:4`},
	}
}

func TestParseBasesRejects(t *testing.T) {
	tax, markets, _ := shipped(t)
	rejects(t, func(file string, data []byte) error { _, err := ParseBases(file, data, tax, markets); return err },
		baseRejections())
}

// Line numbers must be correct even after rows that span several lines.
func TestParseBasesCountsLines(t *testing.T) {
	tax, markets, _ := shipped(t)
	_, err := ParseBases("f.csv",
		[]byte("industry,country,base,source\r\nplumber,GB,5,\"a\r\nb\r\nc\"\r\n\r\nroofer,GB,x,\r\n"), tax, markets)
	if err == nil || !strings.HasPrefix(err.Error(), "f.csv:6: column base:") {
		t.Errorf("got %v", err)
	}
}

// ParseBases must be able to parse what FormatBases wrote, even after a spreadsheet has saved it with
// semicolons and decimal commas.
func TestBasesRoundTrip(t *testing.T) {
	tax, markets, _ := shipped(t)
	targets := smallTargets(tax, markets)
	targets = slices.DeleteFunc(targets, func(t Target) bool { return t.Industry == "" && t.Category == "" })
	rapid.Check(t, func(t *rapid.T) {
		var rows []BaseRow
		var want []BaseLine
		for _, target := range rapid.SliceOfNDistinct(rapid.SampledFrom(targets), 1, 20, rapid.ID[Target]).Draw(t, "targets") {
			m, _ := markets.ByCode(target.Country)
			row := BaseRow{
				Category: target.Category,
				Target:   target,
				Currency: markets.At(m).Currency,
				Base:     Base{Rule: -1},
				Price:    "45.60 GBP",
			}
			if i, ok := tax.BySlug(target.Industry); ok {
				row.Category = tax.At(i).Category
			}
			line := BaseLine{Line: len(rows) + 2, Target: target}
			switch rapid.IntRange(0, 2).Draw(t, "base") {
			case 0:
				row.Base = Base{Minor: rapid.Int64Range(1, MaxAmount).Draw(t, "minor"), Direct: true}
				line.Minor = row.Base.Minor
			case 1:
				row.Base, row.Source = Base{Minor: 4560}, "category: home-services, country: GB"
			}
			rows, want = append(rows, row), append(want, line)
		}
		var text bytes.Buffer
		if err := FormatBases(&text, rows); err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{text.Bytes(), spreadsheet(t, text.Bytes())} {
			if got, err := ParseBases("f.csv", data, tax, markets); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s\nwas parsed as %+v (%v), want %+v", data, got, err, want)
			}
		}
	})
}

// spreadsheet converts the file to the format in which a spreadsheet saves it if the user's decimal
// separator is a comma.
func spreadsheet(t rapid.TB, data []byte) []byte {
	records, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(records[0], columnBase)
	for _, record := range records[1:] {
		record[at] = strings.ReplaceAll(record[at], ".", ",")
	}
	var text bytes.Buffer
	text.WriteString("\ufeff")
	w := csv.NewWriter(&text)
	w.Comma, w.UseCRLF = ';', true
	if err := w.WriteAll(records); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestFormatBases(t *testing.T) {
	gb := Target{Industry: "plumber", Country: "GB"}
	urgent := Target{Category: "home-services", Country: "GB", Urgency: "urgent"}
	var text bytes.Buffer
	err := FormatBases(&text, []BaseRow{
		{Category: "home-services", Target: urgent, Currency: 1, Base: Base{Minor: 2050, Rule: 3}, Source: "every lead"},
		{Category: "home-services", Target: gb, Currency: 1, Base: Base{Minor: 4560, Direct: true}, Price: "45.60 GBP"},
		{Category: "home-services", Target: Target{Industry: "roofer", Country: "GB"}, Currency: 1, Base: Base{Rule: -1}, Price: "no price"},
	})
	const want = "\ufeff" + `category,industry,country,urgency,base,currency,inherited,source,price
home-services,,GB,urgent,,GBP,20.5,every lead,
home-services,plumber,GB,any,45.6,GBP,,,45.60 GBP
home-services,roofer,GB,any,,GBP,,,no price
`
	if err != nil || text.String() != want {
		t.Errorf("got\n%s(%v), want\n%s", text.String(), err, want)
	}
}

func TestParseAmount(t *testing.T) {
	for text, want := range map[string]int64{"45.6": 4560, "45.60": 4560, "0.01": 1, "1000000": MaxAmount, "007": 700} {
		if got, err := ParseAmount(text); err != nil || got != want {
			t.Errorf("ParseAmount(%s) = %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", " 5", "5 ", "+5", ".5", "5.", "0", "-1", "1000000.01", "1,5", "1_000", "٤", "NaN"} {
		if got, err := ParseAmount(text); err == nil {
			t.Errorf("ParseAmount(%q) = %d, want an error", text, got)
		}
	}
}
