package partners

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) newAccountPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	all, err := h.Partners.Accounts(k.R.Context(), p)
	if err != nil {
		return err
	}
	// Suggest a sandbox account if there is no account yet (decision 25).
	v := view.AccountFormView{
		Sandbox: len(all) == 0,
		Signing: web.SelectOption(h.modes(k, models.SigningInherit), string(models.SigningInherit)),
	}
	v.Identifier = proposedIdentifier(p, all)
	if len(all) == 0 {
		v.Name = "Sandbox"
	}
	return h.showAccountNew(k, http.StatusOK, p, v)
}

// proposedIdentifier returns a partnerId for the partner's next account.
func proposedIdentifier(p models.Partner, accounts []models.Account) string {
	if len(accounts) == 0 {
		return p.Slug + "-sandbox"
	}
	taken := func(identifier string) bool {
		return slices.ContainsFunc(accounts, func(a models.Account) bool { return a.Identifier == identifier })
	}
	identifier := p.Slug
	for n := 2; taken(identifier); n++ {
		identifier = fmt.Sprint(p.Slug, "-", n)
	}
	return identifier
}

func (h *Handlers) showAccountNew(k *web.Request, status int, p models.Partner, v view.AccountFormView) (err error) {
	if v.Head, err = h.head(k, p, "accounts"); err != nil {
		return err
	}
	v.New, v.Shell = true, k.Shell("New account", allPartners, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)})
	v.Action, v.Submit = v.Head.URL+"/accounts/new", "Create account"
	v.Cancel, v.Return = h.returnPath(k, v.Head.URL, v.Head.URL), h.returnPath(k, v.Head.URL, "")
	return k.Show(status, view.AccountForm(v))
}

func (h *Handlers) createAccount(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	f, signing := k.R.PostForm, models.SigningMode(k.R.PostForm.Get("signing"))
	n := partners.NewAccount{
		Identifier: f.Get("identifier"),
		Name:       f.Get("name"),
		Signing:    signing,
		Sandbox:    f.Get("sandbox") == "yes",
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpWhen(acceptsUnsigned(signing)),
		Do: func() (string, error) {
			_, err := h.partners(k).CreateAccount(k.R.Context(), k.Scope, p, n)
			return h.afterAccount(k, p), err
		},
		Show: func(r web.Rejected) error {
			return h.showAccountNew(k, r.Status, p, view.AccountFormView{
				Identifier: web.Short(n.Identifier),
				Name:       web.Short(n.Name),
				Sandbox:    n.Sandbox,
				Signing:    web.SelectOption(h.modes(k, models.SigningInherit), f.Get("signing")),
				StepUp:     r.StepUp,
				Errors:     r.Errors,
			})
		},
	})
}

func (h *Handlers) afterAccount(k *web.Request, p models.Partner) string {
	url := web.PartnerURL(p.ID)
	if p.Status == models.PartnerPending {
		return url + "/onboarding"
	}
	return h.returnPath(k, url, url)
}
