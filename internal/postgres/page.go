package postgres

import (
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// Page is where a list by id begins: after a row, towards older ones, or before one,
// towards newer ones.
type Page struct {
	OlderThan, NewerThan int64
	Size                 int
}

// Apply narrows a query to the page, and one row more by which SplitPage tells whether there
// are others.
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

// AroundID narrows a query to a page of a list by UUIDv7, the newest first: after a row,
// towards older ones, or before one, towards newer ones; Nil is neither. As Apply, it reads
// one row more, for SplitPageAt.
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

// SplitPage makes a page, in the order of its list, of what Apply found, and says whether there
// are more rows on either side.
func SplitPage[T any](p Page, found []T) (rows []T, newer, older bool) {
	return SplitPageAt(found, p.Size, p.OlderThan > 0, p.NewerThan > 0)
}

// SplitPageAt is SplitPage for a list by another key: whether the page comes after a row, or was
// read backwards from the one that it comes before.
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
