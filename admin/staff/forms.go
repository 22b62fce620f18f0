package staff

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// roleHints say in a sentence what each role is for.
var roleHints = map[models.Role]string{
	models.Administrator:  "Invites staff, gives roles, and sees the audit trail.",
	models.AccountManager: "Takes partners on: accounts, signing, secrets.",
	models.PricingManager: "Owns the prices: drafts, and publishes them.",
	models.Finance:        "Pays partners, and reconciles their lists.",
	models.Auditor:        "Sees everything and changes nothing.",
}

func roleOptions() (all []ui.Option) {
	for _, r := range models.Roles {
		all = append(all, ui.Option{Value: string(r), Label: web.Title(staff.RoleName(r))})
	}
	return all
}

// roleChoices are the boxes of a person's roles. A role that holds at some partners
// shows their slugs.
func roleChoices(roles []models.StaffRole, names web.PartnerNames) (all []ui.RoleChoice) {
	for _, r := range models.Roles {
		c := ui.RoleChoice{Value: string(r), Label: web.Title(staff.RoleName(r)), Hint: roleHints[r], Scopable: r != models.Administrator}
		var at []string
		for _, given := range roles {
			if given.Role != r {
				continue
			}
			c.Chosen = true
			if given.PartnerID != nil {
				at = append(at, names.Of(*given.PartnerID))
			}
		}
		everywhere := slices.ContainsFunc(roles, func(g models.StaffRole) bool { return g.Role == r && g.PartnerID == nil })
		c.Some = c.Chosen && !everywhere
		slices.Sort(at)
		c.Partners = strings.Join(at, ", ")
		all = append(all, c)
	}
	return all
}

// typedRoles are the boxes as they were sent.
func typedRoles(form url.Values) (all []ui.RoleChoice) {
	for _, c := range roleChoices(nil, nil) {
		c.Chosen = slices.Contains(form["role"], c.Value)
		c.Some, c.Partners = form.Get("scope-"+c.Value) == "some", web.Short(form.Get("partners-"+c.Value))
		all = append(all, c)
	}
	return all
}

// readRoles makes roles of the form; what is wrong is told with the field.
func readRoles(form url.Values, names web.PartnerNames) (roles []models.StaffRole, mistakes ui.Errors) {
	bySlug := make(map[string]uuid.UUID, len(names))
	for partner, slug := range names {
		bySlug[slug] = partner
	}
	for _, value := range form["role"] {
		role := models.Role(value)
		if !slices.Contains(models.Roles[:], role) {
			return nil, ui.Errors{{Field: "role", Message: "Choose among the roles that are listed."}}
		}
		if form.Get("scope-"+value) != "some" || role == models.Administrator {
			roles = append(roles, models.StaffRole{Role: role})
			continue
		}
		field := "partners-" + value
		listed := strings.FieldsFunc(form.Get(field), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
		if len(listed) == 0 {
			mistakes = append(mistakes, ui.FieldError{Field: field, Message: "Name the partners that " + staff.RoleName(role) + " is for, or choose all partners."})
		}
		for _, slug := range listed {
			partner, ok := bySlug[slug]
			if !ok {
				mistakes = append(mistakes, ui.FieldError{Field: field, Message: "There is no partner with the slug " + web.Short(slug) + "."})
				continue
			}
			roles = append(roles, models.StaffRole{Role: role, PartnerID: &partner})
		}
	}
	if len(roles) == 0 && len(mistakes) == 0 {
		mistakes = ui.Errors{{Field: "role", Message: "Choose at least one role."}}
	}
	return roles, mistakes
}

func (h *Handlers) staffInvitePage(k *web.Request) error {
	return h.showStaffInvite(k, http.StatusOK, view.StaffInviteView{Roles: roleChoices(nil, nil)})
}

func (h *Handlers) showStaffInvite(k *web.Request, status int, v view.StaffInviteView) error {
	v.Shell, v.Action, v.Cancel, v.StepUp = k.Shell("Invite somebody", allStaff), "/staff/invite", "/staff", web.StepUp(k)
	return k.Show(status, view.StaffInvite(v))
}

func (h *Handlers) staffInvite(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	form := k.R.PostForm
	typed := view.StaffInviteView{Email: web.Short(form.Get("email")), Name: web.Short(form.Get("name")), Roles: typedRoles(form)}
	names, err := web.AllPartnerNames(k)
	if err != nil {
		return err
	}
	roles, mistakes := readRoles(form, names)
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		StepUp:   web.StepUpRequired,
		Do: func() (string, error) {
			made, err := h.Staff.Invite(k.R.Context(), k.By, staff.NewPerson{Email: form.Get("email"), Name: form.Get("name"), Roles: roles})
			if err != nil {
				return "", err
			}
			return "", h.showInvited(k, made)
		},
		Show: func(r web.Rejected) error {
			if r.Err != nil {
				r.Errors[0].Field = map[string]string{"email": "email", "email_taken": "email", "name": "name", "role": "role"}[apperr.As(r.Err).Reason]
			}
			typed.Errors = r.Errors
			return h.showStaffInvite(k, r.Status, typed)
		},
	})
}

