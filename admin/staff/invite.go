package staff

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/staff"
	view "github.com/pingpost/pingpost/templates/staff"
)

func (h *Handlers) invitePage(k *web.Request) error {
	return h.showInvite(k, http.StatusOK, view.StaffInviteView{Roles: roleChoices(nil, nil)})
}

func (h *Handlers) showInvite(k *web.Request, status int, v view.StaffInviteView) error {
	v.Shell, v.Action, v.Cancel, v.StepUp = k.Shell("Invite user", allStaff), "/staff/invite", "/staff", k.StepUp()
	return k.Show(status, view.StaffInvite(v))
}

func (h *Handlers) invite(k *web.Request) error {
	form := k.R.PostForm
	typed := view.StaffInviteView{
		Email: web.Short(form.Get("email")),
		Name:  web.Short(form.Get("name")),
		Roles: typedRoles(form),
	}
	roles, mistakes, err := readRoles(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			made, err := h.Staff.By(k.By).Invite(k.R.Context(), staff.NewMember{
				Email: form.Get("email"),
				Name:  form.Get("name"),
				Roles: roles,
			})
			if err != nil {
				return "", err
			}
			return "", h.showInvited(k, made)
		},
		FieldOf: func(f *apperr.Error) string {
			return map[string]string{
				"email":       "email",
				"email_taken": "email",
				"name":        "name",
				"role":        "role",
			}[f.Reason]
		},
		Show: func(r web.Rejected) error {
			typed.Errors = r.Errors
			return h.showInvite(k, r.Status, typed)
		},
	})
}

// showInvited shows the link of a new invitation. The link cannot be shown again.
func (h *Handlers) showInvited(k *web.Request, made staff.Invited) error {
	return k.ShowSecret(http.StatusOK, view.StaffInvited(view.StaffInvitedView{
		Shell:      k.Shell("Invitation for "+made.Name, allStaff),
		Name:       made.Name,
		Email:      made.Email,
		Link:       h.AdminURL + "/invite/" + made.Token,
		ValidWords: "for 72 hours, until " + k.Now.Add(staff.InvitationLife).Format("2006-01-02 15:04 UTC"),
		PersonURL:  web.StaffURL(made.ID),
	}))
}
