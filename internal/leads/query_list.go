package leads

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
)

// Values of Query.State.
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
	From, To          time.Time // delivery time; To is exclusive
	Before, After     uuid.UUID
	Size              int
}

// Page is a page of the list, newest first. Newer and Older are the cursors of the adjacent pages, or
// uuid.Nil at the ends of the list. ScannedTo is set if the search reached its limit before the page
// was full. The next page continues from that time.
type Page struct {
	Rows         []Row
	Newer, Older uuid.UUID
	ScannedTo    time.Time
}

// List returns a page of the leads in the scope. Lead ids contain the time, so a page is a range in an
// index. If a filter has no index, List examines only a limited number of leads.
func (o *Reader) List(ctx context.Context, sc scope.Scope, q Query) (page Page, err error) {
	w := newWindow(sc, q)
	if w.empty() {
		return page, nil
	}
	var horizon uuid.UUID
	if q.rare() {
		if horizon, err = o.horizon(ctx, w, q.Size); err != nil {
			return page, err
		}
		w.endAt(horizon)
	}
	if page.Rows, err = o.rows(ctx, w, q); err != nil {
		return page, err
	}
	switch {
	case len(page.Rows) > q.Size:
		page.Rows = page.Rows[:q.Size]
		horizon = page.Rows[q.Size-1].ID
	case horizon != uuid.Nil && len(page.Rows) < q.Size:
		page.ScannedTo = id.Time(horizon)
	}
	if !w.up {
		page.Newer, page.Older = q.After, horizon
		return page, nil
	}
	slices.Reverse(page.Rows)
	page.Older = q.Before
	if horizon != uuid.Nil {
		page.Newer = next(horizon)
	}
	return page, nil
}

// rare reports whether the filters might match only a few of many leads.
func (q Query) rare() bool {
	return q.Account != uuid.Nil || q.Industry != "" || q.Country != "" || q.State != ""
}

// window is the part of a query that an index can answer: the leads of all or some partners in a range
// of ids, in ascending or descending order. The id from is inclusive, and to is exclusive.
type window struct {
	from, to uuid.UUID
	up       bool
	all      bool
	partners []uuid.UUID
}

// newWindow returns the window of a query. The cursor is inclusive for a page of newer leads, and
// exclusive for a page of older leads.
func newWindow(sc scope.Scope, q Query) window {
	w := window{to: uuid.Max, up: q.Before != uuid.Nil, all: sc.All(), partners: sc.IDs()}
	if q.Partner != uuid.Nil {
		w.all, w.partners = false, nil
		if sc.Allows(q.Partner) {
			w.partners = []uuid.UUID{q.Partner}
		}
	}
	if !q.From.IsZero() {
		w.from = id.NewV7(q.From, [10]byte{})
	}
	if !q.To.IsZero() {
		w.to = id.NewV7(q.To, [10]byte{})
	}
	if w.up {
		w.from = slices.MaxFunc([]uuid.UUID{w.from, q.Before}, compare)
	} else if q.After != uuid.Nil {
		w.to = slices.MinFunc([]uuid.UUID{w.to, q.After}, compare)
	}
	return w
}

func (w window) empty() bool {
	return !w.all && len(w.partners) == 0 || compare(w.from, w.to) >= 0
}

// endAt makes last the last lead in the window. If last is uuid.Nil, the window does not change.
func (w *window) endAt(last uuid.UUID) {
	switch {
	case last == uuid.Nil:
	case w.up:
		w.to = next(last)
	default:
		w.from = last
	}
}

func compare(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// next returns the id that follows u.
func next(u uuid.UUID) uuid.UUID {
	for i := len(u) - 1; i >= 0; i-- {
		if u[i]++; u[i] != 0 {
			break
		}
	}
	return u
}