// showInvited shows an invitation's link, this once.
func (h *Handlers) showInvited(k *web.Request, made staff.Invited) error {
	scheme := "http"
	if k.Production() {
		scheme = "https"
	}
	return k.ShowSecret(http.StatusOK, view.StaffInvited(view.StaffInvitedView{
		Shell: k.Shell("Invitation for "+made.Name, allStaff), Name: made.Name, Email: made.Email, Link: scheme + "://" + k.R.Host + "/invite/" + made.Token,
		ValidWords: "for 72 hours, until " + k.Now.Add(staff.InvitationLife).Format("2006-01-02 15:04 UTC"), PersonURL: web.StaffURL(made.ID),
	}))
}

func (h *Handlers) inviteAgain(k *web.Request) error {
	var made staff.Invited
	return h.confirmed(k, h.inviteAgainView, func(p staff.Person) (err error) {
		made, err = h.Staff.RenewInvitation(k.R.Context(), k.By, p.ID)
		return err
	}, func(k *web.Request, _ staff.Person) error { return h.showInvited(k, made) })
}

// refusedOnPage shows a rule that refuses on the person's page; Forbidden ones and
// the last administrator's are in the audit trail too.
func (h *Handlers) refusedOnPage(k *web.Request, p staff.Person, err error) error {
	return web.Reject(k, err, web.Form{Show: func(r web.Rejected) error {
		f := apperr.As(r.Err)
		if f.Code == apperr.NotFound {
			return r.Err
		}
		web.AuditRefusal(k, f)
		fresh, err := h.Staff.Find(k.R.Context(), id.Format(id.Staff, p.ID))
		if err != nil {
			return err
		}
		k.Notices = append(k.Notices, web.Notice{Kind: "bad", Text: r.Message()})
		return h.showPerson(k, r.Status, fresh, nil)
	}})
}

func (h *Handlers) staffRoles(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	p, err := h.person(k)
	if err != nil {
		return err
	}
	names, err := web.AllPartnerNames(k)
	if err != nil {
		return err
	}
	form := k.R.PostForm
	typed := personForm{roles: typedRoles(form), version: web.FormVersion(k)}
	roles, mistakes := readRoles(form, names)
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		StepUp:   web.StepUpRequired,
		Do: func() (string, error) {
			return web.StaffURL(p.ID), h.Staff.SetRoles(k.R.Context(), k.By, p.ID, web.FormVersion(k), roles)
		},
		Reload: func() (_ *ui.Conflict, err error) {
			if p, err = h.Staff.Find(k.R.Context(), id.Format(id.Staff, p.ID)); err != nil {
				return nil, err
			}
			typed.version = p.RowVersion
			return web.Conflict(k, "staff", id.Format(id.Staff, p.ID), p.UpdatedAt)
		},
		Show: func(r web.Rejected) error {
			if r.Err != nil && r.Conflict == nil {
				return h.refusedOnPage(k, p, r.Err)
			}
			typed.conflict, typed.errors = r.Conflict, r.Errors
			return h.showPerson(k, r.Status, p, &typed)
		},
	})
}

func (h *Handlers) deactivateView(k *web.Request, p staff.Person, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell: k.Shell("Deactivate "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}), Prefix: "deactivate", Action: web.StaffURL(p.ID) + "/deactivate",
		Consequence: p.Name + " is signed out everywhere at once, and cannot sign in again until an administrator reactivates them. What they did stays on record.",
		TypeName:    p.Email, StepUp: web.StepUp(k), Submit: "Deactivate", Cancel: web.StaffURL(p.ID),
		Hidden: []ui.Hidden{{Name: "version", Value: strconv.Itoa(p.RowVersion)}}, Name: web.Short(k.R.PostForm.Get("name")), Errors: mistakes,
	}
}

func (h *Handlers) resetView(k *web.Request, p staff.Person, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell: k.Shell("Reset the second factor of "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}), Prefix: "reset", Action: web.StaffURL(p.ID) + "/reset-second-factor",
		Consequence: "Their authenticator and recovery codes stop working, and they are signed out everywhere. Make sure that it is really " + p.Name + " who asks.",
		TypeName:    p.Email, StepUp: web.StepUp(k), Submit: "Reset the second factor", Cancel: web.StaffURL(p.ID), Name: web.Short(k.R.PostForm.Get("name")), Errors: mistakes,
	}
}

