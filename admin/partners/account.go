package partners

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

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
		Name:      a.Name,
		Suspended: a.Status == models.AccountSuspended,
		Signing:   web.SelectOption(h.modes(k, models.SigningInherit), string(a.SigningMode)),
		Version:   a.RowVersion,
	})
}

func (h *Handlers) showAccountForm(
	k *web.Request, status int, p models.Partner, a models.Account, v view.AccountFormView,
) (err error) {
	if v.Head, err = h.head(k, p, "accounts"); err != nil {
		return err
	}
	all, err := h.forecast(k, p)
	if err != nil {
		return err
	}
	v.Forecast, v.StepUp = all.Of(a.Identifier), k.StepUp()
	v.Identifier, v.Sandbox, v.Default = a.Identifier, a.Sandbox, a.IsDefault
	v.Shell = k.Shell(a.Name, allPartners, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)})
	v.Action, v.Cancel, v.Submit = v.Head.URL+"/accounts/"+id.Format(id.Account, a.ID), v.Head.URL, "Save account"
	return k.Show(status, view.AccountForm(v))
}

func (h *Handlers) changeAccount(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	a, err := h.accountOf(k, p)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	change := partners.AccountChange{
		Name:        f.Get("name"),
		Signing:     models.SigningMode(f.Get("signing")),
		Status:      models.AccountStatus(f.Get("status")),
		MakeDefault: f.Get("default") == "yes",
	}
	forecast, err := h.forecast(k, p)
	if err != nil {
		return err
	}
	c := modeChange{
		was:    partners.EffectiveMode(a.SigningMode, p.SigningMode, h.DefaultSigning),
		is:     partners.EffectiveMode(change.Signing, p.SigningMode, h.DefaultSigning),
		recent: forecast.Of(a.Identifier),
		facts: slices.Concat(
			changed("Signing mode", h.accountModeLabel(k, a.SigningMode, p), h.accountModeLabel(k, change.Signing, p)),
			changed("Name", a.Name, strings.TrimSpace(change.Name)),
			changed("Status", string(a.Status), string(change.Status))),
		inactive: inactive(p),
		sandbox:  a.Sandbox,
	}
	if change.Status == models.AccountSuspended {
		c.inactive = "the account is suspended"
	}
	if change.MakeDefault && !a.IsDefault {
		c.facts = append(c.facts, ui.Fact{Name: "Default account", Value: "no → yes"})
	}
	if change.Check() != nil {
		c.is = c.was // the form shows the errors first
	}
	url := web.PartnerURL(p.ID) + "/accounts/" + id.Format(id.Account, a.ID)
	return k.Submit(confirmMode(k, web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			if len(c.facts) == 0 { // for example, because the form was submitted twice
				return web.Unchanged(web.PartnerURL(p.ID)), nil
			}
			return web.PartnerURL(p.ID), h.partners(k).SetAccount(k.R.Context(), k.Scope, a.ID, k.FormRowVersion(), change)
		},
		Reload: func() (version int, conflict *ui.Conflict, err error) {
			if a, err = h.accountOf(k, p); err != nil {
				return 0, nil, err
			}
			conflict, err = k.Conflict("account", id.Format(id.Account, a.ID), a.UpdatedAt)
			return a.RowVersion, conflict, err
		},
		Show: func(r web.Rejected) error {
			return h.showAccountForm(k, r.Status, p, a, view.AccountFormView{
				Name:      web.Short(change.Name),
				Suspended: change.Status == models.AccountSuspended,
				Version:   r.Version,
				Signing:   web.SelectOption(h.modes(k, models.SigningInherit), f.Get("signing")),
				Conflict:  r.Conflict,
				Errors:    r.Errors,
			})
		},
	}, c, url, url, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)}, ui.Link{Label: a.Name, URL: url}))
}
