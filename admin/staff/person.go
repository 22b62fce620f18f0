package staff

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) member(k *web.Request) (staff.Member, error) {
	if _, err := k.PathID("id", id.Staff); err != nil {
		return staff.Member{}, err
	}
	p, err := h.Staff.Find(k.R.Context(), k.R.PathValue("id"))
	return p, web.OrNotFound(err)
}

// personForm contains the submitted values and the errors of the roles form.
type personForm struct {
	roles []ui.RoleChoice
	web.Rejected
}

func (h *Handlers) memberPage(k *web.Request) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	return h.showMember(k, http.StatusOK, p, nil)
}

func (h *Handlers) showMember(k *web.Request, status int, p staff.Member, f *personForm) error {
	names, err := k.AllPartnerNames()
	if err != nil {
		return err
	}
	v := view.StaffPersonView{
		Shell:        k.Shell(p.Name, allStaff),
		URL:          web.StaffURL(p.ID),
		ID:           id.Format(id.Staff, p.ID),
		Name:         p.Name,
		Email:        p.Email,
		Status:       string(p.Status),
		SecondFactor: p.SecondFactor(),
		LastSeen:     p.SeenAt,
		AccessURL:    web.StaffURL(p.ID) + "/access",
		StepUp:       k.StepUp(),
		Version:      p.RowVersion,
		Roles:        roleChoices(p.Roles, names),
	}
	if f != nil {
		v.Roles, v.Version, v.Conflict, v.Errors = f.roles, f.Version, f.Conflict, f.Errors
	} else {
		v.Tab = k.R.URL.Query().Get("tab")
	}
	switch {
	case !k.May(web.WriteStaff):
		v.Locked = "You can view users but not change them."
	case p.ID == k.Session.Staff.ID:
		v.Locked = "You cannot change your own roles. Ask another administrator."
	default:
		if p.Status == models.StaffInvited {
			v.Invite = h.inviteAgainView(k, p, p.RowVersion, nil)
		}
		if p.Status == models.StaffDeactivated {
			v.Reactivate = h.reactivateView(k, p, p.RowVersion, nil)
		} else {
			v.Deactivate = h.deactivateView(k, p, p.RowVersion, nil)
		}
		if p.SecondFactor() {
			v.Reset = h.resetView(k, p, p.RowVersion, nil)
		}
	}
	if v.Locked != "" {
		for i := range v.Roles {
			v.Roles[i].Locked = "Not assigned"
			if v.Roles[i].Selected {
				v.Roles[i].Locked = "Assigned"
			}
		}
	}
	if err := h.fillTab(k, &v, p); err != nil {
		return err
	}
	return k.Show(status, view.StaffPerson(v))
}

// showRejected shows the user's page with the reason why a change was rejected. It records the
// rejection in the audit log.
func (h *Handlers) showRejected(k *web.Request, p staff.Member, err error) error {
	return k.Reject(err, web.Form{Show: func(r web.Rejected) error {
		f := apperr.As(r.Err)
		if f.Code == apperr.NotFound {
			return r.Err
		}
		k.AuditRejection(f)
		fresh, err := h.Staff.Find(k.R.Context(), id.Format(id.Staff, p.ID))
		if err != nil {
			return err
		}
		k.Notices = append(k.Notices, web.Notice{Kind: "bad", Text: r.Message()})
		return h.showMember(k, r.Status, fresh, nil)
	}})
}

func (h *Handlers) fillTab(k *web.Request, v *view.StaffPersonView, p staff.Member) error {
	switch v.Tab {
	case "sessions":
		v.Shell.Tab = "Sessions"
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
		v.Shell.Tab = "Audit log"
		sc, ok := k.ScopeOf(web.ReadAudit)
		if !ok {
			v.State.Failed = "Your roles do not allow you to view the audit log."
			return nil
		}
		q := k.R.URL.Query()
		found, err := h.Audit.List(k.R.Context(), sc, k.EventReader(),
			audit.Filter{About: audit.Subject{Staff: p.ID, ID: v.ID}}, web.NumberPage(q))
		if err != nil {
			return err
		}
		v.State.Hidden = k.HiddenEvents()
		v.Pager = web.AuditPager(v.URL, q, found)
		v.Events, err = k.AuditRows(found.Events)
		return err
	default:
		v.Tab = "roles"
	}
	return nil
}
