package web

import (
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/templates/ui"
)

// PageSize is the number of rows on a page of a list.
const PageSize = 50

// KeyPage returns the page of a list that the query selects.
func KeyPage(q url.Values) audit.Page {
	p := audit.Page{Size: PageSize}
	p.OlderThan, _ = strconv.ParseInt(q.Get("older"), 10, 64) // an invalid number selects the first page
	p.NewerThan, _ = strconv.ParseInt(q.Get("newer"), 10, 64)
	return p
}

// AuditPager links to the newer and older pages of audit events with the same filter.
func AuditPager(path string, q url.Values, found audit.ListResult) (p ui.Pager) {
	if n := len(found.Events); n > 0 {
		p = KeyPager(path, q, found.Newer, found.Older, found.Events[0].ID, found.Events[n-1].ID)
	}
	p.Count = CountText(found.Count, found.CountBounded, "event", "events")
	return p
}

// KeyPager links to the pages of newer and of older rows. The parameters newer and older state whether
// these pages exist. The parameters first and last are the keys of the first and the last row on the
// current page.
func KeyPager(path string, q url.Values, newer, older bool, first, last int64) (p ui.Pager) {
	with := func(name string, key int64) string {
		next := maps.Clone(q)
		next.Del("older")
		next.Del("newer")
		next.Set(name, strconv.FormatInt(key, 10))
		return path + "?" + next.Encode()
	}
	if newer {
		p.Newer = with("newer", first)
	}
	if older {
		p.Older = with("older", last)
	}
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

// PagerBetween is like CursorPager, for a page of n rows. The parameters newer and older state whether these pages
// exist. The function cursor returns the cursor of a row.
func PagerBetween(path string, q url.Values, newer, older bool, n int, cursor func(row int) string) ui.Pager {
	before, after := "", ""
	if newer && n > 0 {
		before = cursor(0)
	}
	if older && n > 0 {
		after = cursor(n - 1)
	}
	return CursorPager(path, q, before, after)
}

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
