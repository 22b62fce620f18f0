package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// roleHints say in a sentence what each role is for.
var roleHints = map[models.Role]string{
	models.Administrator:  "Invites staff, gives roles, and sees the audit trail.",
	models.AccountManager: "Takes partners on: accounts, signing, secrets.",
	models.PricingManager: "Owns the prices: drafts, and publishes them.",
	models.Finance:        "Pays partners, and reconciles their lists.",
	models.Auditor:        "Sees everything and changes nothing.",
}

func roleOptions() (all []templates.Option) {
	for _, r := range models.Roles {
		all = append(all, templates.Option{Value: string(r), Label: title(staff.RoleName(r))})
	}
	return all
}

func title(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// roleChoices are the boxes of a person's roles. A role that holds at some partners
// shows their slugs.
func roleChoices(roles []models.StaffRole, names slugs) (all []templates.RoleChoice) {
	for _, r := range models.Roles {
		c := templates.RoleChoice{Value: string(r), Label: title(staff.RoleName(r)), Hint: roleHints[r], Scopable: r != models.Administrator}
		var at []string
		for _, given := range roles {
			if given.Role != r {
				continue
			}
			c.Chosen = true
			if given.PartnerID != nil {
				at = append(at, names.of(*given.PartnerID))
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
func typedRoles(form url.Values) (all []templates.RoleChoice) {
	for _, c := range roleChoices(nil, nil) {
		c.Chosen = slices.Contains(form["role"], c.Value)
		c.Some, c.Partners = form.Get("scope-"+c.Value) == "some", short(form.Get("partners-"+c.Value))
		all = append(all, c)
	}
	return all
}

// readRoles makes roles of the form; what is wrong is told with the field.
func readRoles(form url.Values, names slugs) (roles []models.StaffRole, mistakes templates.Errors) {
	bySlug := make(map[string]uuid.UUID, len(names))
	for partner, slug := range names {
		bySlug[slug] = partner
	}
	for _, value := range form["role"] {
		role := models.Role(value)
		if !slices.Contains(models.Roles[:], role) {
			return nil, templates.Errors{{Field: "role", Message: "Choose among the roles that are listed."}}
		}
		if form.Get("scope-"+value) != "some" || role == models.Administrator {
			roles = append(roles, models.StaffRole{Role: role})
			continue
		}
		field := "partners-" + value
		listed := strings.FieldsFunc(form.Get(field), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
		if len(listed) == 0 {
			mistakes = append(mistakes, templates.FieldError{Field: field, Message: "Name the partners that " + staff.RoleName(role) + " is for, or choose all partners."})
		}
		for _, slug := range listed {
			partner, ok := bySlug[slug]
			if !ok {
				mistakes = append(mistakes, templates.FieldError{Field: field, Message: "There is no partner with the slug " + short(slug) + "."})
				continue
			}
			roles = append(roles, models.StaffRole{Role: role, PartnerID: &partner})
		}
	}
	if len(roles) == 0 && len(mistakes) == 0 {
		mistakes = templates.Errors{{Field: "role", Message: "Choose at least one role."}}
	}
	return roles, mistakes
}

func (k *call) staffInvitePage() error {
	return k.showStaffInvite(http.StatusOK, templates.StaffInviteView{Roles: roleChoices(nil, nil)})
}

func (k *call) showStaffInvite(status int, v templates.StaffInviteView) error {
	v.Shell, v.Action, v.Cancel, v.StepUp = k.shell("Invite somebody", allStaff), "/staff/invite", "/staff", k.stepUp()
	return k.show(status, templates.StaffInvite(v))
}

func (k *call) staffInvite() error {
	if err := k.form(); err != nil {
		return err
	}
	form := k.r.PostForm
	typed := templates.StaffInviteView{Email: short(form.Get("email")), Name: short(form.Get("name")), Roles: typedRoles(form)}
	names, err := k.slugs()
	if err != nil {
		return err
	}
	roles, mistakes := readRoles(form, names)
	proof, err := k.proven()
	if err != nil {
		return err
	}
	if mistakes = append(mistakes, proof...); len(mistakes) > 0 {
		typed.Errors = mistakes
		return k.showStaffInvite(http.StatusUnprocessableEntity, typed)
	}
	made, err := k.Staff.Invite(k.r.Context(), k.by, staff.NewPerson{Email: form.Get("email"), Name: form.Get("name"), Roles: roles})
	if err != nil {
		status, message, other := k.told(err)
		if other != nil {
			return other
		}
		field := map[string]string{"email": "email", "email_taken": "email", "name": "name", "role": "role"}[apperr.As(err).Reason]
		typed.Errors = templates.Errors{{Field: field, Message: message}}
		return k.showStaffInvite(status, typed)
	}
	return k.showInvited(made)
}

// showInvited shows an invitation's link, this once.
func (k *call) showInvited(made staff.Invited) error {
	scheme := "http"
	if k.production() {
		scheme = "https"
	}
	return k.showSecret(http.StatusOK, templates.StaffInvited(templates.StaffInvitedView{
		Shell: k.shell("Invitation for "+made.Name, allStaff), Name: made.Name, Email: made.Email, Link: scheme + "://" + k.r.Host + "/invite/" + made.Token,
		ValidWords: "for 72 hours, until " + k.now.Add(staff.InvitationLife).Format("2006-01-02 15:04 UTC"), PersonURL: staffURL(made.ID),
	}))
}

func (k *call) inviteAgain() error {
	var made staff.Invited
	return k.confirmed(k.inviteAgainView, func(p staff.Person) (err error) {
		made, err = k.Staff.InviteAgain(k.r.Context(), k.by, p.ID)
		return err
	}, func(staff.Person) error { return k.showInvited(made) })
}

// refusedOnPage shows a rule that refuses on the person's page; Forbidden ones and
// the last administrator's are in the audit trail too.
func (k *call) refusedOnPage(p staff.Person, err error) error {
	f := apperr.As(err)
	status, message, other := k.told(err)
	if other != nil || f.Code == apperr.NotFound {
		return err
	}
	k.auditRefusal(f)
	fresh, err := k.Staff.Find(k.r.Context(), id.Format(id.Staff, p.ID))
	if err != nil {
		return err
	}
	k.notices = append(k.notices, notice{Kind: "bad", Text: message})
	return k.showPerson(status, fresh, nil)
}

func (k *call) staffRoles() error {
	if err := k.form(); err != nil {
		return err
	}
	p, err := k.person()
	if err != nil {
		return err
	}
	names, err := k.slugs()
	if err != nil {
		return err
	}
	form := k.r.PostForm
	version := k.version()
	typed := personForm{roles: typedRoles(form), version: version}
	roles, mistakes := readRoles(form, names)
	proof, err := k.proven()
	if err != nil {
		return err
	}
	if typed.errors = append(mistakes, proof...); len(typed.errors) > 0 {
		return k.showPerson(http.StatusUnprocessableEntity, p, &typed)
	}
	err = k.Staff.SetRoles(k.r.Context(), k.by, p.ID, version, roles)
	switch {
	case err == nil:
		return k.to(staffURL(p.ID))
	case isStale(err):
		return k.showConflict(p, typed)
	default:
		return k.refusedOnPage(p, err)
	}
}

// showConflict shows what somebody else did meanwhile above what was chosen here,
// which may be sent again knowing that.
func (k *call) showConflict(p staff.Person, typed personForm) error {
	fresh, err := k.Staff.Find(k.r.Context(), id.Format(id.Staff, p.ID))
	if err != nil {
		return err
	}
	typed.version = fresh.RowVersion
	if typed.conflict, err = k.conflict("staff", id.Format(id.Staff, p.ID), fresh.UpdatedAt); err != nil {
		return err
	}
	return k.showPerson(http.StatusConflict, fresh, &typed)
}

func (k *call) deactivateView(p staff.Person, mistakes templates.Errors) *templates.ConfirmView {
	return &templates.ConfirmView{
		Shell: k.shell("Deactivate "+p.Name, allStaff, templates.Link{Label: p.Name, URL: staffURL(p.ID)}), Prefix: "deactivate", Action: staffURL(p.ID) + "/deactivate",
		Consequence: p.Name + " is signed out everywhere at once, and cannot sign in again until an administrator reactivates them. What they did stays on record.",
		TypeName:    p.Email, StepUp: k.stepUp(), Submit: "Deactivate", Cancel: staffURL(p.ID),
		Hidden: []templates.Hidden{{Name: "version", Value: strconv.Itoa(p.RowVersion)}}, Name: short(k.r.PostForm.Get("name")), Errors: mistakes,
	}
}

func (k *call) resetView(p staff.Person, mistakes templates.Errors) *templates.ConfirmView {
	return &templates.ConfirmView{
		Shell: k.shell("Reset the second factor of "+p.Name, allStaff, templates.Link{Label: p.Name, URL: staffURL(p.ID)}), Prefix: "reset", Action: staffURL(p.ID) + "/reset-second-factor",
		Consequence: "Their authenticator and recovery codes stop working, and they are signed out everywhere. Make sure that it is really " + p.Name + " who asks.",
		TypeName:    p.Email, StepUp: k.stepUp(), Submit: "Reset the second factor", Cancel: staffURL(p.ID), Name: short(k.r.PostForm.Get("name")), Errors: mistakes,
	}
}

func (k *call) reactivateView(p staff.Person, mistakes templates.Errors) *templates.ConfirmView {
	return &templates.ConfirmView{
		Shell: k.shell("Reactivate "+p.Name, allStaff, templates.Link{Label: p.Name, URL: staffURL(p.ID)}), Prefix: "reactivate", Action: staffURL(p.ID) + "/reactivate",
		Consequence: p.Name + " can sign in again with the same password and roles.", StepUp: k.stepUp(), Submit: "Reactivate", Harmless: true, Cancel: staffURL(p.ID),
		Hidden: []templates.Hidden{{Name: "version", Value: strconv.Itoa(p.RowVersion)}}, Errors: mistakes,
	}
}

func (k *call) inviteAgainView(p staff.Person, mistakes templates.Errors) *templates.ConfirmView {
	return &templates.ConfirmView{
		Shell: k.shell("New invitation for "+p.Name, allStaff, templates.Link{Label: p.Name, URL: staffURL(p.ID)}), Prefix: "invite", Action: staffURL(p.ID) + "/invite",
		Consequence: "This creates a new invitation link for " + p.Name + ". The previous link stops working.", StepUp: k.stepUp(), Submit: "Create invitation", Harmless: true, Cancel: staffURL(p.ID),
		Hidden: []templates.Hidden{{Name: templates.FormKeyField, Value: k.formKey()}}, Errors: mistakes,
	}
}

func (k *call) deactivatePage() error  { return k.confirmPageOf(k.deactivateView) }
func (k *call) resetPage() error       { return k.confirmPageOf(k.resetView) }
func (k *call) reactivatePage() error  { return k.confirmPageOf(k.reactivateView) }
func (k *call) inviteAgainPage() error { return k.confirmPageOf(k.inviteAgainView) }

func (k *call) confirmPageOf(view func(staff.Person, templates.Errors) *templates.ConfirmView) error {
	p, err := k.person()
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.Confirm(*view(p, nil)))
}

func (k *call) deactivate() error {
	return k.confirmed(k.deactivateView, func(p staff.Person) error {
		return k.Staff.Deactivate(k.r.Context(), k.by, p.ID, k.version())
	}, k.toPerson)
}

func (k *call) reset() error {
	return k.confirmed(k.resetView, func(p staff.Person) error { return k.Staff.ResetSecondFactor(k.r.Context(), k.by, p.ID) }, k.toPerson)
}

func (k *call) reactivate() error {
	return k.confirmed(k.reactivateView, func(p staff.Person) error {
		return k.Staff.Reactivate(k.r.Context(), k.by, p.ID, k.version())
	}, k.toPerson)
}

func (k *call) toPerson(p staff.Person) error { return k.to(staffURL(p.ID)) }

// confirmed checks the typed name, if the view asks for one, and the step-up proof. Then it
// runs do and answers with then.
func (k *call) confirmed(view func(staff.Person, templates.Errors) *templates.ConfirmView, do, then func(staff.Person) error) error {
	if err := k.form(); err != nil {
		return err
	}
	p, err := k.person()
	if err != nil {
		return err
	}
	var mistakes templates.Errors
	if name := view(p, nil).TypeName; !strings.EqualFold(strings.TrimSpace(k.r.PostForm.Get("name")), name) && name != "" {
		mistakes = append(mistakes, templates.FieldError{Field: "name", Message: "Type " + p.Email + ", to be sure that it is them."})
	}
	proof, err := k.proven()
	if err != nil {
		return err
	}
	if mistakes = append(mistakes, proof...); len(mistakes) > 0 {
		return k.show(http.StatusUnprocessableEntity, templates.Confirm(*view(p, mistakes)))
	}
	if err := do(p); err != nil {
		return k.refusedOnPage(p, err)
	}
	return then(p)
}

func (k *call) endSession() error {
	p, err := k.person()
	if err != nil {
		return err
	}
	session, err := id.Parse(id.Session, k.r.PathValue("session"))
	if err != nil {
		return errNoPage
	}
	if err := k.Staff.EndSession(k.r.Context(), k.by, p.ID, session); err != nil {
		return err
	}
	return k.to(staffURL(p.ID) + "?tab=sessions")
}

func (k *call) endSessions() error {
	p, err := k.person()
	if err != nil {
		return err
	}
	if err := k.Staff.EndSessions(k.r.Context(), k.by, p.ID, uuid.Nil); err != nil {
		return err
	}
	return k.to(staffURL(p.ID) + "?tab=sessions")
}
