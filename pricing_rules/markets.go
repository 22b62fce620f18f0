package pricingrules

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/base/iso3166"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/suggest"
)

// OtherMarket is the code of the market that contains all countries without prices of their own.
const OtherMarket = "other"

// Market is a country with prices of its own, or the group of all other countries. Code is the country's
// ISO 3166-1 alpha-2 code, or OtherMarket for the group.
type Market struct {
	Code     string
	Name     string
	Currency money.Currency
}

const letters = 26

// Markets maps every country to a market. A market's index is its position in the file, and the index of
// OtherMarket is the last. Do not store indexes, because they can change between releases.
type Markets struct {
	list   []Market
	index  [letters * letters]uint16
	byCode map[string]int
}

// Index returns the index of the market that a country belongs to. A country that has no market of its
// own belongs to OtherMarket. So does any code that is not a country, as the specification requires
// (decision 7).
func (m *Markets) Index(country [2]byte) int {
	a, b := country[0]-'A', country[1]-'A'
	if a >= letters || b >= letters {
		return len(m.list) - 1
	}
	return int(m.index[int(a)*letters+int(b)])
}

// ByCode returns the index of the market with the given code, such as "GB" or "other".
func (m *Markets) ByCode(code string) (index int, ok bool) {
	index, ok = m.byCode[code]
	return index, ok
}

// Suggest returns the code of the market that a user probably meant by an unknown code, or "".
func (m *Markets) Suggest(text string) string {
	code := iso3166.Country(strings.ToUpper(strings.TrimSpace(text)))
	if _, ok := m.byCode[code]; ok {
		return code
	}
	names, codes := make([]string, len(m.list)), map[string]string{}
	for i, market := range m.list {
		names[i], codes[market.Name] = market.Name, market.Code
	}
	return codes[suggest.Closest(text, names)]
}

// At returns the market with index i, which must be below Len.
func (m *Markets) At(i int) Market { return m.list[i] }

// Len returns the number of markets, including OtherMarket.
func (m *Markets) Len() int { return len(m.list) }

// noMarket returns the message that a country has no market.
func (m *Markets) noMarket(code string) string {
	if near := m.Suggest(code); near != "" {
		return fmt.Sprintf("%s has no market; use %s", quoted(code), near)
	}
	return fmt.Sprintf("%s has no market; use %q for countries without their own prices", quoted(code), OtherMarket)
}

// ParseMarkets parses the contents of markets.yaml. The error has type Problems. The parameter file
// is the name of the file in error messages.
func ParseMarkets(file string, data []byte) (*Markets, error) {
	r := &reader{file: file}
	m := &Markets{byCode: map[string]int{}}
	if root := r.root(data); root != nil {
		top := r.fields(root, "the list of markets", "markets", "other")
		if e, ok := top["markets"]; ok {
			for _, node := range r.list(e.value, "markets") {
				m.readMarket(r, node)
			}
		}
		if e, ok := top["other"]; ok {
			m.add(r.market(e.value, "the market other", "name", "currency"), OtherMarket)
		} else {
			r.fail(root.Line, "the market for other countries is missing; add its name and currency under the key other")
		}
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	m.fillIndex()
	return m, nil
}

func (m *Markets) readMarket(r *reader, node *yaml.Node) {
	fields := r.market(node, "a market", "country", "name", "currency")
	if fields.country == nil {
		return
	}
	code := r.text(fields.country, "the country of a market")
	if code != "" && !isCountry(code) {
		r.fail(fields.country.Line, "%s is not a country; use its ISO 3166-1 code, which is two upper-case letters",
			quoted(code))
	}
	if _, taken := m.byCode[code]; taken {
		r.fail(fields.country.Line, "country %s occurs twice", quoted(code))
	}
	m.add(fields, code)
}

func (m *Markets) add(fields marketFields, code string) {
	m.byCode[code] = len(m.list)
	m.list = append(m.list, Market{Code: code, Name: fields.name, Currency: fields.currency})
}

func (m *Markets) fillIndex() {
	for i := range m.index {
		m.index[i] = uint16(len(m.list) - 1)
	}
	for i, market := range m.list[:len(m.list)-1] {
		m.index[int(market.Code[0]-'A')*letters+int(market.Code[1]-'A')] = uint16(i)
	}
}

type marketFields struct {
	country  *yaml.Node // nil if the key is missing
	name     string
	currency money.Currency
}

func (r *reader) market(node *yaml.Node, what string, keys ...string) marketFields {
	var m marketFields
	fields := r.fields(node, what, keys...)
	if node.Kind != yaml.MappingNode {
		return m
	}
	for _, key := range keys {
		if _, ok := fields[key]; !ok {
			r.fail(node.Line, "%s has no %s", what, key)
		}
	}
	if e, ok := fields["name"]; ok {
		m.name = r.text(e.value, "the name of a market")
	}
	if e, ok := fields["currency"]; ok {
		m.currency = r.currency(e.value)
	}
	m.country = fields["country"].value
	return m
}

func (r *reader) currency(node *yaml.Node) money.Currency {
	code := r.text(node, "a currency")
	if code == "" {
		return 0
	}
	currency, err := money.ParseCurrency(code)
	if err != nil {
		r.fail(node.Line, "%s is not a currency; use one of %s", quoted(code), currencyCodes())
	}
	return currency
}

func isCountry(code string) bool {
	return len(code) == 2 && code[0] >= 'A' && code[0] <= 'Z' && code[1] >= 'A' && code[1] <= 'Z'
}
