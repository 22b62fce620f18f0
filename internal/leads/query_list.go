package leads

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// These are the values of Query.State.
const (
	StateDelivered = "delivered" // not returned, not erased, and not a sandbox lead
	StateReturned  = "returned"
	StateErased    = "erased" // whether or not it was returned
	StateSandbox   = "sandbox"
)

// Query selects leads. A field with its zero value matches all leads. Before and After are cursors
// from a Page. At most one of them can be set.
type Query struct {
	Partner, Account  uuid.UUID
	Industry, Country string
	State             string
	PartnerReference  string
	SubID             string
	From, To          time.Time // delivery time; To is exclusive
	Before, After     Cursor
	Size              int
}

// Page is a page of the list, newest first. Newer and Older are the cursors of the adjacent pages, or
// zero at the ends of the list. ScannedTo is set if the search reached its limit before the page was
// full. The next page continues from that time.
type Page struct {
	Rows         []Row
	Newer, Older Cursor
	ScannedTo    time.Time
}

// List returns a page of the leads in the scope. It reads the partitions one after the other until the
// page is full. If a filter has no index, List examines only a limited number of leads.
func (r *Reader) List(ctx context.Context, sc scope.Scope, q Query) (page Page, err error) {
	w, err := r.window(ctx, sc, q)
	if err != nil || w.empty() {
		return page, err
	}
	parts, err := r.split(ctx, w)
	if err != nil {
		return page, err
	}
	var horizon Cursor // the last lead that List may examine
	left := r.limit.allPartners
	if !w.all {
		left = r.limit.onePartner
	}
	var chosen []Cursor
	for _, part := range parts {
		if q.rare() {
			var examined int
			if examined, horizon, err = r.horizon(ctx, part, left, q.Size); err != nil {
				return page, err
			}
			if examined == 0 {
				continue
			}
			left -= examined
			part.endAt(horizon)
		}
		more, err := r.chosen(ctx, part, q, q.Size+1-len(chosen))
		if err != nil {
			return page, err
		}
		if chosen = append(chosen, more...); len(chosen) > q.Size || !horizon.IsZero() {
			break
		}
	}
	switch {
	case len(chosen) > q.Size:
		chosen = chosen[:q.Size]
		horizon = chosen[q.Size-1]
	case !horizon.IsZero() && len(chosen) < q.Size:
		page.ScannedTo = horizon.ReceivedAt
	}
	if page.Rows, err = r.rows(ctx, chosen); err != nil {
		return page, err
	}
	if !w.up {
		page.Newer, page.Older = q.After, horizon
		return page, nil
	}
	slices.Reverse(page.Rows)
	page.Older = q.Before
	if !horizon.IsZero() {
		page.Newer = horizon.next()
	}
	return page, nil
}

// rare reports whether the filters might match only a small share of the leads.
func (q Query) rare() bool {
	return q.Account != uuid.Nil || q.Industry != "" || q.Country != "" || q.State != ""
}

// window is the part of a query that an index can answer: the leads of all or some partners between two
// positions, in ascending or descending order, with a partner reference or a subId. The window includes its
// start but not its end.
type window struct {
	from, to         Cursor
	up               bool
	all              bool
	partners         []uuid.UUID
	reference, subID string // "" for any
}

// window returns the window of a query. The indexes of references and subIds begin with the partner, so the window
// lists all partners if the query has one of these.
func (r *Reader) window(ctx context.Context, sc scope.Scope, q Query) (w window, err error) {
	w = newWindow(sc, q)
	if w.all && w.tagged() {
		w.partners, err = r.allPartners(ctx)
		w.all = false
	}
	return w, err
}

// newWindow returns the window of a query. For a page of newer leads, the window starts with the cursor.
// For a page of older leads, it ends before the cursor.
func newWindow(sc scope.Scope, q Query) window {
	w := window{
		from: earliest, to: latest, up: !q.Before.IsZero(), all: sc.All(), partners: sc.IDs(),
		reference: q.PartnerReference, subID: q.SubID,
	}
	if q.Partner != uuid.Nil {
		w.all, w.partners = false, nil
		if sc.Allows(q.Partner) {
			w.partners = []uuid.UUID{q.Partner}
		}
	}
	if !q.From.IsZero() {
		w.from = Cursor{ReceivedAt: q.From}
	}
	if !q.To.IsZero() {
		w.to = Cursor{ReceivedAt: q.To}
	}
	if w.up {
		w.from = slices.MaxFunc([]Cursor{w.from, q.Before}, Cursor.compare)
	} else if !q.After.IsZero() {
		w.to = slices.MinFunc([]Cursor{w.to, q.After}, Cursor.compare)
	}
	return w
}

func (w window) tagged() bool { return w.reference != "" || w.subID != "" }

func (w window) empty() bool {
	return !w.all && len(w.partners) == 0 || w.from.compare(w.to) >= 0
}

// endAt shortens the window so that the given lead is its last one. If last is zero, the window does not
// change.
func (w *window) endAt(last Cursor) {
	switch {
	case last.IsZero():
	case w.up:
		w.to = last.next()
	default:
		w.from = last
	}
}

func (r *Reader) split(ctx context.Context, w window) (parts []window, err error) {
	periods, err := r.periods(ctx, w.from.ReceivedAt, w.to.ReceivedAt, w.up)
	for _, p := range periods {
		part := w
		if p.From.After(w.from.ReceivedAt) {
			part.from = Cursor{ReceivedAt: p.From}
		}
		if p.Until.Before(w.to.ReceivedAt) {
			part.to = Cursor{ReceivedAt: p.Until}
		}
		parts = append(parts, part)
	}
	return parts, err
}

func (r *Reader) allPartners(ctx context.Context) (ids []uuid.UUID, err error) {
	err = r.db.Gorm.WithContext(ctx).Model(&models.Partner{}).Pluck("id", &ids).Error
	return ids, postgres.Translate(err)
}
