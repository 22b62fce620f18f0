package admin

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

const partnersPage = 50

var allPartners = templates.Link{Label: "Partners", URL: "/partners"}

func partnerURL(partner uuid.UUID) string { return "/partners/" + id.Format(id.Partner, partner) }

var partnerStatuses = []templates.Option{{Value: "approved", Label: "Approved"}, {Value: "pending", Label: "Pending"}, {Value: "suspended", Label: "Suspended"}}

func (k *call) partnersList() error {
	q := k.r.URL.Query()
	query := partners.Query{
		Search: typed(q, "q"), Status: typed(q, "status"), Manager: typed(q, "manager"), Signing: typed(q, "signing"),
		Sort: q.Get("sort"), Before: q.Get("before"), After: q.Get("after"), Size: partnersPage,
	}
	found, err := k.Partners.Page(k.r.Context(), k.scope, query)
	if err != nil {
		return err
	}
	managers, err := k.Partners.Managers(k.r.Context(), k.scope)
	if err != nil {
		return err
	}
	filters := []string{"q", "status", "manager", "signing"}
	sort := func(column string, first bool) templates.Sort {
		return sortLink("/partners", q, filters, column, first)
	}
	v := templates.PartnersView{
		Shell: k.shell("Partners"), Search: q.Get("q"), Statuses: chosen(partnerStatuses, q.Get("status")), Managers: chosen(same(managers), q.Get("manager")),
		Modes: chosen(k.modes(models.SigningDefault), q.Get("signing")), SortName: sort("name", false), SortLeads: sort("leads", false), SortSeen: sort("seen", false),
		AsOf: found.AsOf, State: templates.ListState{Filtered: filtered(q, filters...), ClearURL: "/partners"}, Pager: partnersPager(q, found),
	}
	if k.may(createPartners) {
		v.NewURL = "/partners/new"
	}
	for _, p := range found.Rows {
		v.Partners = append(v.Partners, templates.PartnerRow{
			Name: p.Name, Slug: p.Slug, URL: partnerURL(p.ID), Status: string(p.Status), Manager: p.AccountManager, Signing: k.modeWords(p.SigningMode),
			Leads: p.Leads, Payouts: p.Payouts, LastTraffic: p.LastTraffic,
		})
	}
	return k.show(http.StatusOK, templates.Partners(v))
}

// typed is a filter as it was given; what no row can hold matches none.
func typed(q url.Values, name string) string {
	text := strings.TrimSpace(q.Get(name))
	if !validText(text) || len(text) > 300 {
		return "nothing is called this"
	}
	return text
}

func partnersPager(q url.Values, found partners.Page) templates.Pager {
	p := pagerByCursor("/partners", q, found.Newer, found.Older)
	p.Count = countWords(found.Count, found.More, "partner", "partners")
	return p
}

// pagerByCursor leads to the pages before and after a cursor; an empty one has no page.
func pagerByCursor(path string, q url.Values, before, after string) templates.Pager {
	with := func(name, cursor string) string {
		if cursor == "" {
			return ""
		}
		next := maps.Clone(q)
		next.Del("before")
		next.Del("after")
		next.Set(name, cursor)
		return path + "?" + next.Encode()
	}
	return templates.Pager{Newer: with("before", before), Older: with("after", after)}
}

// modes are the signing modes with what each does; first is the one that leaves it
// to the platform or the partner.
func (k *call) modes(first models.SigningMode) []templates.Option {
	all := []templates.Option{
		{Value: string(models.SigningRequired), Label: "Required", Hint: "A post without a signature is refused."},
		{Value: string(models.SigningReportOnly), Label: "Report only", Hint: "A post without a signature is accepted, and counted as one that would have been refused."},
		{Value: string(models.SigningOff), Label: "Off", Hint: "A post without a signature is accepted. Anybody who knows the partnerId can send one."},
	}
	if first == models.SigningInherit {
		return slices.Insert(all, 0, templates.Option{Value: string(first), Label: "As the partner"})
	}
	return slices.Insert(all, 0, templates.Option{Value: string(first), Label: "Platform default", Hint: "Now: " + plainMode(k.DefaultSigning) + ". Follows the platform's configuration."})
}

