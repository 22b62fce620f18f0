package reporting

import (
	"slices"
	"time"

	"github.com/pingpost/pingpost/models"
)

// Day contains a partner's traffic on a UTC day.
type Day struct {
	Day                                       time.Time
	Pings, Priced, RejectedPings              int64
	Posts, Delivered, Replayed, RejectedPosts int64
}

func (d *Day) add(o Outcome) {
	kind := models.KindOf(o.Outcome)
	if o.Endpoint == "ping" {
		d.Pings += o.Count
		switch kind {
		case models.KindPriced:
			d.Priced += o.Count
		case models.KindRejected:
			d.RejectedPings += o.Count
		default: // no price
		}
		return
	}
	d.Posts += o.Count
	switch kind {
	case models.KindDelivered:
		d.Delivered += o.Count
	case models.KindReplayed:
		d.Replayed += o.Count
	case models.KindRejected:
		d.RejectedPosts += o.Count
	default: // only pings
	}
}

// newestDays returns the days, newest first.
func newestDays(days map[time.Time]*Day) (all []Day) {
	for _, d := range days {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b Day) int { return b.Day.Compare(a.Day) })
	return all
}
