package reconciliation

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/reconcile"
	view "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

// mapping is the form that says what a list's columns are.
type mapping struct {
	reconcile.Mapping
	from, to   string
	remembered bool
}

// inColumn stands before a column's name where the currency is in one.
const inColumn = "in:"

// mappingOf is what the form begins with: what was compared last, else what suggests itself.
func (h *Handlers) mappingOf(k *web.Request, r reconcile.Reconciliation) (*mapping, error) {
	if r.Mapping != nil {
		return &mapping{Mapping: *r.Mapping, from: dayText(r.PeriodFrom), to: dayText(r.PeriodTo)}, nil
	}
	s, err := h.Reconcile.Suggest(k.R.Context(), r)
	m := &mapping{Mapping: s.Mapping, remembered: s.Remembered}
	m.propose(s.From, s.To)
	return m, err
}

// readMapping reads the form. How texts are read is taken from it only where the column
// leaves that open.
func readMapping(p reconcile.Profile, f url.Values) *mapping {
	m := &mapping{from: web.Short(f.Get("from")), to: web.Short(f.Get("to"))}
	m.Coverage = reconcile.Coverage(web.Short(f.Get("coverage")))
	m.LeadID, m.Amount, m.Date = web.Short(f.Get("lead_id")), web.Short(f.Get("amount")), web.Short(f.Get("date"))
	if column, ok := strings.CutPrefix(web.Short(f.Get("currency")), inColumn); ok {
		m.Currency = column
	} else {
		m.Fixed, _ = money.ParseCurrency(column) // what is none is refused as one
	}
	m.Numbers = reconcile.ChooseForm(openNumbers(p, m.Amount), reconcile.NumberForm(f.Get("numbers")))
	m.Dates = reconcile.ChooseForm(openDates(p, m.Date), reconcile.DateForm(f.Get("dates")))
	if m.from == "" && m.to == "" {
		m.propose(p.Period(m.Date, m.Dates)) // which the page could not while the form was open
	}
	return m
}

// propose takes the days that the list's dates have, where they have any.
func (m *mapping) propose(from, to time.Time) {
	if !from.IsZero() {
		m.from, m.to = from.Format(time.DateOnly), to.Format(time.DateOnly)
	}
}

func openNumbers(p reconcile.Profile, column string) []reconcile.NumberForm {
	c, _ := p.Column(column)
	return openForms(c.Numbers, reconcile.NumberForms)
}

func openDates(p reconcile.Profile, column string) []reconcile.DateForm {
	c, _ := p.Column(column)
	return openForms(c.Dates, reconcile.DateForms)
}

// openForms are the ways in which a column may be meant: those that its texts have, and
// where they have none, any.
func openForms[F ~string](found, all []F) []F {
	if len(found) == 0 {
		return all
	}
	return found
}

func (h *Handlers) compareList(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	m := readMapping(r.Profile, k.R.PostForm)
	from, _ := time.Parse(time.DateOnly, m.from) // what is no day is refused as none
	to, _ := time.Parse(time.DateOnly, m.to)
	return h.submit(k, r, m, func() (string, error) {
		err := h.reconciliations(k).Compare(k.R.Context(), k.Scope, r.ID, web.FormRowVersion(k), m.Mapping, from, to)
		return reconciliationURL(r.ID), fixedIsCurrency(err)
	})
}

// fixedIsCurrency puts a refusal of the one currency beside the field that asks for both.
func fixedIsCurrency(err error) error {
	f := apperr.As(err)
	if f == nil {
		return err
	}
	fields := slices.Clone(f.Fields)
	for i := range fields {
		if slices.Equal(fields[i].Path, []string{"fixed"}) {
			fields[i].Path = []string{"currency"}
		}
	}
	return f.WithFields(fields...)
}

