package partners

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
)

func (h *Handlers) detailsTab(k *web.Request, p models.Partner) error {
	return h.showDetails(k, http.StatusOK, p, view.PartnerDetailsView{Details: detailsOf(p), Version: p.RowVersion})
}

func detailsOf(p models.Partner) partners.Details {
	return partners.Details{
		Name:         p.Name,
		LegalName:    p.LegalName,
		Address:      p.Address,
		TaxID:        p.TaxID,
		PaymentTerms: p.PaymentTerms,
		Manager:      p.AccountManager,
		Notes:        p.Notes,
		Contacts:     partners.Contacts(p),
	}
}

func (h *Handlers) showDetails(k *web.Request, status int, p models.Partner, v view.PartnerDetailsView) (err error) {
	if v.Head, err = h.head(k, p, "details"); err != nil {
		return err
	}
	if v.Managers, err = h.managers(k, v.Manager); err != nil {
		return err
	}
	if !v.Head.CanWrite {
		v.Locked = "You have read-only access to this partner."
		return k.Show(status, view.PartnerDetails(v))
	}
	for range min(2, partners.MaxContacts-len(v.Contacts)) {
		v.Contacts = append(v.Contacts, partners.Contact{})
	}
	return k.Show(status, view.PartnerDetails(v))
}

func payeeName(legalName, name string) string {
	return cmp.Or(strings.TrimSpace(legalName), strings.TrimSpace(name))
}

func (h *Handlers) setDetails(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	d := readDetails(k.R.PostForm)
	return k.Submit(web.Form{
		StepUp: web.StepUpWhen(payeeName(d.LegalName, d.Name) != payeeName(p.LegalName, p.Name)),
		Do: func() (string, error) {
			return web.PartnerURL(p.ID) + "?tab=details",
				h.partners(k).SetDetails(k.R.Context(), k.Scope, p.ID, k.FormRowVersion(), d)
		},
		Reload: h.reloadPartner(k, &p),
		Show: func(r web.Rejected) error {
			return h.showDetails(k, r.Status, p, view.PartnerDetailsView{
				Details:  d,
				Version:  r.Version,
				StepUp:   r.StepUp,
				Conflict: r.Conflict,
				Errors:   r.Errors,
			})
		},
	})
}

// readDetails reads the form. It drops empty contacts at the end of the list.
func readDetails(f url.Values) partners.Details {
	d := partners.Details{
		Name: f.Get("name"), LegalName: f.Get("legal_name"), Address: f.Get("address"), TaxID: f.Get("tax_id"),
		PaymentTerms: f.Get("payment_terms"), Manager: f.Get("manager"), Notes: f.Get("notes"),
	}
	for i := range partners.MaxContacts {
		at := func(name string) string { return f.Get(fmt.Sprintf("contact-%d-%s", i, name)) }
		d.Contacts = append(d.Contacts, partners.Contact{
			Name:  at("name"),
			Role:  at("role"),
			Email: at("email"),
			Phone: at("phone"),
		})
	}
	for len(d.Contacts) > 0 && d.Contacts[len(d.Contacts)-1] == (partners.Contact{}) {
		d.Contacts = d.Contacts[:len(d.Contacts)-1]
	}
	return d
}
