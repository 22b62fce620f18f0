package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates"
)

// amountNames are a rule's amounts, by the names that their fields begin with.
var amountNames = []templates.AmountFields{
	{Name: "base", Label: "Base", Hint: "What the price starts from, in each currency."},
	{Name: "floor", Label: "Floor", Hint: "The price is never below it."},
	{Name: "ceiling", Label: "Ceiling", Hint: "The price is never above it."},
}

// ruleForm is a rule as the fields of its form.
func ruleForm(r pricingrules.Rule) url.Values {
	f := url.Values{"industry": {r.Industry}, "category": {r.Category}, "country": {r.Country}, "urgency": {r.Urgency}, "note": {r.Note}}
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
	f.Set("exclude", map[pricingrules.Exclusion]string{pricingrules.ExcludeTrue: "yes", pricingrules.ExcludeFalse: "no"}[r.Exclude])
	return f
}

// readRule is the rule that a form's fields say, and what is wrong with them.
func (k *call) readRule(f url.Values) (r pricingrules.Rule, mistakes templates.Errors) {
	wrong := func(field, message string) {
		mistakes = append(mistakes, templates.FieldError{Field: field, Message: message})
	}
	r = pricingrules.Rule{Industry: f.Get("industry"), Category: f.Get("category"), Country: f.Get("country"), Urgency: f.Get("urgency"), Note: strings.TrimSpace(f.Get("note"))}
	if r.Industry != "" && r.Category != "" {
		wrong("category", "Choose an industry or a category, not both.")
	}
	for i, into := range []*pricingrules.Amounts{&r.Base, &r.Floor, &r.Ceiling} {
		for _, c := range money.Currencies {
			field := amountNames[i].Name + "-" + c.String()
			text := strings.TrimSpace(f.Get(field))
			if text == "" {
				continue
			}
			minor, mend := parseAmount(text, c)
			if mend != "" {
				wrong(field, amountNames[i].Label+" in "+c.String()+": "+mend)
			}
			into[c] = minor
		}
	}
	if text := strings.TrimSpace(f.Get("multiplier")); text != "" {
		var err error
		if r.Multiplier, err = pricingrules.ParseMultiplier(text); err != nil {
			wrong("multiplier", err.Error()+".")
		} else if r.Multiplier == 0 || r.Multiplier > pricingrules.MaxMultiplier {
			wrong("multiplier", "A multiplier is above 0 and at most "+pricingrules.FormatMultiplier(pricingrules.MaxMultiplier)+".")
		}
	}
	switch f.Get("exclude") {
	case "yes":
		r.Exclude = pricingrules.ExcludeTrue
	case "no":
		r.Exclude = pricingrules.ExcludeFalse
	}
	if !validText(r.Note) {
		wrong("note", "A note is text.")
	}
	return r, mistakes
}

func (k *call) ruleNewPage() error {
	d, err := k.editable()
	if err != nil {
		return err
	}
	return k.showRule(http.StatusOK, d, 0, k.r.URL.Query(), templates.RuleFormView{})
}

func (k *call) rulePage() error {
	d, err := k.draft()
	if err != nil {
		return err
	}
	position, ok := k.position()
	if !ok {
		return errNoPage
	}
	if d, err = k.editable(); err != nil {
		return err
	}
	sheet, err := k.Prices.Sheet(k.r.Context(), d.RateCard)
	if err != nil {
		return err
	}
	at := sheet.Rule(position)
	if at < 0 {
		return errNoPage
	}
	return k.showRule(http.StatusOK, d, position, ruleForm(sheet.Card.Rules[at]), templates.RuleFormView{})
}

// showRule is the form of the rule at a position, 0 for a new one, with f in its fields.
func (k *call) showRule(status int, d ratecard.Draft, position int, f url.Values, v templates.RuleFormView) error {
	address := draftURL(d.ID)
	v.Shell, v.Action, v.Submit = k.under(d, "New rule", "rules"), address+"/rules/new", "Add the rule"
	if position > 0 {
		v.Action = fmt.Sprintf("%s/rules/%d", address, position)
		v.Shell, v.RemoveURL, v.Submit = k.under(d, "Change a rule", "rules"), v.Action+"/remove", "Change the rule"
	}
	v.Cancel, v.Version = address+"?tab=rules", int64(d.RowVersion)
	var industries []string
	for _, one := range k.Prices.Taxonomy().Industries() {
		industries = append(industries, one.Slug)
	}
	v.Industries = orAny("Any industry", same(industries), f.Get("industry"))
	v.Categories = orAny("Any category", k.categoryOptions(), f.Get("category"))
	v.Countries = orAny("Any country", k.marketOptions(), f.Get("country"))
	v.Urgences = orAny("Any urgency", urgencyOptions(), f.Get("urgency"))
	v.Exclusions = chosen([]templates.Option{{Value: "", Label: "As broader rules say"}, {Value: "yes", Label: "Not bought"}, {Value: "no", Label: "Bought, whatever a broader rule excludes"}}, f.Get("exclude"))
	v.Multiplier, v.Note = short(f.Get("multiplier")), short(f.Get("note"))
	for _, one := range amountNames {
		for _, c := range money.Currencies {
			one.Fields = append(one.Fields, templates.Hidden{Name: c.String(), Value: short(f.Get(one.Name + "-" + c.String()))})
		}
		v.Amounts = append(v.Amounts, one)
	}
	return k.show(status, templates.RuleForm(v))
}

// orAny puts the choice of any before options.
func orAny(any string, options []templates.Option, value string) []templates.Option {
	return chosen(append([]templates.Option{{Label: any}}, options...), value)
}

func (k *call) ruleNew() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	return k.putRule(d, 0)
}

func (k *call) changeRule() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	position, ok := k.position()
	if !ok {
		return errNoPage
	}
	return k.putRule(d, position)
}

func (k *call) putRule(d ratecard.Draft, position int) error {
	f := k.r.PostForm
	rule, mistakes := k.readRule(f)
	if len(mistakes) > 0 {
		return k.showRule(http.StatusUnprocessableEntity, d, position, f, templates.RuleFormView{Errors: mistakes})
	}
	if err := k.prices().PutRule(k.r.Context(), d.ID, k.version(), position, rule); err != nil {
		return k.refusedRule(d, position, f, err)
	}
	return k.to(draftURL(d.ID) + "?tab=rules")
}

// refusedRule shows the form again with why a rule was refused.
func (k *call) refusedRule(d ratecard.Draft, position int, f url.Values, err error) error {
	status, mistakes, other := k.mistakes(orNoPage(err))
	if other != nil {
		return other
	}
	if status == http.StatusNotFound {
		return errNoPage
	}
	v := templates.RuleFormView{Errors: mistakes}
	if d, v.Conflict, err = k.metConflict(d, err); err != nil {
		return err
	}
	if v.Conflict != nil {
		v.Errors = nil
	}
	return k.showRule(status, d, position, f, v)
}

func (k *call) removeRule() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	position, ok := k.position()
	if !ok {
		return errNoPage
	}
	if err = k.prices().DropRule(k.r.Context(), d.ID, k.version(), position); err == nil {
		return k.to(draftURL(d.ID) + "?tab=rules")
	}
	sheet, other := k.Prices.Sheet(k.r.Context(), d.RateCard)
	if other != nil {
		return other
	}
	at := sheet.Rule(position)
	if at < 0 {
		return errNoPage
	}
	return k.refusedRule(d, position, ruleForm(sheet.Card.Rules[at]), err)
}
