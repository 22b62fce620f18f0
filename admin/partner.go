package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// partner is whom the address names, as far as this person may see it; any other is
// no page.
func (k *call) partner() (models.Partner, error) {
	if _, err := id.Parse(id.Partner, k.r.PathValue("id")); err != nil {
		return models.Partner{}, errNoPage
	}
	p, err := k.Partners.Find(k.r.Context(), k.scope, k.r.PathValue("id"))
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return p, errNoPage
	}
	return p, err
}

// mayAt reports whether the person may do something at one partner.
func (k *call) mayAt(p authz.Permission, partner uuid.UUID) bool {
	sc, ok := k.access.Scope(k.session.Staff.ID, p)
	return ok && sc.Allows(partner)
}

// partnerTab is one of the pages of a partner, by its name in the address.
type partnerTab struct {
	name, label string
	show        func(*call, models.Partner) error
}

func (c *Console) partnerTabs() []partnerTab {
	return []partnerTab{
		{"accounts", "Accounts", (*call).accountsTab},
		{"details", "Details", (*call).detailsTab},
		{"signing", "Signing", (*call).signingTab},
		{"secrets", "Secrets", (*call).secretsTab},
		{"prices", "Prices", (*call).pricesTab},
		{"traffic", "Traffic", (*call).trafficTab},
		{"refusals", "Refusals", (*call).refusalsTab},
		{"documentation", "Documentation", (*call).documentationTab},
		{"audit", "Audit", (*call).partnerAuditTab},
	}
}

func (k *call) partnerPage() error {
	p, err := k.partner()
	if err != nil {
		return err
	}
	for _, tab := range k.partnerTabs() {
		if tab.name == k.r.URL.Query().Get("tab") {
			return tab.show(k, p)
		}
	}
	return k.accountsTab(p)
}

// head is what stands over each page of a partner.
func (k *call) head(p models.Partner, tab string) (templates.PartnerHead, error) {
	v := templates.PartnerHead{
		Shell: k.shell(p.Name, allPartners), URL: partnerURL(p.ID), ID: id.Format(id.Partner, p.ID), Name: p.Name, Slug: p.Slug, LegalName: p.LegalName,
		Status: string(p.Status), Manager: p.AccountManager, BaseURL: k.baseURL(p), Created: p.CreatedAt, Version: int64(p.RowVersion),
		CanWrite: k.mayAt(writePartners, p.ID),
	}
	for _, t := range k.partnerTabs() {
		v.Tabs = append(v.Tabs, templates.Tab{Label: t.label, URL: v.URL + "?tab=" + t.name, Current: t.name == tab})
	}
	if k.mayAt(readLeads, p.ID) {
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
		v.Suspend = k.suspendView(p, nil)
	}
	state, err := k.progress(p)
	if err != nil {
		return v, err
	}
	v.Needs = state.needs(p, v.URL, k.now)
	if !state.sells() {
		v.OnboardingURL = v.URL + "/onboarding"
	}
	return v, nil
}

func (k *call) baseURL(p models.Partner) string { return k.PublicURL + "/p/" + p.Slug }

// progress is how far a partner has come.
type progress struct {
	accounts []models.Account
	secrets  []models.SigningSecret // in force
	used     map[uuid.UUID]time.Time
}

func (k *call) progress(p models.Partner) (s progress, err error) {
	if s.accounts, err = k.Partners.Accounts(k.r.Context(), p); err != nil {
		return s, err
	}
	all, err := k.Partners.Secrets(k.r.Context(), p)
	if err != nil {
		return s, err
	}
	for _, one := range all {
		if partners.Valid(one, k.now) {
			s.secrets = append(s.secrets, one)
		}
	}
	s.used, err = k.Reporting.LastUsed(k.r.Context(), k.scope, p.ID)
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
func (s progress) needs(p models.Partner, url string, now time.Time) (all []templates.Need) {
	need := func(text, path, detail string) {
		all = append(all, templates.Need{Text: text, URL: url + path, Detail: detail})
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

func (k *call) suspendView(p models.Partner, mistakes templates.Errors) *templates.ConfirmView {
	return &templates.ConfirmView{
		Shell: k.shell("Suspend "+p.Name, allPartners, templates.Link{Label: p.Name, URL: partnerURL(p.ID)}), Prefix: "suspend", Action: partnerURL(p.ID) + "/suspend",
		Consequence: "Within a second its pings get no price and its posts are refused, on every node. Quotes that it holds cannot be delivered while it is suspended. What it sold stays, and is owed.",
		TypeName:    p.Slug, Submit: "Suspend", Cancel: partnerURL(p.ID), Hidden: []templates.Hidden{{Name: "version", Value: strconv.Itoa(p.RowVersion)}},
		Name: short(k.r.PostForm.Get("name")), Errors: mistakes,
	}
}

func (k *call) suspendPage() error {
	p, err := k.partner()
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.Confirm(*k.suspendView(p, nil)))
}

func (k *call) suspend() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	if mistake := k.nameTyped(p.Slug); len(mistake) > 0 {
		return k.show(http.StatusUnprocessableEntity, templates.Confirm(*k.suspendView(p, mistake)))
	}
	return k.setStatus(p, models.PartnerSuspended)
}

// nameTyped checks that the name of the thing was typed.
func (k *call) nameTyped(name string) templates.Errors {
	if strings.TrimSpace(k.r.PostForm.Get("name")) != name {
		return templates.Errors{{Field: "name", Message: "Type " + name + ", to be sure that it is this one."}}
	}
	return nil
}

func (k *call) approve() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	return k.setStatus(p, models.PartnerApproved)
}

