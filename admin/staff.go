package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

var staffFilters = []string{"q", "role", "status"}

var allStaff = templates.Link{Label: "Staff", URL: "/staff"}

// slugs reads the partners' names, which roles are given for.
func (k *call) slugs() (slugs, error) {
	all, err := k.Partners.List(k.r.Context(), scope.System) // names alone, for people who look after roles
	if err != nil {
		return nil, err
	}
	names := make(slugs, len(all))
	for _, p := range all {
		names[p.ID] = p.Slug
	}
	return names, nil
}

func (k *call) staffList() error {
	q := k.r.URL.Query()
	all, err := k.Staff.List(k.r.Context())
	if err != nil {
		return err
	}
	names, err := k.slugs()
	if err != nil {
		return err
	}
	people := slices.DeleteFunc(all, func(p staff.Person) bool { return !matches(p, q.Get("q"), q.Get("role"), q.Get("status")) })
	v := templates.StaffListView{
		Shell: k.shell("Staff"), Search: q.Get("q"), Roles: chosen(roleOptions(), q.Get("role")),
		Statuses: chosen([]templates.Option{{Value: "active", Label: "Active"}, {Value: "invited", Label: "Invited"}, {Value: "deactivated", Label: "Deactivated"}}, q.Get("status")),
		State:    templates.ListState{Filtered: filtered(q, staffFilters...), ClearURL: "/staff"},
		SortName: sortLink("/staff", q, staffFilters, "name", true), SortSeen: sortLink("/staff", q, staffFilters, "seen", false),
		Pager: templates.Pager{Count: peopleWords(len(people))},
	}
	if k.may(writeStaff) {
		v.InviteURL = "/staff/invite"
	}
	sortPeople(people, q.Get("sort"))
	for _, p := range people {
		v.People = append(v.People, templates.StaffRow{
			Name: p.Name, Email: p.Email, URL: staffURL(p.ID), Roles: scopeWords(p.Roles, names), SecondFactor: p.SecondFactor(), LastSeen: p.SeenAt, Status: string(p.Status),
		})
	}
	return k.show(http.StatusOK, templates.StaffList(v))
}

func matches(p staff.Person, search, role, status string) bool {
	search = strings.ToLower(strings.TrimSpace(search))
	return (search == "" || strings.Contains(strings.ToLower(p.Name+"\n"+p.Email), search)) && (status == "" || string(p.Status) == status) &&
		(role == "" || slices.ContainsFunc(p.Roles, func(r models.StaffRole) bool { return string(r.Role) == role }))
}

// sortLink sorts by a column, and the other way round where it does already; first
// is the column that sorts where none is named.
func sortLink(path string, q url.Values, filters []string, column string, first bool) templates.Sort {
	now, next := q.Get("sort"), make([]string, 0, len(filters)+1)
	for _, name := range filters {
		if value := q.Get(name); value != "" {
			next = append(next, name+"="+escape(value))
		}
	}
	s := templates.Sort{}
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
	return templates.Number(int64(n)) + " people"
}

func staffURL(person uuid.UUID) string { return "/staff/" + id.Format(id.Staff, person) }

// person is whom the address names; one that is none of this kind is no page.
func (k *call) person() (staff.Person, error) {
	if _, err := id.Parse(id.Staff, k.r.PathValue("id")); err != nil {
		return staff.Person{}, errNoPage
	}
	p, err := k.Staff.Find(k.r.Context(), k.r.PathValue("id"))
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return p, errNoPage
	}
	return p, err
}

// personForm is what the roles' form shows besides the person as they are.
type personForm struct {
	roles    []templates.RoleChoice
	version  int
	conflict *templates.Conflict
	errors   templates.Errors
}

func (k *call) staffPage() error {
	p, err := k.person()
	if err != nil {
		return err
	}
	return k.showPerson(http.StatusOK, p, nil)
}

