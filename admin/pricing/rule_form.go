package pricing

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// amountNames lists those effects of a rule that are amounts. The form has a field for each of these
// effects and each currency, such as base-GBP.
var amountNames = []view.AmountFields{
	{Name: "base", Label: "Base price", Hint: "The price before multipliers, floor and ceiling."},
	{Name: "floor", Label: "Floor", Hint: "The lowest price, before the partner's adjustment."},
	{Name: "ceiling", Label: "Ceiling", Hint: "The highest price, before the partner's adjustment."},
}

// ruleFields returns the names of the form's fields that can be saved. These are all fields except the note.
func ruleFields() []string {
	names := []string{"industry", "category", "country", "urgency", "multiplier", "exclude"}
	for _, amounts := range amountNames {
		for _, c := range money.Currencies {
			names = append(names, amounts.Name+"-"+c.String())
		}
	}
	return names
}

func ruleForm(r pricingrules.Rule) url.Values {
	f := url.Values{
		"industry": {r.Industry},
		"category": {r.Category},
		"country":  {r.Country},
		"urgency":  {r.Urgency},
		"note":     {r.Note},
	}
	for i, amounts := range []pricingrules.Amounts{r.Base, r.Floor, r.Ceiling} {
		for _, c := range money.Currencies {
			if amounts[c] != 0 {
				f.Set(amountNames[i].Name+"-"+c.String(), minorFigure(amounts[c]))
			}
		}
	}
	if r.Multiplier != 0 {
		f.Set("multiplier", pricingrules.FormatMultiplier(r.Multiplier))
	}
	f.Set("exclude", map[pricingrules.Exclusion]string{
		pricingrules.ExcludeTrue:  "yes",
		pricingrules.ExcludeFalse: "no",
	}[r.Exclude])
	return f
}

func (h *Handlers) readRule(k *web.Request, f url.Values) (r pricingrules.Rule, mistakes ui.Errors) {
	wrong := func(field, code, message string) {
		mistakes = append(mistakes, ui.FieldError{Field: field, Code: code, Message: message})
	}
	r = pricingrules.Rule{
		Industry: f.Get("industry"),
		Category: f.Get("category"),
		Country:  f.Get("country"),
		Urgency:  f.Get("urgency"),
		Note:     strings.TrimSpace(f.Get("note")),
	}
	if r.Industry != "" && r.Category != "" {
		wrong("category", "choice", "Choose an industry or a category, not both.")
	}
	for i, into := range []*pricingrules.Amounts{&r.Base, &r.Floor, &r.Ceiling} {
		for _, c := range money.Currencies {
			field := amountNames[i].Name + "-" + c.String()
			text := strings.TrimSpace(f.Get(field))
			if text == "" {
				continue
			}
			minor, amount := parseAmount(text, "this field", c)
			if amount.Message != "" {
				wrong(field, amount.Code, amountNames[i].Label+" in "+c.String()+": "+amount.Message)
			}
			into[c] = minor
		}
	}
	if text := strings.TrimSpace(f.Get("multiplier")); text != "" {
		var err error
		if r.Multiplier, err = pricingrules.ParseMultiplier(text); err != nil {
			wrong("multiplier", "format", err.Error()+".")
		} else if r.Multiplier == 0 || r.Multiplier > pricingrules.MaxMultiplier {
			wrong("multiplier", "range",
				"The multiplier must be above 0 and at most "+pricingrules.FormatMultiplier(pricingrules.MaxMultiplier)+".")
		}
	}
	switch f.Get("exclude") {
	case "yes":
		r.Exclude = pricingrules.ExcludeTrue
	case "no":
		r.Exclude = pricingrules.ExcludeFalse
	}
	if !web.ValidText(r.Note) {
		wrong("note", "format", "The note contains characters that are not allowed. Remove them.")
	}
	return r, mistakes
}

func (h *Handlers) newRulePage(k *web.Request) error {
	d, err := h.editable(k)
	if err != nil {
		return err
	}
	return h.showRule(k, http.StatusOK, d, 0, k.R.URL.Query(), view.RuleFormView{Version: d.RowVersion})
}

