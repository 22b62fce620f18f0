package staff

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

var staffFilters = []string{"q", "role", "status"}

var allStaff = ui.Link{Label: "Staff", URL: "/staff"}

func (h *Handlers) staffList(k *web.Request) error {
	q := k.R.URL.Query()
	all, err := h.Staff.List(k.R.Context())
	if err != nil {
		return err
	}
	names, err := web.AllPartnerNames(k)
	if err != nil {
		return err
	}
	people := slices.DeleteFunc(all, func(p staff.Person) bool { return !matches(p, q.Get("q"), q.Get("role"), q.Get("status")) })
	v := view.StaffListView{
		Shell: k.Shell("Staff"), Search: q.Get("q"), Roles: web.Chosen(roleOptions(), q.Get("role")),
		Statuses: web.Chosen([]ui.Option{{Value: "active", Label: "Active"}, {Value: "invited", Label: "Invited"}, {Value: "deactivated", Label: "Deactivated"}}, q.Get("status")),
		State:    ui.ListState{Filtered: web.IsFiltered(q, staffFilters...), ClearURL: "/staff"},
		SortName: web.SortLink("/staff", q, staffFilters, "name", true), SortSeen: web.SortLink("/staff", q, staffFilters, "seen", false),
		Pager: ui.Pager{Count: peopleWords(len(people))},
	}
	if k.May(web.WriteStaff) {
		v.InviteURL = "/staff/invite"
	}
	sortPeople(people, q.Get("sort"))
	for _, p := range people {
		v.People = append(v.People, view.StaffRow{
			Name: p.Name, Email: p.Email, URL: web.StaffURL(p.ID), Roles: web.ScopeWords(p.Roles, names), SecondFactor: p.SecondFactor(), LastSeen: p.SeenAt, Status: string(p.Status),
		})
	}
	return k.Show(http.StatusOK, view.StaffList(v))
}

func matches(p staff.Person, search, role, status string) bool {
	search = strings.ToLower(strings.TrimSpace(search))
	return (search == "" || strings.Contains(strings.ToLower(p.Name+"\n"+p.Email), search)) && (status == "" || string(p.Status) == status) &&
		(role == "" || slices.ContainsFunc(p.Roles, func(r models.StaffRole) bool { return string(r.Role) == role }))
}

// sortPeople sorts what comes by name.
func sortPeople(people []staff.Person, by string) {
	switch strings.TrimPrefix(by, "-") {
	case "seen":
		slices.SortStableFunc(people, func(a, b staff.Person) int { return a.SeenAt.Compare(b.SeenAt) })
	}
	if strings.HasPrefix(by, "-") {
		slices.Reverse(people)
	}
}

func peopleWords(n int) string {
	if n == 1 {
		return "1 person"
	}
	return ui.Number(int64(n)) + " people"
}

// person is whom the address names; one that is none of this kind is no page.
func (h *Handlers) person(k *web.Request) (staff.Person, error) {
	if _, err := id.Parse(id.Staff, k.R.PathValue("id")); err != nil {
		return staff.Person{}, web.ErrNotFound
	}
	p, err := h.Staff.Find(k.R.Context(), k.R.PathValue("id"))
	return p, web.OrNotFound(err)
}

// personForm is what the roles' form shows besides the person as they are.
type personForm struct {
	roles    []ui.RoleChoice
	version  int
	conflict *ui.Conflict
	errors   ui.Errors
}

func (h *Handlers) staffPage(k *web.Request) error {
	p, err := h.person(k)
	if err != nil {
		return err
	}
	return h.showPerson(k, http.StatusOK, p, nil)
}

