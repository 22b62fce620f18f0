package pricingrules

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/iso3166"
	"github.com/pingpost/pingpost/internal/base/money"
)

const (
	// MaxFile is the maximum size of a file that contains rules or base prices, in bytes.
	MaxFile = 5 << 20
	// MaxRules is the maximum number of rules in a rate card.
	MaxRules = 50_000
)

// BaseLine is a line in a CSV file of base prices. It sets the base price of a target in one market. If
// the base column is empty, Minor is 0 and the target inherits its base price.
type BaseLine struct {
	Line   int
	Target Target
	Minor  int64
}

// These are the columns in a CSV file of base prices. ParseBases ignores the last three.
const (
	columnCategory  = "category"
	columnIndustry  = "industry"
	columnCountry   = "country"
	columnUrgency   = "urgency"
	columnBase      = "base"
	columnCurrency  = "currency"
	columnInherited = "inherited"
	columnSource    = "source"
	columnPrice     = "price"
)

var baseColumns = []string{
	columnCategory, columnIndustry, columnCountry, columnUrgency, columnBase, columnCurrency, columnInherited, columnSource, columnPrice,
}

// anyWord in the urgency column means that the line applies to every urgency.
const anyWord = "any"

// ParseBases parses a CSV file of base prices that FormatBases wrote or that a spreadsheet program
// saved. The columns can be in any order, and the separator can be a comma, a semicolon or a tab. If
// the separator is not a comma, amounts can have a decimal comma. If anything in the file is not valid,
// ParseBases returns no lines and an error of type Problems.
func ParseBases(file string, data []byte, tax *Taxonomy, markets *Markets) ([]BaseLine, error) {
	r := &baseReader{file: file, tax: tax, markets: markets, seen: map[Target]int{}}
	r.read(data)
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	return r.lines, nil
}

type baseReader struct {
	file     string
	tax      *Taxonomy
	markets  *Markets
	comma    rune
	column   map[string]int
	width    int
	seen     map[Target]int
	lines    []BaseLine
	problems Problems
}

func (r *baseReader) fail(line int, format string, args ...any) {
	r.problems.add(Problem{File: r.file, Line: line, Rule: -1, Message: fmt.Sprintf(format, args...)})
}

func (r *baseReader) read(data []byte) {
	if len(data) > MaxFile {
		r.fail(0, "the file is larger than %d MB; split it", MaxFile>>20)
		return
	}
	data = bytes.TrimPrefix(data, []byte(csvcell.ByteOrderMark))
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) || !utf8.Valid(data) {
		r.fail(1, "the file is not UTF-8; save it as “CSV UTF-8”")
		return
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	r.comma = ','
	for _, other := range []rune{';', '\t'} {
		if bytes.ContainsRune(first, other) &&
			bytes.Count(first, []byte(string(other))) > bytes.Count(first, []byte(string(r.comma))) {
			r.comma = other
		}
	}
	records := csv.NewReader(bytes.NewReader(data))
	records.Comma, records.FieldsPerRecord, records.ReuseRecord = r.comma, -1, true
	for !r.problems.full() {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			r.fail(bad.StartLine, "the file is not valid CSV: %v", bad.Err)
			return
		}
		line, _ := records.FieldPos(0)
		switch {
		case r.column == nil:
			if !r.header(line, record) {
				return
			}
		case strings.TrimSpace(strings.Join(record, "")) == "":
		default:
			r.line(line, record)
		}
	}
	if r.column == nil {
		r.fail(1, "the file is empty")
	} else if len(r.lines) == 0 && len(r.problems) == 0 {
		r.fail(1, "the file has no rows below the column names")
	}
}

func (r *baseReader) header(line int, record []string) bool {
	r.column, r.width = map[string]int{}, len(record)
	for i, name := range record {
		name = strings.ToLower(strings.TrimSpace(name))
		if _, twice := r.column[name]; twice && name != "" {
			r.fail(line, "column %d: %s occurs twice", i+1, quoted(name))
		} else if name != "" && !slices.Contains(baseColumns, name) {
			r.fail(line, "column %d: %s is not one of %s", i+1, quoted(name), strings.Join(baseColumns, ", "))
		}
		r.column[name] = i
	}
	_, industries := r.column[columnIndustry]
	_, categories := r.column[columnCategory]
	if !industries && !categories {
		r.fail(line, "column industry or category is missing")
	}
	for _, name := range []string{columnCountry, columnBase} {
		if _, ok := r.column[name]; !ok {
			r.fail(line, "column %s is missing", name)
		}
	}
	return len(r.problems) == 0
}

