package staff

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) accessPage(k *web.Request) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	names, err := k.AllPartnerNames()
	if err != nil {
		return err
	}
	v := view.AccessExplainedView{
		Shell: k.Shell("Permissions for "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
		Name:  p.Name,
	}
	if p.Status != models.StaffActive {
		v.Note = "This user is " + string(p.Status) + ". These permissions apply once the user is active."
	}
	everywhere, somewhere := map[authz.Permission]bool{}, map[authz.Permission]bool{}
	for _, g := range k.Access.Explain(p.ID) {
		what, where := web.PermissionLabel(g.Permission), "All partners"
		if g.Partner == nil {
			everywhere[g.Permission] = true
		} else {
			somewhere[g.Permission] = true
			what, _ = web.PermissionLabelsByScope(g.Permission)
			where = names.Of(*g.Partner)
		}
		if what != "" {
			v.Allowed = append(v.Allowed, view.Permission{
				What:   ui.Sentence(what),
				Where:  where,
				Role:   ui.Sentence(staff.RoleName(g.Role)),
				Policy: "p, " + string(g.Role) + ", " + g.Permission.String(),
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
		what, role := web.PermissionLabel(line.Permission), k.RoleNamesGranting(line.Permission)
		if somewhere[line.Permission] {
			_, what = web.PermissionLabelsByScope(line.Permission)
			role += ", for all partners"
		}
		if what != "" {
			v.Denied = append(v.Denied, view.Permission{What: ui.Sentence(what), Role: ui.Sentence(role)})
		}
	}
	return k.Show(http.StatusOK, view.AccessExplained(v))
}
