package leads

import (
	"slices"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

// leadEntries is the maximum number of ledger entries that a lead's page shows. A lead has one
// accrual, at most one return entry, and any number of adjustments.
const leadEntries = 100

// leadMoney fills in the ledger entries and the returns of a lead, and adds its payments to the
// timeline.
func (h *Handlers) leadMoney(k *web.Request, l leads.Details, returns []models.Return, v *view.DetailsView) error {
	sc, _ := k.ScopeOf(web.ReadPayouts)
	entries, _, _, err := h.Payouts.Entries(k.R.Context(), sc, payouts.Filter{Lead: l.ID},
		postgres.Page[int64]{Size: leadEntries})
	if err != nil {
		return err
	}
	m := &view.Money{Sandbox: l.Sandbox}
	for _, e := range entries {
		row := view.Entry{
			At:       e.OccurredAt,
			Kind:     ui.Sentence(string(e.Kind)),
			Note:     k.EntryNote(e),
			Amount:   e.Amount(),
			RunState: string(e.RunState),
		}
		if e.Run != uuid.Nil {
			row.Run = k.RunLink(e)
		}
		m.Entries = append(m.Entries, row)
		if e.Kind == models.EntryAccrual && e.RunState == models.RunPaid {
			if err := h.leadPaid(k, sc, e, v); err != nil {
				return err
			}
		}
	}
	for _, r := range returns {
		m.Returns = append(m.Returns, view.Return{
			Return:     returnLink(id.Format(id.Return, r.ID)),
			State:      string(r.State),
			Reason:     ui.Sentence(payouts.ReturnReasonLabel(r.Reason)),
			ReasonCode: string(r.Reason),
			At:         r.RequestedAt,
		})
	}
	v.Money = m
	return nil
}

// leadPaid adds the payment for a lead to the timeline. A payout run makes one payment to an account.
// There is no payment if the account's net amount is zero.
func (h *Handlers) leadPaid(k *web.Request, sc scope.Scope, earned payouts.Entry, v *view.DetailsView) error {
	f := payouts.Filter{Account: earned.AccountID, Run: earned.Run, Kind: models.EntryPayment}
	payments, _, _, err := h.Payouts.Entries(k.R.Context(), sc, f, postgres.Page[int64]{Size: 1})
	for _, p := range payments {
		v.Timeline = append(v.Timeline, view.Step{
			At:     p.OccurredAt,
			Event:  "paid",
			What:   "Paid",
			Detail: "Bank reference " + p.Note,
			More:   k.RunLink(p),
		})
		slices.SortStableFunc(v.Timeline, func(a, b view.Step) int { return a.At.Compare(b.At) })
	}
	return err
}

func (h *Handlers) leadQuote(k *web.Request, l leads.Details, price money.Amount) (q view.Quote, err error) {
	q = view.Quote{
		Industry:   l.Industry,
		Country:    l.QuotedCountry,
		Postcode:   k.Erasable(l.QuotedPostcode),
		NoPostcode: "none",
		Urgency:    l.Urgency,
		For:        l.QuotedFor,
		Card:       h.cardLink(k, l.CardVersion),
		Price:      price,
	}
	if l.State == models.LeadErased {
		q.NoPostcode = "erased"
		q.Why = "The price calculation cannot be shown, because the postcode was erased."
		return q, nil
	}
	if !k.May(web.ReadPricing) {
		return q, nil
	}
	card, err := h.Prices.Version(k.R.Context(), l.CardVersion)
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		q.Why = "The price calculation cannot be shown, because the rate card version no longer exists."
		return q, nil
	}
	if err != nil {
		return q, err
	}
	sheet, err := h.Prices.ExamineCard(k.R.Context(), card)
	if err != nil {
		return q, err
	}
	e, err := h.explainQuote(k, l, sheet, price)
	if f := apperr.As(err); f != nil && f.Code == apperr.Invalid {
		q.Why = "The price calculation cannot be shown, because the industry is no longer in the taxonomy."
		return q, nil
	}
	if err != nil {
		return q, err
	}
	q.Steps = web.ExplainSteps(e.Explanation, func(int) string { return "" })
	q.Currency, q.Differs = e.Cell.Currency.String(), explainedPrice(e) != price
	return q, nil
}

// explainQuote explains a lead's price with the partner's adjustment at the time of the quote. If more than one
// adjustment may have applied, it uses one that results in the quoted price.
func (h *Handlers) explainQuote(
	k *web.Request, l leads.Details, sheet *ratecard.ExaminedCard, price money.Amount,
) (e ratecard.Explanation, err error) {
	adjustments := []int{0}
	if l.QuotedPartner != nil {
		adjustments, err = h.Partners.AdjustmentsAt(k.R.Context(), k.Scope, *l.QuotedPartner, l.QuotedAt)
		if err != nil {
			return e, err
		}
	}
	lead := ratecard.Lead{Industry: l.Industry, Country: l.QuotedCountry, Urgency: l.Urgency}
	for i, adjustment := range adjustments {
		tried, err := ratecard.Explain(sheet, lead, pricingrules.PartnerPricing{Adjustment: adjustment})
		if err != nil {
			return e, err
		}
		if explainedPrice(tried) == price {
			return tried, nil
		}
		if i == 0 {
			e = tried
		}
	}
	return e, nil
}

func explainedPrice(e ratecard.Explanation) money.Amount {
	return money.Amount{Minor: e.Cell.Minor, Currency: e.Cell.Currency}
}
