package partners

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// partner is whom the address names, as far as this person may see it; any other is
// no page.
func (h *Handlers) partner(k *web.Request) (models.Partner, error) {
	if _, err := id.Parse(id.Partner, k.R.PathValue("id")); err != nil {
		return models.Partner{}, web.ErrNotFound
	}
	p, err := h.Partners.Find(k.R.Context(), k.Scope, k.R.PathValue("id"))
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return p, web.ErrNotFound
	}
	return p, err
}

// partnerTab is one of the pages of a partner, by its name in the address.
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
		{"prices", "Prices", h.pricesTab},
		{"traffic", "Traffic", h.trafficTab},
		{"refusals", "Refusals", h.refusalsTab},
		{"documentation", "Documentation", h.documentationTab},
		{"audit", "Audit", h.partnerAuditTab},
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

// head is what stands over each page of a partner.
func (h *Handlers) head(k *web.Request, p models.Partner, tab string) (view.PartnerHead, error) {
	v := view.PartnerHead{
		Shell: k.Shell(p.Name, allPartners), URL: web.PartnerURL(p.ID), ID: id.Format(id.Partner, p.ID), Name: p.Name, Slug: p.Slug, LegalName: p.LegalName,
		Status: string(p.Status), Manager: p.AccountManager, BaseURL: h.baseURL(k, p), Created: p.CreatedAt, Version: int64(p.RowVersion),
		CanWrite: k.MayAt(web.WritePartners, p.ID),
	}
	for _, t := range h.partnerTabs() {
		v.Tabs = append(v.Tabs, ui.Tab{Label: t.label, URL: v.URL + "?tab=" + t.name, Current: t.name == tab})
	}
	if k.MayAt(web.ReadLeads, p.ID) {
		v.LeadsURL = "/leads?partner=" + v.ID
	}
	if !v.CanWrite {
		return v, nil
	}
	switch p.Status {
	case models.PartnerPending:
		v.Approve = "Approve"
	case models.PartnerSuspended:
		v.Approve = "Lift the suspension"
	case models.PartnerApproved:
		v.Suspend = h.suspendView(k, p, nil)
	}
	state, err := h.progress(k, p)
	if err != nil {
		return v, err
	}
	v.Needs = state.needs(p, v.URL, k.Now)
	if !state.sells() {
		v.OnboardingURL = v.URL + "/onboarding"
	}
	return v, nil
}

func (h *Handlers) baseURL(k *web.Request, p models.Partner) string {
	return h.PublicURL + "/p/" + p.Slug
}

// progress is how far a partner has come.
type progress struct {
	accounts []models.Account
	secrets  []models.SigningSecret // in force
	used     map[uuid.UUID]time.Time
}

func (h *Handlers) progress(k *web.Request, p models.Partner) (s progress, err error) {
	if s.accounts, err = h.Partners.Accounts(k.R.Context(), p); err != nil {
		return s, err
	}
	all, err := h.Partners.Secrets(k.R.Context(), p)
	if err != nil {
		return s, err
	}
	for _, one := range all {
		if partners.Valid(one, k.Now) {
			s.secrets = append(s.secrets, one)
		}
	}
	s.used, err = h.Reporting.LastUsed(k.R.Context(), k.Scope, p.ID)
	return s, err
}

// sells reports whether a signed post has been taken.
func (s progress) sells() bool { return len(s.used) > 0 }

// lastEnds is when the last of the secrets ends; zero where one does not, or none is.
func (s progress) lastEnds() (at time.Time) {
	for _, one := range s.secrets {
		if one.RetiresAt == nil {
			return time.Time{}
		}
		if one.RetiresAt.After(at) {
			at = *one.RetiresAt
		}
	}
	return at
}