func (r *baseReader) line(line int, record []string) {
	cell := func(name string) string {
		if i, ok := r.column[name]; ok && i < len(record) {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	before := len(r.problems)
	base := BaseLine{
		Line: line,
		Target: Target{
			Industry: cell(columnIndustry),
			Category: cell(columnCategory),
			Country:  iso3166.Country(cell(columnCountry)),
			Urgency:  cell(columnUrgency),
		},
	}
	t := &base.Target
	if t.Urgency == anyWord {
		t.Urgency = ""
	}
	if i, ok := r.tax.BySlug(t.Industry); t.Industry != "" {
		switch {
		case !ok:
			r.fail(line, "column industry: %s", r.tax.unknownIndustry(t.Industry))
		case t.Category != "" && t.Category != r.tax.At(i).Category:
			r.fail(line, "column category: %s is in %s, not in %s", t.Industry, r.tax.At(i).Category, quoted(t.Category))
		}
		t.Category = ""
	} else if _, ok := r.tax.byCategory[t.Category]; t.Category != "" && !ok {
		r.fail(line, "column category: %s", r.tax.unknownCategory(t.Category))
	} else if t.Category == "" {
		r.fail(line, "columns industry and category are both empty; enter one")
	}
	if _, ok := ParseClass(t.Urgency); t.Urgency != "" && !ok {
		r.fail(line, "column urgency: %s is not one of %s, %s", quoted(t.Urgency), anyWord, strings.Join(classNames[:], ", "))
	}
	market, ok := r.markets.ByCode(t.Country)
	if !ok {
		r.fail(line, "column country: %s", r.markets.noMarket(t.Country))
	} else if currency := r.markets.At(market).Currency.String(); cell(columnCurrency) != "" && cell(columnCurrency) != currency {
		r.fail(line, "column currency: %s is priced in %s, not in %s", t.Country, currency, quoted(cell(columnCurrency)))
	}
	if len(record) > r.width {
		r.fail(line,
			"the row has %d cells, but there are %d columns; quote amounts that contain a comma, or separate cells with semicolons",
			len(record), r.width)
	} else if minor, err := r.amount(cell(columnBase)); err != nil {
		r.fail(line, "column base: %v", err)
	} else {
		base.Minor = minor
	}
	if len(r.problems) > before {
		return
	}
	if first, twice := r.seen[*t]; twice {
		r.fail(line, "%s is already on line %d", *t, first)
		return
	}
	r.seen[*t] = line
	r.lines = append(r.lines, base)
}

func (r *baseReader) amount(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if r.comma != ',' {
		text = decimalPoint(text)
	}
	minor, err := money.ParseDecimal(text)
	if err != nil {
		return 0, notAnAmount(text)
	}
	if err := checkAmount(minor); err != nil {
		return 0, fmt.Errorf("the amount %w", err)
	}
	return minor, nil
}

func decimalPoint(text string) string {
	if strings.Count(text, ",") == 1 && !strings.Contains(text, ".") {
		return strings.Replace(text, ",", ".", 1)
	}
	return text
}

// ParseAmount parses an amount in a rule and returns it in minor units. The amount must be above 0 and
// at most MaxAmount, and it must not have more than two decimals. It can have thousands separators.
func ParseAmount(text string) (int64, error) {
	minor, err := money.ParseTyped(text)
	if err != nil {
		return 0, notAnAmount(text)
	}
	return minor, checkAmount(minor)
}

func notAnAmount(text string) error {
	return fmt.Errorf("%s is not an amount; use digits with at most two decimals, such as 45.6", quoted(text))
}

// BaseRow is a row in a CSV file of base prices.
type BaseRow struct {
	Category string
	Target   Target
	Currency money.Currency
	Base     Base
	Source   string // the rule from which the base price is inherited
	Price    string // "" if the target is a category
}

// FormatBases writes rows as a CSV file that ParseBases can parse. A target's own base price is in the
// base column. An inherited base price is in the inherited column.
func FormatBases(to io.Writer, rows []BaseRow) error {
	w, err := csvcell.NewWriter(to, baseColumns, columnBase, columnInherited)
	if err != nil {
		return err
	}
	for _, row := range rows {
		own, inherited := "", ""
		if row.Base.Direct {
			own = decimal(row.Base.Minor)
		} else if row.Base.Rule >= 0 {
			inherited = decimal(row.Base.Minor)
		}
		urgency := row.Target.Urgency
		if urgency == "" {
			urgency = anyWord
		}
		err := w.Write([]string{
			row.Category, row.Target.Industry, row.Target.Country, urgency, own, row.Currency.String(), inherited, row.Source,
			row.Price,
		})
		if err != nil {
			return err
		}
	}
	return w.Flush()
}