func (k *call) showPerson(status int, p staff.Person, f *personForm) error {
	names, err := k.slugs()
	if err != nil {
		return err
	}
	v := templates.StaffPersonView{
		Shell: k.shell(p.Name, allStaff), URL: staffURL(p.ID), ID: id.Format(id.Staff, p.ID), Name: p.Name, Email: p.Email, Status: string(p.Status),
		SecondFactor: p.SecondFactor(), LastSeen: p.SeenAt, AccessURL: staffURL(p.ID) + "/access", StepUp: k.stepUp(),
		Version: int64(p.RowVersion), Roles: roleChoices(p.Roles, names),
	}
	if f != nil {
		v.Roles, v.Version, v.Conflict, v.Errors = f.roles, int64(f.version), f.conflict, f.errors
	} else {
		v.Tab = k.r.URL.Query().Get("tab")
	}
	switch {
	case !k.may(writeStaff):
		v.Locked = "Your roles let you look at the staff, not change them."
	case p.ID == k.session.Staff.ID:
		v.Locked = "Nobody changes their own roles: ask another administrator."
	default:
		if p.Status == models.StaffInvited {
			v.Invite = k.inviteAgainView(p, nil)
		}
		if p.Status == models.StaffDeactivated {
			v.Reactivate = k.reactivateView(p, nil)
		} else {
			v.Deactivate = k.deactivateView(p, nil)
		}
		if p.SecondFactor() {
			v.Reset = k.resetView(p, nil)
		}
	}
	if v.Locked != "" {
		for i := range v.Roles {
			v.Roles[i].Locked = "Given: " + yesOrNo(v.Roles[i].Chosen)
		}
	}
	if err := k.fillTab(&v, p); err != nil {
		return err
	}
	return k.show(status, templates.StaffPerson(v))
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// fillTab reads what the open tab shows.
func (k *call) fillTab(v *templates.StaffPersonView, p staff.Person) error {
	switch v.Tab {
	case "sessions":
		sessions, err := k.Staff.Sessions(k.r.Context(), p.ID)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			row := sessionRow(s, s.ID == k.session.ID, v.URL+"/sessions/")
			if !k.may(writeStaff) {
				row.RevokeURL = ""
			}
			v.Sessions = append(v.Sessions, row)
		}
		if k.may(writeStaff) && p.ID != k.session.Staff.ID {
			v.RevokeAll = v.URL + "/sessions/end"
		}
	case "audit":
		sc, ok := k.access.Scope(k.session.Staff.ID, readAudit)
		if !ok {
			v.State.Failed = "None of your roles lets you see the audit trail."
			return nil
		}
		q := k.r.URL.Query()
		found, err := k.Audit.List(k.r.Context(), sc, audit.Filter{About: audit.Subject{Staff: p.ID, ID: v.ID}}, pageByKey(q))
		if err != nil {
			return err
		}
		v.Events, v.Pager = k.auditRows(found.Events), auditPager(v.URL, q, found)
	default:
		v.Tab = "roles"
	}
	return nil
}

// staffAccess answers what a person may do, and why.
func (k *call) staffAccess() error {
	p, err := k.person()
	if err != nil {
		return err
	}
	names, err := k.slugs()
	if err != nil {
		return err
	}
	v := templates.AccessExplainedView{
		Shell: k.shell("What "+p.Name+" may do", allStaff, templates.Link{Label: p.Name, URL: staffURL(p.ID)}), Name: p.Name,
	}
	if p.Status != models.StaffActive {
		v.Note = "This person is " + string(p.Status) + ": nothing holds until they are active."
	}
	everywhere, somewhere := map[authz.Permission]bool{}, map[authz.Permission]bool{}
	for _, g := range k.access.Explain(p.ID) {
		what, where := permissionWords(g.Permission), "all partners"
		if g.Partner == nil {
			everywhere[g.Permission] = true
		} else {
			somewhere[g.Permission] = true
			what, _ = divide(g.Permission)
			where = names.of(*g.Partner)
		}
		if what != "" {
			v.Allowed = append(v.Allowed, templates.Permission{
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
		what, role := permissionWords(line.Permission), k.rolesThat(line.Permission)
		if somewhere[line.Permission] {
			_, what = divide(line.Permission)
			role += ", for all partners"
		}
		if what != "" {
			v.Denied = append(v.Denied, templates.Permission{What: what, Role: role})
		}
	}
	return k.show(http.StatusOK, templates.AccessExplained(v))
}

// rolesThat names the roles that give a permission.
func (k *call) rolesThat(p authz.Permission) string {
	var names []string
	for _, r := range k.access.RolesThat(p) {
		names = append(names, staff.RoleName(r))
	}
	return strings.Join(names, " or ")
}
