package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) accountsTab(k *web.Request, p models.Partner) error {
	return h.showAccounts(k, http.StatusOK, p)
}

func (h *Handlers) showAccounts(k *web.Request, status int, p models.Partner) error {
	head, err := h.head(k, p, "accounts")
	if err != nil {
		return err
	}
	v := view.PartnerAccountsView{Head: head}
	if v.Accounts, err = h.accountRows(k, p, head.CanWrite); err != nil {
		return err
	}
	if head.CanWrite {
		v.NewURL = head.URL + "/accounts/new"
	}
	return k.Show(status, view.PartnerAccounts(v))
}

func (h *Handlers) accountRows(k *web.Request, p models.Partner, canWrite bool) (rows []view.AccountRow, err error) {
	all, err := h.Partners.Accounts(k.R.Context(), p)
	for _, a := range all {
		row := view.AccountRow{
			Identifier: a.Identifier, Name: a.Name, ID: id.Format(id.Account, a.ID), Default: a.IsDefault, Sandbox: a.Sandbox,
			Status: string(a.Status), Signing: h.accountModeWords(k, a.SigningMode, p),
		}
		if canWrite {
			row.URL = web.PartnerURL(p.ID) + "/accounts/" + row.ID
		}
		rows = append(rows, row)
	}
	return rows, err
}

func (h *Handlers) accountModeWords(k *web.Request, m models.SigningMode, p models.Partner) string {
	if m != models.SigningInherit {
		return plainMode(m) + " (its own)"
	}
	if p.SigningMode == models.SigningDefault {
		return h.modeWords(k, p.SigningMode)
	}
	return plainMode(p.SigningMode) + " (as the partner)"
}

func (h *Handlers) accountNewPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	all, err := h.Partners.Accounts(k.R.Context(), p)
	if err != nil {
		return err
	}
	// The first is for trying out: its leads pay nobody (D25).
	v := view.AccountFormView{Sandbox: len(all) == 0, Signing: web.Chosen(h.modes(k, models.SigningInherit), string(models.SigningInherit))}
	if len(all) == 0 {
		v.Identifier, v.Name = p.Slug+"-sandbox", "Sandbox"
	}
	return h.showAccountNew(k, http.StatusOK, p, v)
}

func (h *Handlers) showAccountNew(k *web.Request, status int, p models.Partner, v view.AccountFormView) (err error) {
	if v.Head, err = h.head(k, p, "accounts"); err != nil {
		return err
	}
	v.New, v.Shell = true, k.Shell("New account", allPartners, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)})
	v.Action, v.Cancel, v.Submit = v.Head.URL+"/accounts/new", v.Head.URL, "Make the account"
	return k.Show(status, view.AccountForm(v))
}

func (h *Handlers) accountNew(k *web.Request) error {
	p, err := h.formOf(k)
	if err != nil {
		return err
	}
	f, signing := k.R.PostForm, models.SigningMode(k.R.PostForm.Get("signing"))
	n := partners.NewAccount{Identifier: f.Get("identifier"), Name: f.Get("name"), Signing: signing, Sandbox: f.Get("sandbox") == "yes"}
	return web.Submit(k, web.Form{
		StepUp: web.StepUpWhen(web.AcceptsUnsigned(signing)),
		Do: func() (string, error) {
			_, err := h.partners(k).CreateAccount(k.R.Context(), p, n)
			return h.afterAccount(k, p), err
		},
		Show: func(r web.Rejected) error {
			return h.showAccountNew(k, r.Status, p, view.AccountFormView{
				Identifier: web.Short(n.Identifier), Name: web.Short(n.Name), Sandbox: n.Sandbox,
				Signing: web.Chosen(h.modes(k, models.SigningInherit), f.Get("signing")), StepUp: r.StepUp, Errors: r.Errors,
			})
		},
	})
}

// afterAccount is the next step of a partner that is being brought on, else its accounts.
func (h *Handlers) afterAccount(k *web.Request, p models.Partner) string {
	if p.Status == models.PartnerPending {
		return web.PartnerURL(p.ID) + "/onboarding"
	}
	return web.PartnerURL(p.ID)
}

// accountOf is which account of the partner the address names.
func (h *Handlers) accountOf(k *web.Request, p models.Partner) (models.Account, error) {
	a, err := h.Partners.FindAccount(k.R.Context(), k.Scope, p, k.R.PathValue("account"))
	return a, web.OrNotFound(err)
}

func (h *Handlers) accountPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	a, err := h.accountOf(k, p)
	if err != nil {
		return err
	}
	return h.showAccountForm(k, http.StatusOK, p, a, view.AccountFormView{
		Name: a.Name, Suspended: a.Status == models.AccountSuspended, Signing: web.Chosen(h.modes(k, models.SigningInherit), string(a.SigningMode)), Version: int64(a.RowVersion),
	})
}

func (h *Handlers) showAccountForm(k *web.Request, status int, p models.Partner, a models.Account, v view.AccountFormView) (err error) {
	if v.Head, err = h.head(k, p, "accounts"); err != nil {
		return err
	}
	all, err := h.forecast(k, p)
	if err != nil {
		return err
	}
	v.Forecast, v.Identifier, v.Sandbox, v.Default, v.StepUp = all.Of(a.Identifier), a.Identifier, a.Sandbox, a.IsDefault, web.StepUp(k)
	v.Shell = k.Shell(a.Name, allPartners, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)})
	v.Action, v.Cancel, v.Submit = v.Head.URL+"/accounts/"+id.Format(id.Account, a.ID), v.Head.URL, "Change the account"
	return k.Show(status, view.AccountForm(v))
}

func (h *Handlers) changeAccount(k *web.Request) error {
	p, err := h.formOf(k)
	if err != nil {
		return err
	}
	a, err := h.accountOf(k, p)
	if err != nil {
		return err
	}
	f, version := k.R.PostForm, int64(web.FormVersion(k))
	change := partners.AccountChange{
		Name: f.Get("name"), Signing: models.SigningMode(f.Get("signing")), Status: models.AccountStatus(f.Get("status")), MakeDefault: f.Get("default") == "yes",
	}
	return web.Submit(k, web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.PartnerURL(p.ID), h.partners(k).SetAccount(k.R.Context(), k.Scope, a.ID, web.FormVersion(k), change)
		},
		Reload: func() (_ *ui.Conflict, err error) {
			if a, err = h.accountOf(k, p); err != nil {
				return nil, err
			}
			version = int64(a.RowVersion)
			return web.Conflict(k, "account", id.Format(id.Account, a.ID), a.UpdatedAt)
		},
		Show: func(r web.Rejected) error {
			return h.showAccountForm(k, r.Status, p, a, view.AccountFormView{
				Name: web.Short(change.Name), Suspended: change.Status == models.AccountSuspended, Version: version,
				Signing: web.Chosen(h.modes(k, models.SigningInherit), f.Get("signing")), Conflict: r.Conflict, Errors: r.Errors,
			})
		},
	})
}
