package postgres

import (
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// Page is a page of a list that is ordered by id, newest first. It contains the next rows that are
// older than OlderThan or newer than NewerThan. If both are 0, it is the first page.
type Page struct {
	OlderThan, NewerThan int64
	Size                 int
}

// Apply restricts a query to the page. It reads one extra row, so that SplitPage can determine
// whether there are more rows.
func (p Page) Apply(q *gorm.DB) *gorm.DB {
	q = q.Limit(p.Size + 1)
	switch {
	case p.NewerThan > 0:
		return q.Where("id > ?", p.NewerThan).Order("id")
	case p.OlderThan > 0:
		return q.Where("id < ?", p.OlderThan).Order("id DESC")
	}
	return q.Order("id DESC")
}

// AroundID restricts a query to one page of a list that is ordered by UUIDv7, newest first. If the
// parameter before is set, the page contains the rows that come just before the row with this id. If
// the parameter after is set, the page contains the rows that come just after the row with this id. If
// neither is set, the page is the first one. Like Apply, AroundID reads one extra row, for SplitPageAt.
func AroundID(q *gorm.DB, column string, before, after uuid.UUID, size int) *gorm.DB {
	q = q.Limit(size + 1)
	switch {
	case before != uuid.Nil:
		return q.Where(column+" > ?", before).Order(column)
	case after != uuid.Nil:
		q = q.Where(column+" < ?", after)
	}
	return q.Order(column + " DESC")
}

// SplitPage takes the rows found by a query that Apply restricted. It returns them in list order and
// reports whether there are newer and older rows.
func SplitPage[T any](p Page, found []T) (rows []T, newer, older bool) {
	return SplitPageAt(found, p.Size, p.OlderThan > 0, p.NewerThan > 0)
}

// SplitPageAt is like SplitPage, but for a list that is ordered by another key. The parameter after is
// true if the page follows a given row. The parameter before is true if the page precedes a given row.
func SplitPageAt[T any](found []T, size int, after, before bool) (rows []T, newer, older bool) {
	more := len(found) > size
	if more {
		found = found[:size]
	}
	if before {
		slices.Reverse(found)
		return found, more, true
	}
	return found, after, more
}
