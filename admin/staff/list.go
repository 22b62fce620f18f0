package staff

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

var staffFilters = []string{"q", "role", "status"}

var allStaff = ui.Link{Label: "Staff", URL: "/staff"}

func (h *Handlers) listPage(k *web.Request) error {
	q := k.R.URL.Query()
	all, err := h.Staff.List(k.R.Context())
	if err != nil {
		return err
	}
	names, err := k.AllPartnerNames()
	if err != nil {
		return err
	}
	people := slices.DeleteFunc(all, func(p staff.Member) bool { return !matches(p, q.Get("role"), q.Get("status")) })
	if text := strings.TrimSpace(q.Get("q")); text != "" {
		found, err := h.Staff.Search(k.R.Context(), text, len(all))
		if err != nil {
			return err
		}
		people = slices.DeleteFunc(people, func(p staff.Member) bool {
			return !slices.ContainsFunc(found, func(f models.Staff) bool { return f.ID == p.ID })
		})
	}
	v := view.StaffListView{
		Shell:  k.Shell("Staff"),
		Search: q.Get("q"),
		Roles:  web.SelectOption(roleOptions(), q.Get("role")),
		Statuses: web.SelectOption([]ui.Option{
			{Value: "active", Label: "Active"},
			{Value: "invited", Label: "Invited"},
			{Value: "deactivated", Label: "Deactivated"},
		}, q.Get("status")),
		State:    ui.ListState{Filtered: web.IsFiltered(q, staffFilters...), ClearURL: "/staff"},
		SortName: web.SortLink("/staff", q, staffFilters, "name", true),
		SortSeen: web.SortLink("/staff", q, staffFilters, "seen", false),
		Pager:    ui.Pager{Count: countText(len(people))},
	}
	if k.May(web.WriteStaff) {
		v.InviteURL = "/staff/invite"
	}
	sortPeople(people, q.Get("sort"))
	for _, p := range people {
		v.People = append(v.People, view.StaffRow{
			Name:         p.Name,
			Email:        p.Email,
			URL:          web.StaffURL(p.ID),
			Roles:        web.ScopeLabels(p.Roles, names),
			SecondFactor: p.SecondFactor(),
			LastSeen:     p.SeenAt,
			Status:       string(p.Status),
		})
	}
	return k.Show(http.StatusOK, view.StaffList(v))
}

func matches(p staff.Member, role, status string) bool {
	return (status == "" || string(p.Status) == status) &&
		(role == "" || slices.ContainsFunc(p.Roles, func(r models.StaffRole) bool { return string(r.Role) == role }))
}

// sortPeople sorts users by the given column. If the column has the prefix "-", the order is descending.
// The users must already be sorted by name.
func sortPeople(people []staff.Member, by string) {
	switch strings.TrimPrefix(by, "-") {
	case "seen":
		slices.SortStableFunc(people, func(a, b staff.Member) int { return a.SeenAt.Compare(b.SeenAt) })
	}
	if strings.HasPrefix(by, "-") {
		slices.Reverse(people)
	}
}

func countText(n int) string {
	if n == 1 {
		return "1 user"
	}
	return ui.Number(int64(n)) + " users"
}
