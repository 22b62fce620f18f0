package partners

import (
	"cmp"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) partner(k *web.Request) (models.Partner, error) {
	if _, err := k.PathID("id", id.Partner); err != nil {
		return models.Partner{}, err
	}
	p, err := h.Partners.Find(k.R.Context(), k.Scope, k.R.PathValue("id"))
	return p, web.OrNotFound(err)
}

// partners returns the service that acts on behalf of the user.
func (h *Handlers) partners(k *web.Request) *partners.Service { return h.Partners.By(k.By) }

// returnPath returns the page that the user came from, if a link or a form names it, and otherwise the given
// page.
func (h *Handlers) returnPath(k *web.Request, partner, otherwise string) string {
	to := cmp.Or(k.R.PostForm.Get("return"), k.R.URL.Query().Get("return"))
	if to == partner+"/onboarding" {
		return to
	}
	return otherwise
}

// reloadPartner returns a function that reads a partner again after a conflicting change.
func (h *Handlers) reloadPartner(k *web.Request, p *models.Partner) func() (int, *ui.Conflict, error) {
	return func() (version int, conflict *ui.Conflict, err error) {
		if *p, err = h.partner(k); err != nil {
			return 0, nil, err
		}
		conflict, err = k.Conflict("partner", id.Format(id.Partner, p.ID), p.UpdatedAt)
		return p.RowVersion, conflict, err
	}
}

// partnerTab is a tab of a partner's page. Its name is the value of the query parameter tab.
type partnerTab struct {
	name, label string
	show        func(*web.Request, models.Partner) error
}

func (h *Handlers) partnerTabs() []partnerTab {
	return []partnerTab{
		{"accounts", "Accounts", h.accountsTab},
		{"details", "Details", h.detailsTab},
		{"signing", "Signing", h.signingTab},
		{"secrets", "Secrets", h.secretsTab},
		{"prices", "Pricing", h.pricesTab},
		{"traffic", "Traffic", h.trafficTab},
		{"requests", "Requests", h.requestsTab},
		{"documentation", "Documentation", h.documentationTab},
		{"audit", "Audit log", h.partnerAuditTab},
	}
}

func (h *Handlers) partnerPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	for _, tab := range h.partnerTabs() {
		if tab.name == k.R.URL.Query().Get("tab") {
			return tab.show(k, p)
		}
	}
	return h.accountsTab(k, p)
}

// head returns the header of a partner's pages. The parameter tab is the name of the current tab.
func (h *Handlers) head(k *web.Request, p models.Partner, tab string) (view.PartnerHead, error) {
	v := view.PartnerHead{
		Shell:     k.Shell(p.Name, allPartners),
		URL:       web.PartnerURL(p.ID),
		ID:        id.Format(id.Partner, p.ID),
		Name:      p.Name,
		Slug:      p.Slug,
		LegalName: p.LegalName,
		Status:    string(p.Status),
		Manager:   p.AccountManager,
		BaseURL:   h.baseURL(k, p),
		Created:   p.CreatedAt,
		Version:   p.RowVersion,
		CanWrite:  k.MayAt(web.WritePartners, p.ID),
	}
	for _, t := range h.partnerTabs() {
		v.Tabs = append(v.Tabs, ui.Tab{Label: t.label, URL: v.URL + "?tab=" + t.name, Current: t.name == tab})
		if t.name == tab {
			v.Shell.Tab = t.label
		}
	}
	if k.MayAt(web.ReadLeads, p.ID) {
		v.LeadsURL = "/leads?partner=" + p.Slug
	}
	if !v.CanWrite {
		return v, nil
	}
	switch p.Status {
	case models.PartnerPending:
		v.Approve = "Approve partner"
	case models.PartnerSuspended:
		v.Approve = "Lift suspension"
	case models.PartnerApproved:
		v.SuspendURL = v.URL + "/suspend"
	}
	state, err := h.progress(k, p)
	if err != nil {
		return v, err
	}
	v.Attention = state.attention(p, v.URL, k.Now)
	if !state.onboarded(p, h.DefaultSigning) {
		v.OnboardingURL = v.URL + "/onboarding"
	}
	return v, nil
}

func (h *Handlers) baseURL(k *web.Request, p models.Partner) string {
	return h.PublicURL + "/p/" + p.Slug
}
