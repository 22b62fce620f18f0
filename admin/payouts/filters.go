package payouts

import (
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// partnerNamed finds the partner that was entered in a filter. If no partner matches, or several do, partnerNamed
// adds a notice to the page and returns a partner with the id uuid.Max, which matches no rows.
func (h *Handlers) partnerNamed(k *web.Request, q url.Values) (models.Partner, error) {
	text := strings.TrimSpace(q.Get("partner"))
	if text == "" {
		return models.Partner{}, nil
	}
	p, problem, err := k.FindPartner(k.Scope, "partner", text)
	if problem != nil {
		k.Notices = append(k.Notices, *problem)
		return models.Partner{ID: uuid.Max}, nil
	}
	return p, err
}

// currencyFilter returns the currency that was entered in a filter, or 0 if there is none. If the value is not valid,
// currencyFilter adds a notice to the page and returns false.
func currencyFilter(k *web.Request, q url.Values) (currency money.Currency, valid bool) {
	code := web.SearchText(q, "currency")
	if code == "" {
		return 0, true
	}
	currency, err := money.ParseCurrency(code)
	if err != nil {
		k.Notices = append(k.Notices, web.Notice{
			Kind: "warn", Code: "currency", Text: "Choose a currency from the list.",
		})
	}
	return currency, err == nil
}

// idFilter returns the id in a filter. For an id that is not valid, it returns uuid.Max, which
// matches no rows.
func idFilter(q url.Values, name string, kind id.Kind) uuid.UUID {
	return parseFilter(q, name, func(text string) (uuid.UUID, error) { return id.Parse(kind, text) })
}

// leadFilter is like idFilter for a lead. The filter can also contain a transactionId.
func leadFilter(q url.Values, name string) uuid.UUID { return parseFilter(q, name, parseLead) }

// parseLead is like quote.ParseLead, but adds the prefix if it is missing.
func parseLead(text string) (uuid.UUID, error) {
	if !strings.Contains(text, "_") {
		text = string(id.Lead) + strings.TrimSpace(text)
	}
	return quote.ParseLead(text)
}

func parseFilter(q url.Values, name string, parse func(string) (uuid.UUID, error)) uuid.UUID {
	text := strings.TrimSpace(q.Get(name))
	if text == "" {
		return uuid.Nil
	}
	object, err := parse(text)
	if err != nil {
		return uuid.Max
	}
	return object
}

// notALead is the message for a text that is not the ID of a lead.
const notALead = "Enter a leadId, which starts with ld_, or a transactionId, which starts with tx_."

func currencyOptions(code string) []ui.Option {
	var all []ui.Option
	for c := money.GBP; c.Valid(); c++ {
		all = append(all, ui.Option{Value: c.String(), Label: c.String()})
	}
	return web.SelectOption(all, code)
}
