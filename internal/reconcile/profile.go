package reconcile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
)

func profile(list io.Reader) (p Profile, err error) {
	t, err := openTable(list)
	if err != nil {
		return p, err
	}
	looks := make([]columnStats, len(t.names))
	for {
		r, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p, err
		}
		if t.rows > MaxRows {
			return p, invalidFile("file_rows",
				fmt.Sprintf("The file has more than %d rows. Split it by date and upload each part.", MaxRows))
		}
		if r.problem != "" {
			continue
		}
		for i := range looks {
			looks[i].at(r.cells[i])
		}
	}
	if t.rows == 0 {
		return p, invalidFile("file_empty", "The file has column names but no rows. Export it again.")
	}
	p = Profile{
		Delimiter: string(t.delimiter),
		Encoding:  t.encoding(),
		Rows:      t.rows,
		Columns:   make([]Column, len(t.names)),
	}
	for i, name := range t.names {
		p.Columns[i] = looks[i].column(name)
	}
	return p, nil
}

type columnStats struct {
	filled, leads, coded int
	codes                currencies
	numbers              [2]tally // in the order of NumberForms
	dates                [3]tally // in the order of DateForms
	first, last          [3]time.Time
}

// tally counts the values of a column that match one format.
type tally struct {
	fits    int // values that match the format
	alone   int // values that match no other format
	differs int // values with a different meaning in another format
	reads   int // values that can be read as amounts without a problem
}

func (l *columnStats) at(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	l.filled++
	if isLead(text) {
		l.leads++
		return // a leadId is neither a currency, a number nor a date
	}
	if c, ok := parseCode(text); ok {
		l.coded++
		l.codes |= setOf(c)
		return
	}
	if !strings.ContainsAny(text, "0123456789") {
		return
	}
	l.atNumber(text)
	l.atDate(text)
}

func (l *columnStats) atNumber(text string) {
	var read [2]amount
	var problems [2]string
	var fits [2]bool
	for i, form := range NumberForms {
		read[i], problems[i] = parseAmount(text, form)
		fits[i] = problems[i] == "" || problems[i] == problemDecimals
	}
	differ := read[0] != read[1] || problems[0] != problems[1]
	for i := range NumberForms {
		l.numbers[i].count(fits[i], fits[i] && !fits[1-i], fits[i] && differ)
		if problems[i] == "" {
			l.numbers[i].reads++
		}
	}
}

func (l *columnStats) atDate(text string) {
	if len(text) < len("1/1/2026") || !isDigit(text[0]) {
		return
	}
	var days [3]time.Time
	var fits [3]bool
	read := 0
	for i, form := range DateForms {
		if days[i], fits[i] = parseDay(text, form); fits[i] {
			read++
		}
	}
	differ := read == 2 && days[1] != days[2] // a date that matches YearFirst matches no other format
	for i := range DateForms {
		l.dates[i].count(fits[i], fits[i] && read == 1, fits[i] && differ)
		if !fits[i] {
			continue
		}
		if l.first[i].IsZero() || days[i].Before(l.first[i]) {
			l.first[i] = days[i]
		}
		if days[i].After(l.last[i]) {
			l.last[i] = days[i]
		}
	}
}

func (t *tally) count(fits, alone, differs bool) {
	if fits {
		t.fits++
	}
	if alone {
		t.alone++
	}
	if differs {
		t.differs++
	}
}

func (l *columnStats) column(name string) Column {
	c := Column{Name: name, Filled: l.filled, LeadIDs: l.leads}
	if l.filled == 0 {
		return c
	}
	if l.isMost(l.coded) {
		for _, currency := range money.Currencies {
			if l.codes&setOf(currency) != 0 {
				c.Currencies = append(c.Currencies, currency.String())
			}
		}
	}
	numbers := l.forms(l.numbers[:])
	if len(numbers) == 1 && l.numbers[numbers[0]].reads < l.numbers[1-numbers[0]].reads {
		// More values can be read in the other format, so a value that matches only this format may be a
		// typo. Let the user choose.
		numbers = []int{0, 1}
	}
	for _, i := range numbers {
		c.Numbers = append(c.Numbers, NumberForms[i])
	}
	for _, i := range l.forms(l.dates[:]) {
		c.Dates = append(c.Dates, DateForms[i])
		c.Days = append(c.Days, Days{First: l.first[i].Format(time.DateOnly), Last: l.last[i].Format(time.DateOnly)})
	}
	return c
}

// isMost reports whether n is at least 95% of the number of values that are not empty.
func (l *columnStats) isMost(n int) bool { return n > 0 && (l.filled-n)*20 <= l.filled }

// forms returns the indexes of the formats that match at least 95% of the values in the column. If
// several formats match, forms returns only one of them in two cases: some values rule out the others,
// or every value means the same in all of them.
func (l *columnStats) forms(all []tally) (fit []int) {
	for i, t := range all {
		if l.isMost(t.fits) {
			fit = append(fit, i)
		}
	}
	if len(fit) < 2 {
		return fit
	}
	proved := slices.DeleteFunc(slices.Clone(fit), func(i int) bool { return all[i].alone == 0 })
	if len(proved) == 1 {
		return proved
	}
	if slices.IndexFunc(fit, func(i int) bool { return all[i].differs > 0 }) < 0 {
		return fit[:1]
	}
	return fit
}

func parseCode(text string) (money.Currency, bool) {
	if text = strings.TrimSpace(text); len(text) != 3 {
		return 0, false
	}
	c, err := money.ParseCurrency(strings.ToUpper(text))
	return c, err == nil
}
