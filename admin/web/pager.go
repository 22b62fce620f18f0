package web

import (
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/templates/ui"
)

// PageSize is how many rows a list shows that is paged by a number.
const PageSize = 50

func KeyPage(q url.Values) audit.Page {
	p := audit.Page{Size: PageSize}
	p.OlderThan, _ = strconv.ParseInt(q.Get("older"), 10, 64) // what is no number is the first page
	p.NewerThan, _ = strconv.ParseInt(q.Get("newer"), 10, 64)
	return p
}

// AuditPager keeps the filter and names the first or last event of this page.
func AuditPager(path string, q url.Values, found audit.ListResult) (p ui.Pager) {
	if n := len(found.Events); n > 0 {
		p = KeyPager(path, q, found.Newer, found.Older, found.Events[0].ID, found.Events[n-1].ID)
	}
	p.Count = CountText(found.Count, found.CountBounded, "event", "events")
	return p
}

// KeyPager leads to what is newer than the first and older than the last of a page.
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

// CursorPager leads to the pages before and after a cursor; an empty one has no page.
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

// SortLink sorts by a column, and the other way round where it does already; first
// is the column that sorts where none is named.
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
