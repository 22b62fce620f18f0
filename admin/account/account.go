package account

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	view "github.com/pingpost/pingpost/templates/account"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) account(k *web.Request) error { return h.showAccount(k, http.StatusOK, nil) }

func (h *Handlers) showAccount(k *web.Request, status int, mistakes ui.Errors) error {
	ctx, p := k.R.Context(), k.Session.Staff
	names, err := k.AllPartnerNames()
	if err != nil {
		return err
	}
	left, err := h.Staff.RecoveryCodesLeft(ctx, p.ID)
	if err != nil {
		return err
	}
	sessions, err := h.Staff.Sessions(ctx, p.ID)
	if err != nil {
		return err
	}
	v := view.AccountView{
		Shell:        k.Shell("Your account"),
		Name:         p.Name,
		Email:        p.Email,
		Roles:        web.ScopeLabels(k.Access.Roles(p.ID), names),
		SecondFactor: len(p.TOTPSealed) > 0,
		EnrolledAt:   web.TimeOf(p.TOTPAt),
		RecoveryLeft: int(left),
		EnrolURL:     "/account/second-factor",
		CodesURL:     "/account/recovery-codes",
		PasswordURL:  "/account/password",
		Errors:       mistakes,
	}
	for _, s := range sessions {
		v.Sessions = append(v.Sessions, web.SessionRow(s, s.ID == k.Session.ID, "/account/sessions/"))
	}
	if len(sessions) > 1 {
		v.RevokeOthers = otherSessions
	}
	return k.Show(status, view.Account(v))
}
