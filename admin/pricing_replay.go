package admin

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

var replayDays = []templates.Option{{Value: "7", Label: "7 days"}, {Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}}

func (k *call) replayTab(d ratecard.Draft) error {
	return k.showReplay(http.StatusOK, d, "30", nil)
}

func (k *call) showReplay(status int, d ratecard.Draft, days string, mistakes templates.Errors) error {
	head, err := k.draftHead(d, "replay")
	if err != nil {
		return err
	}
	v := templates.ReplayView{Head: head, Days: chosen(replayDays, days), CanStart: k.may(writePricing), Errors: mistakes}
	if v.Live, err = k.replayPart(d); err != nil {
		return err
	}
	return k.show(status, templates.Replay(v))
}

func (k *call) startReplay() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	text := k.r.PostForm.Get("days")
	days, _ := strconv.Atoi(text) // what is no number of days is refused as one
	_, err = k.prices().RequestReplay(k.r.Context(), d.RateCard, days)
	if err == nil {
		return k.to(draftURL(d.ID) + "?tab=replay")
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	return k.showReplay(status, d, text, mistakes)
}

// replayLive is the part of the page that comes anew by itself.
func (k *call) replayLive() error {
	d, err := k.draft()
	if err != nil {
		return err
	}
	part, err := k.replayPart(d)
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.ReplayPart(part, k.now))
}

func (k *call) replayPart(d ratecard.Draft) (v templates.ReplayLive, err error) {
	v.URL = draftURL(d.ID) + "/replay/live"
	r, found, err := k.Prices.Replay(k.r.Context(), d.ID)
	if err != nil || !found {
		return v, err
	}
	v.State, v.Requester, v.Requested, v.Ended = string(r.State), r.Requester, r.RequestedAt, timeOf(r.EndedAt)
	v.Days, v.Done, v.Stale = r.Days, r.DaysDone, r.RowVersion != d.RowVersion
	v.From, v.To = r.FirstDay.Format(time.DateOnly), r.FirstDay.AddDate(0, 0, r.Days-1).Format(time.DateOnly)
	if r.State != models.ReplayDone {
		return v, nil
	}
	result, err := ratecard.ReadReplay(r)
	if err != nil {
		return v, err
	}
	v.Result, err = k.replayResult(result)
	return v, err
}

func (k *call) replayResult(r *ratecard.Replayed) (*templates.ReplayResult, error) {
	names, err := k.slugs()
	if err != nil {
		return nil, err
	}
	categories, markets := k.categoryNames(), k.Prices.Markets()
	v := &templates.ReplayResult{Took: r.Took, MorePartners: r.MorePartners}
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
		if err != nil || !k.mayAt(readPartners, partner) {
			v.MorePartners++
			continue
		}
		line := replayLine(l, names.of(partner))
		line.URL = partnerURL(partner)
		v.Partners = append(v.Partners, line)
	}
	return v, nil
}

func replayLine(l ratecard.Line, name string) templates.ReplayLine {
	currency, _ := money.ParseCurrency(l.Currency) // the replay wrote it
	sums := func(f ratecard.Figures) templates.ReplaySums {
		amount := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: currency} }
		return templates.ReplaySums{
			Count: f.Count, Then: amount(f.ThenMinor), Now: amount(f.NowMinor), Difference: amount(f.NowMinor - f.ThenMinor), Percent: percentWords(f.ThenMinor, f.NowMinor),
		}
	}
	return templates.ReplayLine{
		Name: name, Pings: sums(l.Pings), Leads: sums(l.Leads), Lost: l.Leads.Count - l.Leads.Now,
		AcceptedThen: share(l.Pings.Then, l.Pings.Count), AcceptedNow: share(l.Pings.Now, l.Pings.Count),
	}
}
