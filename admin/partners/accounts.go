package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
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
			Identifier: a.Identifier,
			Name:       a.Name,
			ID:         id.Format(id.Account, a.ID),
			Default:    a.IsDefault,
			Sandbox:    a.Sandbox,
			Status:     string(a.Status),
			Signing:    h.accountModeLabel(k, a.SigningMode, p),
		}
		if canWrite {
			row.URL = web.PartnerURL(p.ID) + "/accounts/" + row.ID
		}
		rows = append(rows, row)
	}
	return rows, err
}

func (h *Handlers) accountModeLabel(k *web.Request, m models.SigningMode, p models.Partner) string {
	if m != models.SigningInherit {
		return plainMode(m) + " (set on the account)"
	}
	if p.SigningMode == models.SigningDefault {
		return h.modeLabel(k, p.SigningMode)
	}
	return plainMode(p.SigningMode) + " (inherited)"
}