func plainMode(m models.SigningMode) string { return strings.ReplaceAll(string(m), "_", " ") }

// modeWords is a partner's signing mode with where it comes from.
func (k *call) modeWords(m models.SigningMode) string {
	if m == models.SigningDefault {
		return plainMode(k.DefaultSigning) + " (default)"
	}
	return plainMode(m)
}

// same are options that say what they are.
func same(values []string) (all []templates.Option) {
	for _, v := range values {
		all = append(all, templates.Option{Value: v, Label: v})
	}
	return all
}

func (k *call) partnerNewPage() error {
	v := templates.PartnerNewView{Modes: chosen(k.modes(models.SigningDefault), string(models.SigningDefault))}
	return k.showPartnerNew(http.StatusOK, v, k.session.Staff.Name)
}

func (k *call) showPartnerNew(status int, v templates.PartnerNewView, manager string) error {
	managers, err := k.managers(manager)
	if err != nil {
		return err
	}
	v.Shell, v.Managers = k.shell("New partner", allPartners), managers
	return k.show(status, templates.PartnerNew(v))
}

// managers are whom a partner may be given to: the active account managers, and
// whoever has it now.
func (k *call) managers(now string) ([]templates.Option, error) {
	people, err := k.Staff.List(k.r.Context())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range people {
		if p.Status == models.StaffActive && slices.ContainsFunc(p.Roles, func(r models.StaffRole) bool { return r.Role == models.AccountManager }) {
			names = append(names, p.Name)
		}
	}
	if now != "" {
		names = append(names, now)
	}
	slices.Sort(names)
	options := append([]templates.Option{{Value: "", Label: "Nobody yet"}}, same(slices.Compact(names))...)
	return chosen(options, now), nil
}

func (k *call) partnerNew() error {
	if err := k.form(); err != nil {
		return err
	}
	f, signing := k.r.PostForm, models.SigningMode(k.r.PostForm.Get("signing"))
	stepUp, mistakes, err := k.confirmation(unsigned(signing))
	if err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if len(mistakes) == 0 {
		made, err := k.partners().Create(k.r.Context(), partners.NewPartner{
			Slug: f.Get("slug"), Name: f.Get("name"), LegalName: f.Get("legal_name"), Manager: f.Get("manager"), Signing: signing,
		})
		if err == nil {
			return k.to(partnerURL(made.ID) + "/onboarding")
		}
		if status, mistakes, err = k.mistakes(err); err != nil {
			return err
		}
	}
	return k.showPartnerNew(status, templates.PartnerNewView{
		Name: short(f.Get("name")), Slug: short(f.Get("slug")), LegalName: short(f.Get("legal_name")),
		Modes: chosen(k.modes(models.SigningDefault), f.Get("signing")), StepUp: stepUp, Errors: mistakes,
	}, short(f.Get("manager")))
}

// partners is the service on behalf of whoever asks.
func (k *call) partners() *partners.Service { return k.Partners.By(k.by) }

// objectURL is the page of the payout run that an error names, or "" if this person may
// not see it.
func (k *call) objectURL(object string) string {
	if run, err := id.Parse(id.Payout, object); err == nil && k.everywhere(readPayouts) {
		return runURL(run)
	}
	return ""
}

// mistakes are what a form shows of a refusal, each with its field; other is what no
// form shows.
func (k *call) mistakes(err error) (status int, all templates.Errors, other error) {
	status, message, other := k.told(err)
	if other != nil {
		return 0, nil, other
	}
	for _, field := range apperr.As(err).Fields {
		all = append(all, templates.FieldError{Field: strings.Join(field.Path, "-"), Message: field.Message})
	}
	if len(all) == 0 {
		e := templates.FieldError{Message: message}
		if object := apperr.As(err).Object; object != "" {
			e.URL = k.objectURL(object)
		}
		all = templates.Errors{e}
	}
	return status, all, nil
}