// needs is what waits for a person.
func (s progress) needs(p models.Partner, url string, now time.Time) (all []ui.Need) {
	need := func(text, path, detail string) {
		all = append(all, ui.Need{Text: text, URL: url + path, Detail: detail})
	}
	if len(s.accounts) == 0 {
		need("No account yet", "/accounts/new", "Without one every ping on its base URL and every post is refused.")
	}
	if p.Status == models.PartnerPending && len(s.accounts) > 0 {
		need("Waits for approval", "/onboarding", "Until then it gets no price, and its posts are refused.")
	}
	if len(s.secrets) == 0 && p.Status == models.PartnerApproved && p.SigningMode != models.SigningOff {
		need("No valid signing secret", "/secrets/new", "Its signed posts are refused.")
	}
	if ends := s.lastEnds(); !ends.IsZero() && ends.Sub(now) < 7*24*time.Hour {
		need("Every secret ends", "?tab=secrets", "The last one at "+ends.UTC().Format("2006-01-02 15:04 UTC")+"; after that its signed posts are refused. Make one that stays.")
	}
	return all
}

func (h *Handlers) suspendView(k *web.Request, p models.Partner, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell: k.Shell("Suspend "+p.Name, allPartners, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)}), Prefix: "suspend", Action: web.PartnerURL(p.ID) + "/suspend",
		Consequence: "Within a second its pings get no price and its posts are refused, on every node. Quotes that it holds cannot be delivered while it is suspended. What it sold stays, and is owed.",
		TypeName:    p.Slug, Submit: "Suspend", Cancel: web.PartnerURL(p.ID), Hidden: []ui.Hidden{{Name: "version", Value: strconv.Itoa(p.RowVersion)}},
		Name: web.Short(k.R.PostForm.Get("name")), Errors: mistakes,
	}
}

func (h *Handlers) suspendPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.Confirm(*h.suspendView(k, p, nil)))
}

func (h *Handlers) suspend(k *web.Request) error {
	p, err := h.formOf(k)
	if err != nil {
		return err
	}
	if mistake := web.CheckTypedName(k, p.Slug); len(mistake) > 0 {
		return k.Show(http.StatusUnprocessableEntity, ui.Confirm(*h.suspendView(k, p, mistake)))
	}
	return h.setStatus(k, p, models.PartnerSuspended)
}

func (h *Handlers) approve(k *web.Request) error {
	p, err := h.formOf(k)
	if err != nil {
		return err
	}
	return h.setStatus(k, p, models.PartnerApproved)
}

// formOf reads a form about the partner that the address names.
func (h *Handlers) formOf(k *web.Request) (models.Partner, error) {
	if err := k.ParseForm(); err != nil {
		return models.Partner{}, err
	}
	return h.partner(k)
}

func (h *Handlers) setStatus(k *web.Request, p models.Partner, to models.PartnerStatus) error {
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			return h.back(k, web.PartnerURL(p.ID)), h.partners(k).SetStatusAt(k.R.Context(), k.Scope, p.ID, web.FormVersion(k), to)
		},
		Show: func(r web.Rejected) error {
			for _, one := range r.Errors {
				k.Notices = append(k.Notices, web.Notice{Kind: "bad", Text: one.Message})
			}
			p, err := h.partner(k)
			if err != nil {
				return err
			}
			return h.showAccounts(k, r.Status, p)
		},
	})
}

// back is where a form wants to return to, one of the partner's own pages.
func (h *Handlers) back(k *web.Request, partner string) string {
	if to := k.R.PostForm.Get("return"); to == partner+"/onboarding" {
		return to
	}
	return partner
}

func (h *Handlers) detailsTab(k *web.Request, p models.Partner) error {
	return h.showDetails(k, http.StatusOK, p, view.PartnerDetailsView{
		Name: p.Name, LegalName: p.LegalName, Address: p.Address, TaxID: p.TaxID, PaymentTerms: p.PaymentTerms, Notes: p.Notes,
		Contacts: contactRows(partners.Contacts(p)), Version: int64(p.RowVersion),
	}, p.AccountManager)
}

