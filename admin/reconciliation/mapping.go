package reconciliation

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/reconcile"
	view "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

// mapping contains the values of the column mapping form.
type mapping struct {
	reconcile.Mapping
	from, to   string
	remembered bool
}

// inColumn is a prefix for values of the currency field. A value with this prefix names a column. Any
// other value is a currency code.
const inColumn = "in:"

// mappingOf returns the initial values of the form. They come from the last comparison or, if there
// was none, from a suggestion.
func (h *Handlers) mappingOf(k *web.Request, r reconcile.Reconciliation) (*mapping, error) {
	if r.Mapping != nil {
		return &mapping{Mapping: *r.Mapping, from: dayText(r.PeriodFrom), to: dayText(r.PeriodTo)}, nil
	}
	s, err := h.Reconcile.Suggest(k.R.Context(), r)
	m := &mapping{Mapping: s.Mapping, remembered: s.Remembered}
	m.propose(s.From, s.To)
	return m, err
}

// readMapping reads the form. It ignores a submitted format if the column can be read in only one
// format.
func readMapping(p reconcile.Profile, f url.Values) *mapping {
	m := &mapping{from: web.Short(f.Get("from")), to: web.Short(f.Get("to"))}
	m.Coverage = reconcile.Coverage(web.Short(f.Get("coverage")))
	m.LeadID, m.Amount, m.Date = web.Short(f.Get("lead_id")), web.Short(f.Get("amount")), web.Short(f.Get("date"))
	if column, ok := strings.CutPrefix(web.Short(f.Get("currency")), inColumn); ok {
		m.Currency = column
	} else {
		m.Fixed, _ = money.ParseCurrency(column) // Compare rejects an invalid currency
	}
	m.Numbers = reconcile.ChooseForm(openNumbers(p, m.Amount), reconcile.NumberForm(f.Get("numbers")))
	m.Dates = reconcile.ChooseForm(openDates(p, m.Date), reconcile.DateForm(f.Get("dates")))
	if m.from == "" && m.to == "" {
		m.propose(p.Period(m.Date, m.Dates)) // the page could not suggest a period before the format was chosen
	}
	return m
}

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

func openForms[F ~string](found, all []F) []F {
	if len(found) == 0 {
		return all
	}
	return found
}

func (h *Handlers) compareFile(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	m := readMapping(r.Profile, k.R.PostForm)
	from, _ := time.Parse(time.DateOnly, m.from) // Compare rejects a zero day
	to, _ := time.Parse(time.DateOnly, m.to)
	return h.submit(k, r, m, func() (string, error) {
		err := h.reconciliations(k).Compare(k.R.Context(), k.Scope, r.ID, k.FormRowVersion(), m.Mapping, from, to)
		return reconciliationURL(r.ID), mergeCurrencyFields(err)
	})
}

// mergeCurrencyFields moves errors from the field "fixed" to the field "currency". The form has one
// input for both.
func mergeCurrencyFields(err error) error {
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
		columns = append(columns, ui.Option{Value: c.Name, Label: c.Name + " (" + optionText(c) + ")"})
	}
	choose := []ui.Option{{Label: "Choose a column"}}
	f.LeadIDs = web.SelectOption(append(choose, columns...), m.LeadID)
	f.Amounts = web.SelectOption(append(choose, columns...), m.Amount)
	f.Dates = web.SelectOption(append([]ui.Option{{Label: "No date column"}}, columns...), m.Date)
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
		Hint:  "Compares only leads in currencies and accounts that occur in the file. Other leads are reported as left out.",
	},
	{
		Value: string(reconcile.FullCoverage),
		Label: "All leads in the period",
		Hint:  "Compares leads in all currencies and accounts. Each lead that is not in the file is reported as missing.",
	},
}

// currencyChoices returns the options for the currency. The first options are the columns that contain
// currencies. The next options are the individual currencies, which apply to every row. All other
// columns come last.
func currencyChoices(p reconcile.Profile, m mapping) []ui.Option {
	all := []ui.Option{{Label: "Choose a currency or a column"}}
	var others []ui.Option
	for _, c := range p.Columns {
		choice := ui.Option{Value: inColumn + c.Name, Label: "From column “" + c.Name + "” (" + optionText(c) + ")"}
		if len(c.Currencies) > 0 {
			all = append(all, choice)
		} else {
			others = append(others, choice)
		}
	}
	for _, c := range money.Currencies {
		all = append(all, ui.Option{Value: c.String(), Label: c.String() + " for every row"})
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
	reconcile.DotDecimal:   "The decimal separator is a point. 1,234 means one thousand two hundred and thirty-four.",
	reconcile.CommaDecimal: "The decimal separator is a comma. 1.234 means one thousand two hundred and thirty-four.",
}

var dateHints = map[reconcile.DateForm]string{
	reconcile.YearFirst:  "The year comes first.",
	reconcile.DayFirst:   "The day comes first. 02/03/2026 is 2 March.",
	reconcile.MonthFirst: "The month comes first. 02/03/2026 is 3 February.",
}

// dateHint explains a date format. It states the period that the file covers if the column is read
// in this format.
func dateHint(p reconcile.Profile, column string, form reconcile.DateForm) string {
	from, to := p.Period(column, form)
	if from.IsZero() {
		return dateHints[form]
	}
	return dateHints[form] + " The file then covers " + from.Format(time.DateOnly) + " to " + to.Format(time.DateOnly) +
		"."
}

func formChoices[F ~string](possible []F, value F, hint func(F) string) (all []ui.Option) {
	if len(possible) < 2 {
		return nil
	}
	for _, form := range possible {
		all = append(all, ui.Option{Value: string(form), Label: string(form), Hint: hint(form)})
	}
	return web.SelectOption(all, string(value))
}

func optionText(c reconcile.Column) string {
	if c.Filled == 0 {
		return contentsText(c)
	}
	return "contains " + contentsText(c)
}

func contentsText(c reconcile.Column) string {
	switch {
	case c.Filled == 0:
		return "empty"
	case c.LeadIDs > 0:
		return ui.Plural(c.LeadIDs, "leadId", "leadIds")
	case len(c.Currencies) > 0:
		return strings.Join(c.Currencies, ", ")
	case len(c.Days) == 1:
		return fmt.Sprintf("dates from %s to %s", c.Days[0].First, c.Days[0].Last)
	case len(c.Dates) > 0:
		return "dates"
	case len(c.Numbers) > 0:
		return "amounts"
	}
	return "text"
}