func (h *Handlers) reactivateView(k *web.Request, p staff.Person, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell: k.Shell("Reactivate "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}), Prefix: "reactivate", Action: web.StaffURL(p.ID) + "/reactivate",
		Consequence: p.Name + " can sign in again with the same password and roles.", StepUp: web.StepUp(k), Submit: "Reactivate", Harmless: true, Cancel: web.StaffURL(p.ID),
		Hidden: []ui.Hidden{{Name: "version", Value: strconv.Itoa(p.RowVersion)}}, Errors: mistakes,
	}
}

func (h *Handlers) inviteAgainView(k *web.Request, p staff.Person, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell: k.Shell("New invitation for "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}), Prefix: "invite", Action: web.StaffURL(p.ID) + "/invite",
		Consequence: "This creates a new invitation link for " + p.Name + ". The previous link stops working.", StepUp: web.StepUp(k), Submit: "Create invitation", Harmless: true, Cancel: web.StaffURL(p.ID),
		Hidden: []ui.Hidden{{Name: ui.FormKeyField, Value: k.FormKey()}}, Errors: mistakes,
	}
}

func (h *Handlers) deactivatePage(k *web.Request) error { return h.confirmPageOf(k, h.deactivateView) }

func (h *Handlers) resetPage(k *web.Request) error { return h.confirmPageOf(k, h.resetView) }

func (h *Handlers) reactivatePage(k *web.Request) error { return h.confirmPageOf(k, h.reactivateView) }

func (h *Handlers) inviteAgainPage(k *web.Request) error {
	return h.confirmPageOf(k, h.inviteAgainView)
}

func (h *Handlers) confirmPageOf(k *web.Request, view func(*web.Request, staff.Person, ui.Errors) *ui.ConfirmView) error {
	p, err := h.person(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.Confirm(*view(k, p, nil)))
}

func (h *Handlers) deactivate(k *web.Request) error {
	return h.confirmed(k, h.deactivateView, func(p staff.Person) error {
		return h.Staff.Deactivate(k.R.Context(), k.By, p.ID, web.FormVersion(k))
	}, h.toPerson)
}

func (h *Handlers) reset(k *web.Request) error {
	return h.confirmed(k, h.resetView, func(p staff.Person) error { return h.Staff.ResetSecondFactor(k.R.Context(), k.By, p.ID) }, h.toPerson)
}

func (h *Handlers) reactivate(k *web.Request) error {
	return h.confirmed(k, h.reactivateView, func(p staff.Person) error {
		return h.Staff.Reactivate(k.R.Context(), k.By, p.ID, web.FormVersion(k))
	}, h.toPerson)
}

func (h *Handlers) toPerson(k *web.Request, p staff.Person) error {
	return k.Redirect(web.StaffURL(p.ID))
}

// confirmed checks the typed name, if the view asks for one, and the step-up proof. Then it
// runs do and answers with then.
func (h *Handlers) confirmed(k *web.Request, view func(*web.Request, staff.Person, ui.Errors) *ui.ConfirmView, do func(staff.Person) error, then func(*web.Request, staff.Person) error) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	p, err := h.person(k)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	if name := view(k, p, nil).TypeName; !strings.EqualFold(strings.TrimSpace(k.R.PostForm.Get("name")), name) && name != "" {
		mistakes = append(mistakes, ui.FieldError{Field: "name", Message: "Type " + p.Email + ", to be sure that it is them."})
	}
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		StepUp:   web.StepUpRequired,
		Do: func() (string, error) {
			if err := do(p); err != nil {
				return "", err
			}
			return "", then(k, p)
		},
		Show: func(r web.Rejected) error {
			if r.Err != nil {
				return h.refusedOnPage(k, p, r.Err)
			}
			return k.Show(r.Status, ui.Confirm(*view(k, p, r.Errors)))
		},
	})
}

func (h *Handlers) endSession(k *web.Request) error {
	p, err := h.person(k)
	if err != nil {
		return err
	}
	session, err := id.Parse(id.Session, k.R.PathValue("session"))
	if err != nil {
		return web.ErrNotFound
	}
	if err := h.Staff.EndSession(k.R.Context(), k.By, p.ID, session); err != nil {
		return err
	}
	return k.Redirect(web.StaffURL(p.ID) + "?tab=sessions")
}

func (h *Handlers) endSessions(k *web.Request) error {
	p, err := h.person(k)
	if err != nil {
		return err
	}
	if err := h.Staff.EndSessions(k.R.Context(), k.By, p.ID, uuid.Nil); err != nil {
		return err
	}
	return k.Redirect(web.StaffURL(p.ID) + "?tab=sessions")
}
