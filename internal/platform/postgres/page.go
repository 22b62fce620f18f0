package postgres

import (
	"slices"

	"gorm.io/gorm"
)

// Page is a page of a list: the rows just before the row with the key Before, or just after the row with the key
// After. If both keys are zero, it is the first page.
type Page[K comparable] struct {
	Before, After K
	Size          int
}

// EndsBefore reports whether the page ends just before the row with the key Before.
func (p Page[K]) EndsBefore() bool {
	var none K
	return p.Before != none
}

// StartsAfter reports whether the page starts just after the row with the key After.
func (p Page[K]) StartsAfter() bool {
	var none K
	return p.After != none && !p.EndsBefore()
}

// Apply restricts a query to the page of a list that is ordered by a column, in descending order. It reads one extra
// row, so that SplitPage can determine whether there are more rows.
func (p Page[K]) Apply(q *gorm.DB, column string) *gorm.DB {
	q = q.Limit(p.Size + 1)
	switch {
	case p.EndsBefore():
		return q.Where(column+" > ?", p.Before).Order(column)
	case p.StartsAfter():
		q = q.Where(column+" < ?", p.After)
	}
	return q.Order(column + " DESC")
}

// SplitPage takes the rows found by a query that reads one extra row and, if the page ends before a row, reads in
// reverse. It returns the rows in list order, and reports whether there are rows before and after them.
func SplitPage[T any, K comparable](p Page[K], found []T) (rows []T, before, after bool) {
	more := len(found) > p.Size
	if more {
		found = found[:p.Size]
	}
	if p.EndsBefore() {
		slices.Reverse(found)
		return found, more, true
	}
	return found, p.StartsAfter(), more
}