// mappingForm is the form with its choices.
func mappingForm(p reconcile.Profile, m mapping) *view.MappingForm {
	f := &view.MappingForm{
		Delimiter:  p.Delimiter,
		Encoding:   p.Encoding,
		Remembered: m.remembered,
		From:       m.from,
		To:         m.to,
	}
	var columns []ui.Option
	for _, c := range p.Columns {
		holds := contentsText(c)
		f.Columns = append(f.Columns, view.Column{Name: c.Name, Filled: c.Filled, Holds: holds})
		columns = append(columns, ui.Option{Value: c.Name, Label: c.Name + " (" + holds + ")"})
	}
	choose := []ui.Option{{Label: "Choose a column"}}
	f.LeadIDs = web.SelectOption(append(choose, columns...), m.LeadID)
	f.Amounts = web.SelectOption(append(choose, columns...), m.Amount)
	f.Dates = web.SelectOption(append([]ui.Option{{Label: "No dates"}}, columns...), m.Date)
	f.Currencies = currencyChoices(p, m)
	f.Coverages = web.SelectOption(coverages, string(cmp.Or(m.Coverage, reconcile.FileCoverage)))
	if m.Amount != "" {
		f.Numbers = formChoices(openNumbers(p, m.Amount), m.Numbers,
			func(form reconcile.NumberForm) string { return numberHints[form] })
	}
	if m.Date != "" {
		f.DateForms = formChoices(openDates(p, m.Date), m.Dates,
			func(form reconcile.DateForm) string { return dateHint(p, m.Date, form) })
	}
	return f
}

var coverages = []ui.Option{
	{
		Value: string(reconcile.FileCoverage),
		Label: "Leads covered by the file",
		Hint:  "Leads in the currencies of the file, on accounts that have a lead in the file. Other leads are reported as left out.",
	},
	{
		Value: string(reconcile.FullCoverage),
		Label: "All leads of the period",
		Hint:  "Every lead that is not in the file is reported as missing, whatever its currency or account.",
	},
}

// currencyChoices are the currencies that all amounts may be in, and the columns that
// may say it for each: those that hold currencies first, then any, for a few cells that
// hold none are no reason to read all others by one.
func currencyChoices(p reconcile.Profile, m mapping) []ui.Option {
	all := []ui.Option{{Label: "Choose the currency, or its column"}}
	var others []ui.Option
	for _, c := range p.Columns {
		choice := ui.Option{Value: inColumn + c.Name, Label: "in " + c.Name + " (" + contentsText(c) + ")"}
		if len(c.Currencies) > 0 {
			all = append(all, choice)
		} else {
			others = append(others, choice)
		}
	}
	for _, c := range money.Currencies {
		all = append(all, ui.Option{Value: c.String(), Label: c.String() + " in every row"})
	}
	all = append(all, others...)
	switch {
	case m.Currency != "":
		return web.SelectOption(all, inColumn+m.Currency)
	case m.Fixed.Valid():
		return web.SelectOption(all, m.Fixed.String())
	}
	return web.SelectOption(all, "")
}

var numberHints = map[reconcile.NumberForm]string{
	reconcile.DotDecimal:   "A point parts pounds and pence: 1,234 is one thousand two hundred and thirty-four, 1.23 is one pound 23.",
	reconcile.CommaDecimal: "A comma parts euros and cents: 1.234 is one thousand two hundred and thirty-four, 1,23 is one euro 23.",
}

var dateHints = map[reconcile.DateForm]string{
	reconcile.YearFirst:  "The year comes first.",
	reconcile.DayFirst:   "The day comes first: 02/03/2026 is the second of March.",
	reconcile.MonthFirst: "The month comes first: 02/03/2026 is the third of February.",
}

// dateHint says what a form means, and of which days the list is then.
func dateHint(p reconcile.Profile, column string, form reconcile.DateForm) string {
	from, to := p.Period(column, form)
	if from.IsZero() {
		return dateHints[form]
	}
	return dateHints[form] + " The list is then of " + from.Format(time.DateOnly) + " to " + to.Format(time.DateOnly) + "."
}

// formChoices ask how texts are written, where the column leaves it open.
func formChoices[F ~string](possible []F, value F, hint func(F) string) (all []ui.Option) {
	if len(possible) < 2 {
		return nil
	}
	for _, form := range possible {
		all = append(all, ui.Option{Value: string(form), Label: string(form), Hint: hint(form)})
	}
	return web.SelectOption(all, string(value))
}

// contentsText describes the contents of a column.
func contentsText(c reconcile.Column) string {
	switch {
	case c.Filled == 0:
		return "nothing"
	case c.LeadIDs > 0:
		return web.CountText(int64(c.LeadIDs), false, "leadId", "leadIds")
	case len(c.Currencies) > 0:
		return "currencies: " + strings.Join(c.Currencies, ", ")
	case len(c.Days) == 1:
		return fmt.Sprintf("days, %s to %s", c.Days[0].First, c.Days[0].Last)
	case len(c.Dates) > 0:
		return "dates"
	case len(c.Numbers) > 0:
		return "amounts"
	}
	return "texts"
}