// formOf reads a form about the partner that the address names.
func (k *call) formOf() (models.Partner, error) {
	if err := k.form(); err != nil {
		return models.Partner{}, err
	}
	return k.partner()
}

// version is the one that the form was made from; what is none is stale.
func (k *call) version() int {
	n, _ := strconv.Atoi(k.r.PostForm.Get("version"))
	return max(n, 0)
}

func (k *call) setStatus(p models.Partner, to models.PartnerStatus) error {
	err := k.partners().SetStatusAt(k.r.Context(), k.scope, p.ID, k.version(), to)
	if err == nil {
		return k.to(k.back(partnerURL(p.ID)))
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	for _, one := range mistakes {
		k.notices = append(k.notices, notice{Kind: "bad", Text: one.Message})
	}
	if p, err = k.partner(); err != nil {
		return err
	}
	return k.showAccounts(status, p)
}

// back is where a form wants to return to, one of the partner's own pages.
func (k *call) back(partner string) string {
	if to := k.r.PostForm.Get("return"); to == partner+"/onboarding" {
		return to
	}
	return partner
}

func (k *call) detailsTab(p models.Partner) error {
	return k.showDetails(http.StatusOK, p, templates.PartnerDetailsView{
		Name: p.Name, LegalName: p.LegalName, Address: p.Address, TaxID: p.TaxID, PaymentTerms: p.PaymentTerms, Notes: p.Notes,
		Contacts: contactRows(partners.Contacts(p)), Version: int64(p.RowVersion),
	}, p.AccountManager)
}

func (k *call) showDetails(status int, p models.Partner, v templates.PartnerDetailsView, manager string) (err error) {
	if v.Head, err = k.head(p, "details"); err != nil {
		return err
	}
	if v.Managers, err = k.managers(manager); err != nil {
		return err
	}
	if !v.Head.CanWrite {
		v.Locked = "Your roles let you look at this partner, not change it."
		return k.show(status, templates.PartnerDetails(v))
	}
	for range min(2, partners.MaxContacts-len(v.Contacts)) {
		v.Contacts = append(v.Contacts, templates.ContactRow{})
	}
	return k.show(status, templates.PartnerDetails(v))
}

func contactRows(all []partners.Contact) (rows []templates.ContactRow) {
	for _, c := range all {
		rows = append(rows, templates.ContactRow(c))
	}
	return rows
}

// payeeName is the name that payouts are made to.
func payeeName(legalName, name string) string {
	return cmp.Or(strings.TrimSpace(legalName), strings.TrimSpace(name))
}

func (k *call) details() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	f := k.r.PostForm
	d := partners.Details{
		Name: f.Get("name"), LegalName: f.Get("legal_name"), Address: f.Get("address"), TaxID: f.Get("tax_id"),
		PaymentTerms: f.Get("payment_terms"), Manager: f.Get("manager"), Notes: f.Get("notes"),
	}
	for i := range partners.MaxContacts {
		at := func(name string) string { return f.Get(fmt.Sprintf("contact-%d-%s", i, name)) }
		d.Contacts = append(d.Contacts, partners.Contact{Name: at("name"), Role: at("role"), Email: at("email"), Phone: at("phone")})
	}
	stepUp, mistakes, err := k.confirmation(payeeName(d.LegalName, d.Name) != payeeName(p.LegalName, p.Name))
	if err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if len(mistakes) == 0 {
		if err = k.partners().SetDetails(k.r.Context(), k.scope, p.ID, k.version(), d); err == nil {
			return k.to(partnerURL(p.ID) + "?tab=details")
		}
		var other error
		if status, mistakes, other = k.mistakes(err); other != nil {
			return other
		}
	}
	for len(d.Contacts) > 0 && d.Contacts[len(d.Contacts)-1] == (partners.Contact{}) {
		d.Contacts = d.Contacts[:len(d.Contacts)-1]
	}
	v := templates.PartnerDetailsView{
		Name: d.Name, LegalName: d.LegalName, Address: d.Address, TaxID: d.TaxID, PaymentTerms: d.PaymentTerms, Notes: d.Notes,
		Contacts: contactRows(d.Contacts), Version: int64(k.version()), StepUp: stepUp, Errors: mistakes,
	}
	if isStale(err) {
		if p, err = k.partner(); err != nil {
			return err
		}
		v.Errors, v.Version = nil, int64(p.RowVersion)
		if v.Conflict, err = k.conflict("partner", id.Format(id.Partner, p.ID), p.UpdatedAt); err != nil {
			return err
		}
	}
	return k.showDetails(status, p, v, d.Manager)
}

func (k *call) partnerAuditTab(p models.Partner) error {
	head, err := k.head(p, "audit")
	if err != nil {
		return err
	}
	v := templates.PartnerAuditView{Head: head}
	if !k.mayAt(readAudit, p.ID) {
		v.State.Failed = "None of your roles lets you see the audit trail."
		return k.show(http.StatusOK, templates.PartnerAudit(v))
	}
	q := k.r.URL.Query()
	found, err := k.Audit.List(k.r.Context(), scope.Partners(p.ID), audit.Filter{}, pageByKey(q))
	if err != nil {
		return err
	}
	v.Events, v.Pager = k.auditRows(found.Events), auditPager(head.URL, q, found)
	return k.show(http.StatusOK, templates.PartnerAudit(v))
}
