package leads

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
)

// States are what became of a lead, as people look for it.
const (
	StateDelivered = "delivered" // and nothing since
	StateReturned  = "returned"
	StateErased    = "erased" // returned or not
	StateSandbox   = "sandbox"
)

// Query chooses leads; what is zero does not restrict. Before and After are cursors of a
// Page, one of them at most.
type Query struct {
	Partner, Account  uuid.UUID
	Industry, Country string
	State             string
	From, To          time.Time // of the delivery; To is not included
	Before, After     uuid.UUID
	Size              int
}

// Page is a part of a list, the newest first. Newer and Older are the cursors of the
// pages beside it, Nil where there is none. Looked is how far the page came where it
// examined enough before it was full, else zero: the page beside it goes on from there.
type Page struct {
	Rows         []Row
	Newer, Older uuid.UUID
	ScannedTo    time.Time
}

// List is a page of the leads in the scope. Identifiers are times, so that a page is a
// part of an index; where filters have none, it examines so many leads and no more.
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

// rare reports whether the filters may leave next to nothing of very many leads.
func (q Query) rare() bool {
	return q.Account != uuid.Nil || q.Industry != "" || q.Country != "" || q.State != ""
}

// window is what of a query an index answers: from an identifier on and before another,
// upwards or down, everybody's leads or those of some partners.
type window struct {
	from, to uuid.UUID
	up       bool
	all      bool
	partners []uuid.UUID
}

// newWindow takes a cursor as a cut: newer pages have the leads from it on, older ones
// those before it.
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

// endAt makes a lead the last that is looked at.
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

// next is the identifier that follows one.
func next(u uuid.UUID) uuid.UUID {
	for i := len(u) - 1; i >= 0; i-- {
		if u[i]++; u[i] != 0 {
			break
		}
	}
	return u
}
