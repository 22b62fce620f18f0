package pricing

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

const (
	// outlierPercent is the largest percentage change that is not an outlier. A price that was added or
	// removed is always an outlier.
	outlierPercent = 25
	comparedPage   = 100
)

// changeSize returns the size of a change relative to the old price, in ten-thousandths.
func changeSize(c pricingrules.Change) int64 {
	if c.Old.Minor == 0 || c.New.Minor == 0 {
		return math.MaxInt64
	}
	return max(c.New.Minor-c.Old.Minor, c.Old.Minor-c.New.Minor) * 10_000 / c.Old.Minor
}

func isOutlier(c pricingrules.Change) bool { return changeSize(c) > outlierPercent*100 }

func countOutliers(changes []pricingrules.Change) (n int) {
	for _, c := range changes {
		if isOutlier(c) {
			n++
		}
	}
	return n
}

// comparison returns the changed cells, largest change first.
func comparison(old, now *ratecard.ExaminedCard) []pricingrules.Change {
	changes := pricingrules.Diff(old.Table, now.Table)
	slices.SortStableFunc(changes, func(a, b pricingrules.Change) int { return cmp.Compare(changeSize(b), changeSize(a)) })
	return changes
}

func compareCounts(changes []pricingrules.Change) (all []view.CompareCount) {
	by := map[money.Currency]*view.CompareCount{}
	for _, c := range changes {
		currency := cmp.Or(c.New.Currency, c.Old.Currency)
		if by[currency] == nil {
			by[currency] = &view.CompareCount{Currency: currency.String()}
		}
		n := by[currency]
		n.Changed++
		switch {
		case c.New.Excluded:
			n.Excluded++
		case c.New.Minor == 0:
			n.Unpriced++
		case c.Old.Minor == 0:
			n.Priced++
		case c.New.Minor > c.Old.Minor:
			n.Up++
		default:
			n.Down++
		}
	}
	for _, currency := range money.Currencies {
		if by[currency] != nil {
			all = append(all, *by[currency])
		}
	}
	return all
}

func (h *Handlers) compareRows(k *web.Request, changes []pricingrules.Change) []view.CompareRow {
	names := h.categoryNames(k)
	rows := make([]view.CompareRow, len(changes))
	for i, c := range changes {
		rows[i] = view.CompareRow{Change: c, Category: names[c.Industry.Category], Outlier: isOutlier(c)}
	}
	return rows
}

func (h *Handlers) categoryNames(k *web.Request) map[string]string {
	names := map[string]string{}
	for _, c := range h.Prices.Taxonomy().Categories() {
		names[c.Slug] = c.Name
	}
	return names
}

// compareTable returns the changes that match the filters in the URL. The parameter keep contains the
// names of other query parameters, which the page's links and forms must retain.
func (h *Handlers) compareTable(
	k *web.Request, path string, changes []pricingrules.Change, keep ...string,
) view.CompareTable {
	q := k.R.URL.Query()
	filters := []string{"q", "country", "urgency", "category", "only"}
	query := url.Values{}
	v := view.CompareTable{
		Action:     path,
		Search:     web.Short(q.Get("q")),
		Counts:     compareCounts(changes),
		Outliers:   countOutliers(changes),
		Percent:    outlierPercent,
		Countries:  web.SelectOption(h.marketOptions(k), q.Get("country")),
		Urgencies:  web.SelectOption(urgencyOptions(), q.Get("urgency")),
		Categories: web.SelectOption(h.categoryOptions(k), q.Get("category")),
		Only:       web.SelectOption([]ui.Option{{Value: "outliers", Label: "Outliers"}}, q.Get("only")),
	}
	for _, name := range keep {
		if value := q.Get(name); value != "" {
			query.Set(name, value)
			v.Keep = append(v.Keep, ui.Hidden{Name: name, Value: value})
		}
	}
	v.State = ui.ListState{Filtered: web.IsFiltered(q, filters...), ClearURL: path + "?" + query.Encode()}
	left := slices.DeleteFunc(slices.Clone(changes), func(c pricingrules.Change) bool { return !matchesFilters(c, q) })
	part, before, after := comparePart(left, q.Get("before"), q.Get("after"))
	v.Rows, v.Pager = h.compareRows(k, part), web.CursorPager(path, q, before, after)
	v.Pager.BySize = true
	v.Pager.Count = ui.Plural(len(left), "price", "prices")
	return v
}

