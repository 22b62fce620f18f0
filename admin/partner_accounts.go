package admin

import (
	"net/http"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) accountsTab(p models.Partner) error { return k.showAccounts(http.StatusOK, p) }

func (k *call) showAccounts(status int, p models.Partner) error {
	head, err := k.head(p, "accounts")
	if err != nil {
		return err
	}
	v := templates.PartnerAccountsView{Head: head}
	if v.Accounts, err = k.accountRows(p, head.CanWrite); err != nil {
		return err
	}
	if head.CanWrite {
		v.NewURL = head.URL + "/accounts/new"
	}
	return k.show(status, templates.PartnerAccounts(v))
}

func (k *call) accountRows(p models.Partner, canWrite bool) (rows []templates.AccountRow, err error) {
	all, err := k.Partners.Accounts(k.r.Context(), p)
	for _, a := range all {
		row := templates.AccountRow{
			Identifier: a.Identifier, Name: a.Name, ID: id.Format(id.Account, a.ID), Default: a.IsDefault, Sandbox: a.Sandbox,
			Status: string(a.Status), Signing: k.accountModeWords(a.SigningMode, p),
		}
		if canWrite {
			row.URL = partnerURL(p.ID) + "/accounts/" + row.ID
		}
		rows = append(rows, row)
	}
	return rows, err
}

func (k *call) accountModeWords(m models.SigningMode, p models.Partner) string {
	if m != models.SigningInherit {
		return plainMode(m) + " (its own)"
	}
	if p.SigningMode == models.SigningDefault {
		return k.modeWords(p.SigningMode)
	}
	return plainMode(p.SigningMode) + " (as the partner)"
}

func (k *call) accountNewPage() error {
	p, err := k.partner()
	if err != nil {
		return err
	}
	all, err := k.Partners.Accounts(k.r.Context(), p)
	if err != nil {
		return err
	}
	// The first is for trying out: its leads pay nobody (D25).
	v := templates.AccountFormView{Sandbox: len(all) == 0, Signing: chosen(k.modes(models.SigningInherit), string(models.SigningInherit))}
	if len(all) == 0 {
		v.Identifier, v.Name = p.Slug+"-sandbox", "Sandbox"
	}
	return k.showAccountNew(http.StatusOK, p, v)
}

func (k *call) showAccountNew(status int, p models.Partner, v templates.AccountFormView) (err error) {
	if v.Head, err = k.head(p, "accounts"); err != nil {
		return err
	}
	v.New, v.Shell = true, k.shell("New account", allPartners, templates.Link{Label: p.Name, URL: partnerURL(p.ID)})
	v.Action, v.Cancel, v.Submit = v.Head.URL+"/accounts/new", v.Head.URL, "Make the account"
	return k.show(status, templates.AccountForm(v))
}

func (k *call) accountNew() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	f, signing := k.r.PostForm, models.SigningMode(k.r.PostForm.Get("signing"))
	stepUp, mistakes, err := k.confirmation(unsigned(signing))
	if err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if len(mistakes) == 0 {
		_, err := k.partners().CreateAccount(k.r.Context(), p, partners.NewAccount{
			Identifier: f.Get("identifier"), Name: f.Get("name"), Signing: signing, Sandbox: f.Get("sandbox") == "yes",
		})
		if err == nil {
			return k.to(k.afterAccount(p))
		}
		if status, mistakes, err = k.mistakes(err); err != nil {
			return err
		}
	}
	return k.showAccountNew(status, p, templates.AccountFormView{
		Identifier: short(f.Get("identifier")), Name: short(f.Get("name")), Sandbox: f.Get("sandbox") == "yes",
		Signing: chosen(k.modes(models.SigningInherit), f.Get("signing")), StepUp: stepUp, Errors: mistakes,
	})
}

// afterAccount is the next step of a partner that is being brought on, else its accounts.
func (k *call) afterAccount(p models.Partner) string {
	if p.Status == models.PartnerPending {
		return partnerURL(p.ID) + "/onboarding"
	}
	return partnerURL(p.ID)
}

// account is which account of the partner the address names.
func (k *call) accountOf(p models.Partner) (models.Account, error) {
	a, err := k.Partners.FindAccount(k.r.Context(), k.scope, p, k.r.PathValue("account"))
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return a, errNoPage
	}
	return a, err
}

func (k *call) accountPage() error {
	p, err := k.partner()
	if err != nil {
		return err
	}
	a, err := k.accountOf(p)
	if err != nil {
		return err
	}
	return k.showAccountForm(http.StatusOK, p, a, templates.AccountFormView{
		Name: a.Name, Suspended: a.Status == models.AccountSuspended, Signing: chosen(k.modes(models.SigningInherit), string(a.SigningMode)), Version: int64(a.RowVersion),
	})
}

func (k *call) showAccountForm(status int, p models.Partner, a models.Account, v templates.AccountFormView) (err error) {
	if v.Head, err = k.head(p, "accounts"); err != nil {
		return err
	}
	if v.Forecast, err = k.accountForecast(p, a); err != nil {
		return err
	}
	v.Identifier, v.Sandbox, v.Default, v.StepUp = a.Identifier, a.Sandbox, a.IsDefault, k.stepUp()
	v.Shell = k.shell(a.Name, allPartners, templates.Link{Label: p.Name, URL: partnerURL(p.ID)})
	v.Action, v.Cancel, v.Submit = v.Head.URL+"/accounts/"+id.Format(id.Account, a.ID), v.Head.URL, "Change the account"
	return k.show(status, templates.AccountForm(v))
}

// accountForecast is the forecast of one account, in a sentence.
func (k *call) accountForecast(p models.Partner, a models.Account) (string, error) {
	f, err := k.forecast(p)
	for _, one := range f.Accounts {
		if one.Identifier == a.Identifier {
			return "Of " + countWords(one.Posts, false, "post", "posts") + " in the last 24 hours " + templates.Number(one.Unsigned) + " came without a signature.", err
		}
	}
	return "No post of it was accepted in the last 24 hours.", err
}

func (k *call) changeAccount() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	a, err := k.accountOf(p)
	if err != nil {
		return err
	}
	f := k.r.PostForm
	change := partners.AccountChange{
		Name: f.Get("name"), Signing: models.SigningMode(f.Get("signing")), Status: models.AccountStatus(f.Get("status")), MakeDefault: f.Get("default") == "yes",
	}
	v := templates.AccountFormView{
		Name: short(change.Name), Suspended: change.Status == models.AccountSuspended, Signing: chosen(k.modes(models.SigningInherit), f.Get("signing")),
		Version: int64(k.version()),
	}
	if v.Errors, err = k.proven(); err != nil {
		return err
	}
	if len(v.Errors) > 0 {
		return k.showAccountForm(http.StatusUnprocessableEntity, p, a, v)
	}
	err = k.partners().SetAccount(k.r.Context(), k.scope, a.ID, k.version(), change)
	if err == nil {
		return k.to(partnerURL(p.ID))
	}
	status, mistakes, other := k.mistakes(err)
	if other != nil {
		return other
	}
	v.Errors = mistakes
	if isStale(err) {
		if a, err = k.accountOf(p); err != nil {
			return err
		}
		v.Errors, v.Version = nil, int64(a.RowVersion)
		if v.Conflict, err = k.conflict("account", id.Format(id.Account, a.ID), a.UpdatedAt); err != nil {
			return err
		}
	}
	return k.showAccountForm(status, p, a, v)
}
