package web

import (
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// PageSize is the number of rows on a page of a list.
const PageSize = 50

// PageOf returns the page of a list that the query selects. An invalid key selects the first page.
func PageOf[K comparable](q url.Values, size int, parse func(string) (K, error)) (p postgres.Page[K]) {
	p.Size = size
	if key, err := parse(q.Get("before")); err == nil {
		p.Before = key
	}
	if key, err := parse(q.Get("after")); err == nil {
		p.After = key
	}
	return p
}

// NumberPage returns the page of a list whose keys are positive whole numbers.
func NumberPage(q url.Values) postgres.Page[int64] { return PageOf(q, PageSize, ParseNumber) }

// ParseNumber parses a positive whole number.
func ParseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n, err
}

// IDPage returns the page of a list whose keys are ids.
func IDPage(q url.Values, kind id.Kind) postgres.Page[uuid.UUID] {
	return PageOf(q, PageSize, func(text string) (uuid.UUID, error) { return id.Parse(kind, text) })
}

// TextPage returns the page of a list whose keys are texts.
func TextPage(q url.Values) postgres.Page[string] {
	return postgres.Page[string]{Before: SearchText(q, "before"), After: SearchText(q, "after"), Size: PageSize}
}

// AuditPager links to the newer and older pages of audit events with the same filter.
func AuditPager(path string, q url.Values, found audit.ListResult) (p ui.Pager) {
	p = Pager(path, q, found.Events, found.Newer, found.Older, func(e models.AuditEvent) string { return Number(e.ID) })
	p.Count = CountText(found.Count, found.CountBounded, "event", "events")
	return p
}

// CursorPager links to the previous and the next page. The parameters before and after are the cursors
// of these pages, or "" for a page that does not exist.
func CursorPager(path string, q url.Values, before, after string) ui.Pager {
	with := func(name, cursor string) string {
		if cursor == "" {
			return ""
		}
		next := maps.Clone(q)
		next.Del("before")
		next.Del("after")
		next.Set(name, cursor)
		return path + "?" + next.Encode()
	}
	return ui.Pager{Newer: with("before", before), Older: with("after", after)}
}

// Pager links to the pages before and after rows. The parameters before and after state whether these pages exist. The
// function key returns the key of a row.
func Pager[T any](path string, q url.Values, rows []T, before, after bool, key func(T) string) ui.Pager {
	first, last := "", ""
	if before && len(rows) > 0 {
		first = key(rows[0])
	}
	if after && len(rows) > 0 {
		last = key(rows[len(rows)-1])
	}
	return CursorPager(path, q, first, last)
}

// Number formats a key that is a number.
func Number(key int64) string { return strconv.FormatInt(key, 10) }

// DescendingSortLink is like SortLink, but its first click sorts in descending order.
func DescendingSortLink(path string, q url.Values, filters []string, column string) ui.Sort {
	s := SortLink(path, q, filters, column, false)
	if s.Direction == "" {
		s.URL = strings.Replace(s.URL, "sort="+column, "sort=-"+column, 1)
	}
	return s
}

// SortLink returns the link that sorts a list by a column. If the list is already sorted by this column,
// the link reverses the order. The parameter first is true for the column by which the list is sorted by
// default.
func SortLink(path string, q url.Values, filters []string, column string, first bool) ui.Sort {
	now, next := q.Get("sort"), make([]string, 0, len(filters)+1)
	for _, name := range filters {
		if value := q.Get(name); value != "" {
			next = append(next, name+"="+Escape(value))
		}
	}
	s := ui.Sort{}
	switch {
	case now == column || now == "" && first:
		s.Direction = "ascending"
		next = append(next, "sort=-"+column)
	case now == "-"+column:
		s.Direction = "descending"
		next = append(next, "sort="+column)
	default:
		next = append(next, "sort="+column)
	}
	s.URL = path + "?" + strings.Join(next, "&")
	return s
}