func matchesFilters(c pricingrules.Change, q url.Values) bool {
	is := func(name, value string) bool { return q.Get(name) == "" || q.Get(name) == value }
	return is("country", c.Market.Code) && is("urgency", c.Class.String()) && is("category", c.Industry.Category) &&
		strings.Contains(c.Industry.Slug, strings.ToLower(strings.TrimSpace(q.Get("q")))) &&
		(q.Get("only") != "outliers" || isOutlier(c))
}

// compareKey returns the key that identifies the changed cell in a URL.
func compareKey(c pricingrules.Change) string {
	return c.Industry.Slug + "/" + c.Market.Code + "/" + c.Class.String()
}

// comparePart returns one page of changes, and the keys for the previous and the next page. The page
// starts just after a given cell, or ends just before it. If the cell is unknown, comparePart returns
// the first page.
func comparePart(
	changes []pricingrules.Change, before, after string,
) (part []pricingrules.Change, newer, older string) {
	at := func(key string) int {
		return slices.IndexFunc(changes, func(c pricingrules.Change) bool { return compareKey(c) == key })
	}
	first := 0
	if i := at(after); i >= 0 {
		first = i + 1
	} else if i := at(before); i >= 0 {
		first = max(0, i-comparedPage)
	}
	if first >= len(changes) {
		first = 0
	}
	last := min(len(changes), first+comparedPage)
	part = changes[first:last]
	if first > 0 && len(part) > 0 {
		newer = compareKey(part[0])
	}
	if last < len(changes) {
		older = compareKey(part[len(part)-1])
	}
	return part, newer, older
}

func (h *Handlers) comparePage(k *web.Request) error {
	q := k.R.URL.Query()
	v := view.CompareView{
		Shell: k.Shell("Compare versions", allPricing, allVersions),
		A:     web.Short(q.Get("a")),
		B:     web.Short(q.Get("b")),
	}
	if v.A == "" && v.B == "" {
		return k.Show(http.StatusOK, view.Compare(v))
	}
	a, err := h.versionNamed(k, "a", v.A, &v.Errors)
	if err != nil {
		return err
	}
	b, err := h.versionNamed(k, "b", v.B, &v.Errors)
	if err != nil {
		return err
	}
	if len(v.Errors) == 0 && a.Version == b.Version {
		v.Errors = ui.Errors{
			{Field: "b", Code: "same", Message: "Both versions are the same. Choose two different versions."},
		}
	}
	if len(v.Errors) > 0 {
		return k.Show(http.StatusUnprocessableEntity, view.Compare(v))
	}
	old, err := h.Prices.ExamineCard(k.R.Context(), a)
	if err != nil {
		return err
	}
	now, err := h.Prices.ExamineCard(k.R.Context(), b)
	if err != nil {
		return err
	}
	table := h.compareTable(k, "/pricing/compare", comparison(old, now), "a", "b")
	v.Old, v.New = h.versionLink(k, a), h.versionLink(k, b)
	table.Caption = "Price changes from " + v.Old.Label + " to " + v.New.Label
	table.OldHead, table.NewHead = v.Old.Label, v.New.Label
	v.Table = &table
	return k.Show(http.StatusOK, view.Compare(v))
}

func (h *Handlers) versionLink(k *web.Request, card models.RateCard) ui.Link {
	return ui.Link{Label: web.VersionName(card.Version), URL: web.VersionURL(card.Version)}
}

// versionNamed finds the version whose number was entered in a field. If the input is not valid,
// versionNamed adds an error to mistakes.
func (h *Handlers) versionNamed(k *web.Request, field, text string, mistakes *ui.Errors) (models.RateCard, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil || n < 1 {
		*mistakes = append(*mistakes, ui.FieldError{
			Field:   field,
			Code:    "format",
			Message: "Enter a version number, such as 3.",
		})
		return models.RateCard{}, nil //nolint:nilerr // the form shows the mistake
	}
	card, err := h.Prices.Version(k.R.Context(), int(n))
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		*mistakes = append(*mistakes, ui.FieldError{
			Field:   field,
			Code:    f.Reason,
			Message: fmt.Sprintf("There is no version %d. Enter another number.", n),
		})
		return card, nil
	}
	return card, err
}