func (h *Handlers) rulePage(k *web.Request) error {
	if _, err := h.draft(k); err != nil {
		return err
	}
	position, ok := h.position(k)
	if !ok {
		return web.ErrNotFound
	}
	d, err := h.editable(k)
	if err != nil {
		return err
	}
	sheet, err := h.Prices.ExamineCard(k.R.Context(), d.RateCard)
	if err != nil {
		return err
	}
	at := sheet.RuleIndex(position)
	if at < 0 {
		return web.ErrNotFound
	}
	return h.showRule(k, http.StatusOK, d, position, ruleForm(sheet.Card.Rules[at]),
		view.RuleFormView{Version: d.RowVersion})
}

// showRule shows the form for the rule at a position, or for a new rule if position is 0. The parameter
// f contains the values of the form's fields.
func (h *Handlers) showRule(
	k *web.Request, status int, d ratecard.Draft, position int, f url.Values, v view.RuleFormView,
) error {
	address := web.DraftURL(d.ID)
	v.Shell, v.Action, v.Submit = h.draftShell(k, d, "Add rule", "rules"), address+"/rules/new", "Add rule"
	if position > 0 {
		v.Action = fmt.Sprintf("%s/rules/%d", address, position)
		v.Shell, v.RemoveURL, v.Submit = h.draftShell(k, d, "Edit rule", "rules"), v.Action+"/remove", "Save rule"
	}
	v.Cancel = address + "?tab=rules"
	var industries []string
	for _, industry := range h.Prices.Taxonomy().Industries() {
		industries = append(industries, industry.Slug)
	}
	v.Industries = orAny("Any industry", web.Labels(industries), f.Get("industry"))
	v.Categories = orAny("Any category", h.categoryOptions(k), f.Get("category"))
	v.Countries = orAny("Any country", h.marketOptions(k), f.Get("country"))
	v.Urgencies = orAny("Any urgency", urgencyOptions(), f.Get("urgency"))
	v.Exclusions = web.SelectOption([]ui.Option{
		{Value: "", Label: "Same as broader rules"},
		{Value: "yes", Label: "Excluded"},
		{Value: "no", Label: "Not excluded (overrides broader rules)"},
	}, f.Get("exclude"))
	v.Multiplier, v.Note = web.Short(f.Get("multiplier")), web.Short(f.Get("note"))
	for _, amount := range amountNames {
		for _, c := range money.Currencies {
			amount.Fields = append(amount.Fields, ui.Hidden{
				Name:  c.String(),
				Value: web.Short(f.Get(amount.Name + "-" + c.String())),
			})
		}
		v.Amounts = append(v.Amounts, amount)
	}
	return k.Show(status, view.RuleForm(v))
}

// orAny returns the given options, preceded by an option with an empty value. The parameter any is the
// label of that option.
func orAny(label string, options []ui.Option, value string) []ui.Option {
	return web.SelectOption(append([]ui.Option{{Label: label}}, options...), value)
}

func (h *Handlers) addRule(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	return h.putRule(k, d, 0)
}

func (h *Handlers) changeRule(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	position, ok := h.position(k)
	if !ok {
		return web.ErrNotFound
	}
	return h.putRule(k, d, position)
}

func (h *Handlers) putRule(k *web.Request, d ratecard.Draft, position int) error {
	f := k.R.PostForm
	rule, mistakes := h.readRule(k, f)
	return h.submitRule(k, d, position, mistakes, f, func() error {
		return h.prices(k).PutRule(k.R.Context(), d.ID, k.FormRowVersion(), position, rule)
	})
}

// submitRule handles a submitted form for the rule at a position. If the form is rejected, it is shown
// again with the submitted values.
func (h *Handlers) submitRule(
	k *web.Request, d ratecard.Draft, position int, mistakes ui.Errors, f url.Values, do func() error,
) error {
	return k.Submit(web.Form{
		Errors: mistakes,
		Do:     func() (string, error) { return web.DraftURL(d.ID) + "?tab=rules", do() },
		Reload: h.reloadDraft(k, &d),
		Show: func(r web.Rejected) error {
			if errors.Is(web.OrNotFound(r.Err), web.ErrNotFound) {
				return web.ErrNotFound
			}
			return h.showRule(k, r.Status, d, position, f, view.RuleFormView{
				Version:  r.Version,
				Conflict: r.Conflict,
				Errors:   r.Errors,
			})
		},
	})
}
