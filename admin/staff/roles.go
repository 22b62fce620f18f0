package staff

import (
	"net/url"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// roleHints contains the description of each role, for forms.
var roleHints = map[models.Role]string{
	models.Administrator:  "Invites users, assigns roles and views the audit log.",
	models.AccountManager: "Onboards partners and manages their accounts, signing and secrets.",
	models.PricingManager: "Edits and publishes prices.",
	models.Finance:        "Pays partners, decides returns, reconciles files and can reveal consumers' personal data.",
	models.Privacy:        "Reveals and erases consumers' personal data, places legal holds, accepts retention periods and replaces disclosure texts. Cannot view prices or payouts.",
	models.Auditor:        "Views everything, but cannot make changes.",
}

func roleOptions() (all []ui.Option) {
	for _, r := range models.Roles {
		all = append(all, ui.Option{Value: string(r), Label: ui.Sentence(staff.RoleName(r))})
	}
	return all
}

// roleChoices returns the checkboxes for all roles. The given roles are selected, with the slugs of
// the partners that they are limited to.
func roleChoices(roles []models.StaffRole, names web.PartnerNames) (all []ui.RoleChoice) {
	for _, r := range models.Roles {
		c := ui.RoleChoice{
			Value:    string(r),
			Label:    ui.Sentence(staff.RoleName(r)),
			Hint:     roleHints[r],
			Scopable: r != models.Administrator,
		}
		var at []string
		for _, given := range roles {
			if given.Role != r {
				continue
			}
			c.Selected = true
			if given.PartnerID != nil {
				at = append(at, names.Of(*given.PartnerID))
			}
		}
		everywhere := slices.ContainsFunc(roles, func(g models.StaffRole) bool { return g.Role == r && g.PartnerID == nil })
		c.Some = c.Selected && !everywhere
		slices.Sort(at)
		c.Partners = strings.Join(at, ", ")
		all = append(all, c)
	}
	return all
}

// roleFields returns the names of the fields for roles.
func roleFields() []string {
	names := []string{"role"}
	for _, role := range models.Roles {
		names = append(names, "scope-"+string(role), "partners-"+string(role))
	}
	return names
}

// typedRoles returns the checkboxes for all roles as the user submitted them.
func typedRoles(form url.Values) (all []ui.RoleChoice) {
	for _, c := range roleChoices(nil, nil) {
		c.Selected = slices.Contains(form["role"], c.Value)
		c.Some, c.Partners = form.Get("scope-"+c.Value) == "some", web.Short(form.Get("partners-"+c.Value))
		all = append(all, c)
	}
	return all
}

// readRoles reads the roles that the user submitted. Partners are separated by commas, and each is a slug, an ID or
// a part of a name.
func readRoles(k *web.Request) (roles []models.StaffRole, mistakes ui.Errors, err error) {
	form := k.R.PostForm
	for _, value := range form["role"] {
		role := models.Role(value)
		if !slices.Contains(models.Roles[:], role) {
			return nil, ui.Errors{{Field: "role", Message: "Choose a role from the list."}}, nil
		}
		if form.Get("scope-"+value) != "some" || role == models.Administrator {
			roles = append(roles, models.StaffRole{Role: role})
			continue
		}
		field := "partners-" + value
		listed := slices.DeleteFunc(strings.FieldsFunc(form.Get(field), func(r rune) bool { return strings.ContainsRune(",\r\n", r) }),
			func(text string) bool { return strings.TrimSpace(text) == "" })
		if len(listed) == 0 {
			mistakes = append(mistakes, ui.FieldError{
				Field:   field,
				Message: "Enter at least one partner for the role " + staff.RoleName(role) + ", or choose all partners.",
			})
		}
		for _, option := range listed {
			p, problem, err := k.FindPartner(k.Scope, field, option)
			if err != nil {
				return nil, nil, err
			}
			if problem != nil {
				mistakes = append(mistakes, web.AtField(*problem, field))
				continue
			}
			roles = append(roles, models.StaffRole{Role: role, PartnerID: &p.ID})
		}
	}
	if len(roles) == 0 && len(mistakes) == 0 {
		mistakes = ui.Errors{{Field: "role", Message: "Choose at least one role."}}
	}
	return roles, mistakes, nil
}

func (h *Handlers) setRoles(k *web.Request) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	typed := personForm{roles: typedRoles(k.R.PostForm)}
	roles, mistakes, err := readRoles(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.StaffURL(p.ID), h.Staff.By(k.By).SetRoles(k.R.Context(), p.ID, k.FormRowVersion(), roles)
		},
		Reload: func() (version int, conflict *ui.Conflict, err error) {
			if p, err = h.Staff.Find(k.R.Context(), id.Format(id.Staff, p.ID)); err != nil {
				return 0, nil, err
			}
			conflict, err = k.Conflict("staff", id.Format(id.Staff, p.ID), p.UpdatedAt)
			return p.RowVersion, conflict, err
		},
		Show: func(r web.Rejected) error {
			if r.Err != nil && r.Conflict == nil {
				return h.showRejected(k, p, r.Err)
			}
			typed.Rejected = r
			return h.showMember(k, r.Status, p, &typed)
		},
	})
}
