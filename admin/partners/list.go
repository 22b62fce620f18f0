package partners

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

const partnersPage = 50

var allPartners = ui.Link{Label: "Partners", URL: "/partners"}

var partnerStatuses = []ui.Option{
	{Value: "approved", Label: "Approved"},
	{Value: "pending", Label: "Pending"},
	{Value: "suspended", Label: "Suspended"},
}

func (h *Handlers) partnersList(k *web.Request) error {
	q := k.R.URL.Query()
	query := partners.Query{
		Search:  web.SearchText(q, "q"),
		Status:  web.SearchText(q, "status"),
		Manager: web.SearchText(q, "manager"),
		Signing: web.SearchText(q, "signing"),
		Sort:    q.Get("sort"),
		Page:    postgres.Page[string]{Before: q.Get("before"), After: q.Get("after"), Size: partnersPage},
	}
	found, err := h.Partners.Page(k.R.Context(), k.Scope, query)
	if err != nil {
		return err
	}
	managers, err := h.Partners.Managers(k.R.Context(), k.Scope)
	if err != nil {
		return err
	}
	filters := []string{"q", "status", "manager", "signing"}
	sort := func(column string) ui.Sort {
		return web.SortLink("/partners", q, filters, column, false)
	}
	v := view.PartnersView{
		Shell:     k.Shell("Partners"),
		Search:    q.Get("q"),
		Statuses:  web.SelectOption(partnerStatuses, q.Get("status")),
		Managers:  web.SelectOption(web.Labels(managers), q.Get("manager")),
		Modes:     web.SelectOption(h.modes(k, models.SigningDefault), q.Get("signing")),
		Sorted:    q.Get("sort") != "",
		SortName:  sort("name"),
		SortLeads: sort("leads"),
		SortSeen:  sort("seen"),
		// The first click shows the partners with the highest payouts, or with the most rejected posts, first.
		SortPayout:   web.DescendingSortLink("/partners", q, filters, "payout"),
		SortRejected: web.DescendingSortLink("/partners", q, filters, "rejected"),
		SortAccepted: sort("accepted"),
		RequestsURL:  requestsPath,
		AsOf:         found.AsOf,
		State:        ui.ListState{Filtered: web.IsFiltered(q, filters...), ClearURL: "/partners"},
		Pager:        partnersPager(q, found),
	}
	if k.May(web.CreatePartners) {
		v.NewURL = "/partners/new"
	}
	for _, p := range found.Rows {
		v.Partners = append(v.Partners, view.PartnerRow{
			Name:        p.Name,
			Slug:        p.Slug,
			URL:         web.PartnerURL(p.ID),
			Status:      string(p.Status),
			Manager:     p.AccountManager,
			Signing:     plainMode(partners.EffectiveMode(models.SigningInherit, p.SigningMode, h.DefaultSigning)),
			Leads:       p.Leads,
			Payouts:     p.Payouts,
			Rejected:    p.Posts.Rejected,
			Change:      p.Posts.Change(),
			Accepted:    ui.Share(p.Posts.Posts-p.Posts.Rejected, p.Posts.Posts),
			RequestsURL: requestsURL(web.PartnerURL(p.ID), url.Values{"range": {"24h"}}),
			LastTraffic: p.LastTraffic,
		})
	}
	return k.Show(http.StatusOK, view.Partners(v))
}

func partnersPager(q url.Values, found partners.Page) ui.Pager {
	p := web.CursorPager("/partners", q, found.Newer, found.Older)
	p.Count = web.CountText(found.Count, found.More, "partner", "partners")
	return p
}

// modes returns the signing modes as options, preceded by an option to inherit the mode. The parameter
// first is the value of that option: SigningDefault for a partner, or SigningInherit for an account.
func (h *Handlers) modes(k *web.Request, first models.SigningMode) []ui.Option {
	all := []ui.Option{
		{Value: string(models.SigningRequired), Label: "Required", Hint: "Unsigned posts are rejected."},
		{
			Value: string(models.SigningReportOnly),
			Label: "Report only",
			Hint:  "Unsigned posts are accepted, and marked as posts that would be rejected if signatures were required.",
		},
		{
			Value: string(models.SigningOff),
			Label: "Off",
			Hint:  "Unsigned posts are accepted. Anyone who knows the partnerId can send them.",
		},
	}
	if first == models.SigningInherit {
		return slices.Insert(all, 0, ui.Option{Value: string(first), Label: "Inherit from partner"})
	}
	return slices.Insert(all, 0, ui.Option{
		Value: string(first),
		Label: "Platform default",
		Hint:  "Currently “" + ui.Sentence(plainMode(h.DefaultSigning)) + "”, as set in the platform's configuration.",
	})
}

func plainMode(m models.SigningMode) string { return strings.ReplaceAll(string(m), "_", " ") }

func (h *Handlers) modeLabel(k *web.Request, m models.SigningMode) string {
	if m == models.SigningDefault {
		return plainMode(h.DefaultSigning) + " (default)"
	}
	return plainMode(m)
}

// managers returns the options for a partner's manager: all active account managers, and the
// current manager.
func (h *Handlers) managers(k *web.Request, now string) ([]ui.Option, error) {
	people, err := h.Staff.List(k.R.Context())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range people {
		if p.Status == models.StaffActive &&
			slices.ContainsFunc(p.Roles, func(r models.StaffRole) bool { return r.Role == models.AccountManager }) {
			names = append(names, p.Name)
		}
	}
	if now != "" {
		names = append(names, now)
	}
	slices.Sort(names)
	options := append([]ui.Option{{Value: "", Label: "Unassigned"}}, web.Labels(slices.Compact(names))...)
	return web.SelectOption(options, now), nil
}