func (h *Handlers) showDetails(k *web.Request, status int, p models.Partner, v view.PartnerDetailsView, manager string) (err error) {
	if v.Head, err = h.head(k, p, "details"); err != nil {
		return err
	}
	if v.Managers, err = h.managers(k, manager); err != nil {
		return err
	}
	if !v.Head.CanWrite {
		v.Locked = "Your roles let you look at this partner, not change it."
		return k.Show(status, view.PartnerDetails(v))
	}
	for range min(2, partners.MaxContacts-len(v.Contacts)) {
		v.Contacts = append(v.Contacts, view.ContactRow{})
	}
	return k.Show(status, view.PartnerDetails(v))
}

func contactRows(all []partners.Contact) (rows []view.ContactRow) {
	for _, c := range all {
		rows = append(rows, view.ContactRow(c))
	}
	return rows
}

// payeeName is the name that payouts are made to.
func payeeName(legalName, name string) string {
	return cmp.Or(strings.TrimSpace(legalName), strings.TrimSpace(name))
}

func (h *Handlers) details(k *web.Request) error {
	p, err := h.formOf(k)
	if err != nil {
		return err
	}
	d, version := readDetails(k.R.PostForm), int64(web.FormVersion(k))
	return web.Submit(k, web.Form{
		Proof: web.ProofWhen(payeeName(d.LegalName, d.Name) != payeeName(p.LegalName, p.Name)),
		Do: func() (string, error) {
			return web.PartnerURL(p.ID) + "?tab=details", h.partners(k).SetDetails(k.R.Context(), k.Scope, p.ID, web.FormVersion(k), d)
		},
		Reload: func() (_ *ui.Conflict, err error) {
			if p, err = h.partner(k); err != nil {
				return nil, err
			}
			version = int64(p.RowVersion)
			return web.Conflict(k, "partner", id.Format(id.Partner, p.ID), p.UpdatedAt)
		},
		Show: func(r web.Rejected) error {
			for len(d.Contacts) > 0 && d.Contacts[len(d.Contacts)-1] == (partners.Contact{}) {
				d.Contacts = d.Contacts[:len(d.Contacts)-1]
			}
			return h.showDetails(k, r.Status, p, view.PartnerDetailsView{
				Name: d.Name, LegalName: d.LegalName, Address: d.Address, TaxID: d.TaxID, PaymentTerms: d.PaymentTerms, Notes: d.Notes,
				Contacts: contactRows(d.Contacts), Version: version, StepUp: r.StepUp, Conflict: r.Conflict, Errors: r.Errors,
			}, d.Manager)
		},
	})
}

func readDetails(f url.Values) partners.Details {
	d := partners.Details{
		Name: f.Get("name"), LegalName: f.Get("legal_name"), Address: f.Get("address"), TaxID: f.Get("tax_id"),
		PaymentTerms: f.Get("payment_terms"), Manager: f.Get("manager"), Notes: f.Get("notes"),
	}
	for i := range partners.MaxContacts {
		at := func(name string) string { return f.Get(fmt.Sprintf("contact-%d-%s", i, name)) }
		d.Contacts = append(d.Contacts, partners.Contact{Name: at("name"), Role: at("role"), Email: at("email"), Phone: at("phone")})
	}
	return d
}

func (h *Handlers) partnerAuditTab(k *web.Request, p models.Partner) error {
	head, err := h.head(k, p, "audit")
	if err != nil {
		return err
	}
	v := view.PartnerAuditView{Head: head}
	if !k.MayAt(web.ReadAudit, p.ID) {
		v.State.Failed = "None of your roles lets you see the audit trail."
		return k.Show(http.StatusOK, view.PartnerAudit(v))
	}
	q := k.R.URL.Query()
	found, err := h.Audit.List(k.R.Context(), scope.Partners(p.ID), audit.Filter{}, web.KeyPage(q))
	if err != nil {
		return err
	}
	v.Events, v.Pager = web.AuditRows(k, found.Events), web.AuditPager(head.URL, q, found)
	return k.Show(http.StatusOK, view.PartnerAudit(v))
}
