package reconcile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/money"
)

// profile looks at every row of a list, once.
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
				fmt.Sprintf("The list has more than %d rows: cut it by days, and give each part by itself.", MaxRows))
		}
		if r.problem != "" {
			continue
		}
		for i := range looks {
			looks[i].at(r.cells[i])
		}
	}
	if t.rows == 0 {
		return p, invalidFile("file_empty", "The list has no row below the names of its columns: export it again.")
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

// columnStats holds counts and date ranges of the values in a column.
type columnStats struct {
	filled, leads, coded int
	codes                currencies
	numbers              [2]tally // by NumberForms
	dates                [3]tally // by DateForms
	first, last          [3]time.Time
}

// tally is of one form: the texts that it may be, those that it alone may be or is
// otherwise than in another form, and those that it reads without a problem.
type tally struct{ fits, alone, differs, reads int }

func (l *columnStats) at(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	l.filled++
	if isLead(text) {
		l.leads++
		return // and nothing else
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
	differ := read == 2 && days[1] != days[2] // what is read year first is not read otherwise
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

// column is what the column was found to hold.
func (l *columnStats) column(name string) Column {
	c := Column{Name: name, Filled: l.filled, LeadIDs: l.leads}
	if l.filled == 0 {
		return c
	}
	if l.mostly(l.coded) {
		for _, currency := range money.Currencies {
			if l.codes&setOf(currency) != 0 {
				c.Currencies = append(c.Currencies, currency.String())
			}
		}
	}
	numbers := l.forms(l.numbers[:])
	if len(numbers) == 1 && l.numbers[numbers[0]].reads < l.numbers[1-numbers[0]].reads {
		numbers = []int{0, 1} // what speaks for the one may be a slip: the other reads more
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

// mostly reports whether so many of the column's texts are all but a few, one in twenty.
func (l *columnStats) mostly(n int) bool { return n > 0 && (l.filled-n)*20 <= l.filled }

// forms are those in which all the column's texts but a few can be read.
// Two are left only where they read something differently and no text speaks for one of
// them alone.
func (l *columnStats) forms(all []tally) (fit []int) {
	for i, t := range all {
		if l.mostly(t.fits) {
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

// parseCode reads a currency's code.
func parseCode(text string) (money.Currency, bool) {
	if text = strings.TrimSpace(text); len(text) != 3 {
		return 0, false
	}
	c, err := money.ParseCurrency(strings.ToUpper(text))
	return c, err == nil
}
