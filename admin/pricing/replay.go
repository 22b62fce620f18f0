package pricing

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

var replayDays = []ui.Option{
	{Value: "7", Label: "7 days"},
	{Value: "30", Label: "30 days"},
	{Value: "90", Label: "90 days"},
}

func (h *Handlers) replayTab(k *web.Request, d ratecard.Draft) error {
	return h.showReplay(k, http.StatusOK, d, "30", nil)
}

func (h *Handlers) showReplay(k *web.Request, status int, d ratecard.Draft, days string, mistakes ui.Errors) error {
	head, err := h.draftHead(k, d, "replay")
	if err != nil {
		return err
	}
	v := view.ReplayView{
		Head:     head,
		Days:     web.SelectOption(replayDays, days),
		CanStart: k.May(web.WritePricing),
		Errors:   mistakes,
	}
	if v.Live, err = h.replayPart(k, d); err != nil {
		return err
	}
	return k.Show(status, view.Replay(v))
}

func (h *Handlers) startReplay(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	text := k.R.PostForm.Get("days")
	days, _ := strconv.Atoi(text) // RequestReplay rejects 0
	return k.Submit(web.Form{
		Do: func() (string, error) {
			_, err := h.prices(k).RequestReplay(k.R.Context(), d.RateCard, days)
			return web.DraftURL(d.ID) + "?tab=replay", err
		},
		Show: func(r web.Rejected) error { return h.showReplay(k, r.Status, d, text, r.Errors) },
	})
}

// replayLive returns the part of the page that reloads automatically.
func (h *Handlers) replayLive(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	part, err := h.replayPart(k, d)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.ReplayPart(part, k.Now))
}

func (h *Handlers) replayPart(k *web.Request, d ratecard.Draft) (v view.ReplayLive, err error) {
	v.URL = web.DraftURL(d.ID) + "/replay/live"
	r, found, err := h.Prices.LastReplay(k.R.Context(), d.ID)
	if err != nil || !found {
		return v, err
	}
	v.Status = ui.JobStatus{
		State: string(r.State), Phase: ratecard.ReplayPhase, Done: int64(r.Done), Total: int64(r.Days), Failure: r.Failure,
	}
	v.Requester, v.Requested, v.Stale = r.Requester, r.RequestedAt, r.RowVersion != d.RowVersion
	v.From, v.To = r.FirstDay.Format(time.DateOnly), r.FirstDay.AddDate(0, 0, r.Days-1).Format(time.DateOnly)
	if r.State != models.JobDone {
		return v, nil
	}
	result, err := ratecard.ReadReplay(r.RateCardReplay)
	if err != nil {
		return v, err
	}
	v.Result, err = h.replayResult(k, result)
	return v, err
}

func (h *Handlers) replayResult(k *web.Request, r *ratecard.ReplayResult) (*view.ReplayResult, error) {
	names, err := k.AllPartnerNames()
	if err != nil {
		return nil, err
	}
	categories, markets := h.categoryNames(k), h.Prices.Markets()
	v := &view.ReplayResult{Took: r.Took, MorePartners: r.MorePartners}
	for _, l := range r.Total {
		v.Total = append(v.Total, replayLine(l, l.Currency))
	}
	for _, l := range r.Categories {
		v.Categories = append(v.Categories, replayLine(l, categories[l.Key]))
	}
	for _, l := range r.Countries {
		name := l.Key
		if i, known := markets.ByCode(l.Key); known {
			name = markets.At(i).Name
		}
		v.Countries = append(v.Countries, replayLine(l, name))
	}
	for _, l := range r.Partners {
		partner, err := uuid.Parse(l.Key)
		if err != nil || !k.MayAt(web.ReadPartners, partner) {
			v.MorePartners++
			continue
		}
		line := replayLine(l, names.Of(partner))
		line.URL = web.PartnerURL(partner)
		v.Partners = append(v.Partners, line)
	}
	return v, nil
}

func replayLine(l ratecard.ReplayLine, name string) view.ReplayLine {
	currency, _ := money.ParseCurrency(l.Currency) // always valid, because the replay wrote it
	sums := func(f ratecard.ReplayTotals) view.ReplaySums {
		amount := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: currency} }
		return view.ReplaySums{
			Count:      f.Count,
			Then:       amount(f.ThenMinor),
			Now:        amount(f.NowMinor),
			Difference: amount(f.NowMinor - f.ThenMinor),
		}
	}
	return view.ReplayLine{
		Name: name, Changed: l.Changed(), Pings: sums(l.Pings), Leads: sums(l.Leads), Lost: l.Leads.Count - l.Leads.Now,
		AcceptedThen: ui.Share(l.Pings.Then, l.Pings.Count), AcceptedNow: ui.Share(l.Pings.Now, l.Pings.Count),
	}
}