func (h *Handlers) showPerson(k *web.Request, status int, p staff.Person, f *personForm) error {
	names, err := web.AllPartnerNames(k)
	if err != nil {
		return err
	}
	v := view.StaffPersonView{
		Shell: k.Shell(p.Name, allStaff), URL: web.StaffURL(p.ID), ID: id.Format(id.Staff, p.ID), Name: p.Name, Email: p.Email, Status: string(p.Status),
		SecondFactor: p.SecondFactor(), LastSeen: p.SeenAt, AccessURL: web.StaffURL(p.ID) + "/access", StepUp: web.StepUp(k),
		Version: int64(p.RowVersion), Roles: roleChoices(p.Roles, names),
	}
	if f != nil {
		v.Roles, v.Version, v.Conflict, v.Errors = f.roles, int64(f.version), f.conflict, f.errors
	} else {
		v.Tab = k.R.URL.Query().Get("tab")
	}
	switch {
	case !k.May(web.WriteStaff):
		v.Locked = "Your roles let you look at the staff, not change them."
	case p.ID == k.Session.Staff.ID:
		v.Locked = "Nobody changes their own roles: ask another administrator."
	default:
		if p.Status == models.StaffInvited {
			v.Invite = h.inviteAgainView(k, p, nil)
		}
		if p.Status == models.StaffDeactivated {
			v.Reactivate = h.reactivateView(k, p, nil)
		} else {
			v.Deactivate = h.deactivateView(k, p, nil)
		}
		if p.SecondFactor() {
			v.Reset = h.resetView(k, p, nil)
		}
	}
	if v.Locked != "" {
		for i := range v.Roles {
			v.Roles[i].Locked = "Given: " + yesOrNo(v.Roles[i].Chosen)
		}
	}
	if err := h.fillTab(k, &v, p); err != nil {
		return err
	}
	return k.Show(status, view.StaffPerson(v))
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// fillTab reads what the open tab shows.
func (h *Handlers) fillTab(k *web.Request, v *view.StaffPersonView, p staff.Person) error {
	switch v.Tab {
	case "sessions":
		sessions, err := h.Staff.Sessions(k.R.Context(), p.ID)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			row := web.SessionRow(s, s.ID == k.Session.ID, v.URL+"/sessions/")
			if !k.May(web.WriteStaff) {
				row.RevokeURL = ""
			}
			v.Sessions = append(v.Sessions, row)
		}
		if k.May(web.WriteStaff) && p.ID != k.Session.Staff.ID {
			v.RevokeAll = v.URL + "/sessions/end"
		}
	case "audit":
		sc, ok := k.ScopeOf(web.ReadAudit)
		if !ok {
			v.State.Failed = "None of your roles lets you see the audit trail."
			return nil
		}
		q := k.R.URL.Query()
		found, err := h.Audit.List(k.R.Context(), sc, audit.Filter{About: audit.Subject{Staff: p.ID, ID: v.ID}}, web.KeyPage(q))
		if err != nil {
			return err
		}
		v.Events, v.Pager = web.AuditRows(k, found.Events), web.AuditPager(v.URL, q, found)
	default:
		v.Tab = "roles"
	}
	return nil
}

// staffAccess answers what a person may do, and why.
func (h *Handlers) staffAccess(k *web.Request) error {
	p, err := h.person(k)
	if err != nil {
		return err
	}
	names, err := web.AllPartnerNames(k)
	if err != nil {
		return err
	}
	v := view.AccessExplainedView{
		Shell: k.Shell("What "+p.Name+" may do", allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}), Name: p.Name,
	}
	if p.Status != models.StaffActive {
		v.Note = "This person is " + string(p.Status) + ": nothing holds until they are active."
	}
	everywhere, somewhere := map[authz.Permission]bool{}, map[authz.Permission]bool{}
	for _, g := range k.Access.Explain(p.ID) {
		what, where := web.PermissionWords(g.Permission), "all partners"
		if g.Partner == nil {
			everywhere[g.Permission] = true
		} else {
			somewhere[g.Permission] = true
			what, _ = web.Divide(g.Permission)
			where = names.Of(*g.Partner)
		}
		if what != "" {
			v.Allowed = append(v.Allowed, view.Permission{
				What: what, Where: where, Role: staff.RoleName(g.Role), Policy: "p, " + string(g.Role) + ", " + g.Permission.String(),
			})
		}
	}
	lines, err := authz.Policy()
	if err != nil {
		return err
	}
	listed := map[authz.Permission]bool{}
	for _, line := range lines {
		if listed[line.Permission] || everywhere[line.Permission] {
			continue
		}
		listed[line.Permission] = true
		what, role := web.PermissionWords(line.Permission), k.RolesThat(line.Permission)
		if somewhere[line.Permission] {
			_, what = web.Divide(line.Permission)
			role += ", for all partners"
		}
		if what != "" {
			v.Denied = append(v.Denied, view.Permission{What: what, Role: role})
		}
	}
	return k.Show(http.StatusOK, view.AccessExplained(v))
}
