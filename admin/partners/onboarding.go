package partners

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

const (
	// recentActivityWindow is the maximum age of the activity that the onboarding page shows.
	recentActivityWindow = 24 * time.Hour
	// recentActivityItems is the maximum number of leads, and of groups of each kind of request, that the onboarding
	// page shows.
	recentActivityItems = 10
)

func (h *Handlers) onboardingPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	v, err := h.onboarding(k, p)
	if err != nil {
		return err
	}
	v.Head.Shell.Title = "Onboard " + p.Name
	v.Head.Shell.Crumbs = append(v.Head.Shell.Crumbs, ui.Link{Label: p.Name, URL: v.Head.URL})
	return k.Show(http.StatusOK, view.Onboarding(v))
}

func (h *Handlers) onboarding(k *web.Request, p models.Partner) (v view.OnboardingView, err error) {
	if v.Head, err = h.head(k, p, ""); err != nil {
		return v, err
	}
	state, err := h.progress(k, p)
	if err != nil {
		return v, err
	}
	link, linked, err := h.Partners.Link(k.R.Context(), k.Scope, p)
	if err != nil {
		return v, err
	}
	docs := ""
	if linked {
		docs = "Link created " + ui.Minute(link.CreatedAt) + ". It cannot be shown again."
	}
	if v.Live, err = h.live(k, p, &state); err != nil {
		return v, err
	}
	v.Steps = steps(p, state, v.Head, docs, h.DefaultSigning)
	return v, nil
}

// steps returns the onboarding steps. The partner's state determines which of them are done.
func steps(
	p models.Partner, s progress, head view.PartnerHead, docs string, platform models.SigningMode,
) []view.OnboardingStep {
	back := "?return=" + url.QueryEscape(head.URL+"/onboarding")
	sandbox := "" // the sandbox account that posts have to name
	for _, a := range s.accounts {
		if a.Sandbox && !a.IsDefault {
			sandbox = a.Identifier
		}
	}
	all := []view.OnboardingStep{
		{
			Title:       "Create an account",
			Text:        "Create a sandbox account for testing. Its leads are processed as usual, but earn nothing and are deleted automatically. Add a standard account after testing.",
			Done:        len(s.accounts) > 0,
			Detail:      accountText(s.accounts),
			ActionURL:   head.URL + "/accounts/new" + back,
			ActionLabel: "Create account",
		},
		{
			Title:       "Approve the partner",
			Text:        "Once approved, the partner gets prices and can deliver leads.",
			Done:        p.Status == models.PartnerApproved,
			ActionURL:   head.URL + "/approve",
			ActionLabel: head.Approve,
			Post:        true,
		},
		{
			Title:       "Create a signing secret",
			Text:        "The partner signs its posts with this secret. The secret is shown only once, so first decide how to send it securely.",
			Done:        len(s.secrets) > 0,
			ActionURL:   head.URL + "/secrets/new" + back,
			ActionLabel: "Create secret",
			Also:        &ui.Link{Label: "Import an existing secret", URL: head.URL + "/secrets/new" + back + "#f-import"},
		},
		{
			Title:       "Share integration details",
			Text:        "Send the partner its base URL, its secret and the link to its documentation page. The page lists the partnerIds, explains how to fix each error, and includes complete code samples.",
			Done:        docs != "",
			Detail:      docs,
			ActionURL:   head.URL + "/link",
			ActionLabel: "Create link",
			Post:        true,
		},
		{
			Title:   "Receive the first signed lead",
			Text:    "Leads and rejected requests appear below as they arrive.",
			Done:    s.signed.Any,
			StateID: "first-post",
		},
		{
			Title:   "Require signing",
			Text:    "If unsigned posts are rejected, no one else can send leads in the partner's name. ",
			Done:    s.onboarded(p, platform),
			StateID: "require-signing",
		},
	}
	last := &all[5]
	if s.requiresSigning(p, platform) {
		last.Text = "Signatures are required for all standard accounts. "
	}
	switch {
	case last.Done:
	case s.signed.Live:
		last.ActionURL, last.ActionLabel = head.URL+"?tab=signing", "Require signing"
	case len(s.standard()) == 0:
		last.Text += "First create a standard account, and wait for its first signed lead."
		last.ActionURL, last.ActionLabel = head.URL+"/accounts/new"+back, "Create standard account"
	default:
		last.Text += "Wait for a signed lead for a standard account."
	}
	if sandbox != "" {
		all[4].Text += " To use the sandbox account, the partner must include \"partnerId\": \"" + sandbox +
			"\" in its posts."
	}
	if docs != "" {
		all[3].Also = &ui.Link{Label: "Create a new link", URL: head.URL + "?tab=documentation"}
	}
	for i := range all {
		if !all[i].Done {
			all[i].Current = true
			break
		}
	}
	return all
}

func accountText(all []models.Account) string {
	var words []string
	for _, a := range all {
		kind := ""
		if a.Sandbox {
			kind = " (sandbox)"
		}
		words = append(words, a.Identifier+kind)
	}
	return strings.Join(words, ", ")
}

// onboardingLive renders the part of the onboarding page that reloads automatically.
func (h *Handlers) onboardingLive(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	v, err := h.onboarding(k, p)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.OnboardingProgress(v, k.Now))
}

// live returns the partner's latest activity. It also adds the signed leads to the progress, because they are not in
// the recorded traffic yet.
func (h *Handlers) live(k *web.Request, p models.Partner, s *progress) (v view.OnboardingLive, err error) {
	ctx, since := k.R.Context(), k.Now.Add(-recentActivityWindow)
	leads, err := h.Reporting.RecentLeads(ctx, k.Scope, p.ID, since, recentActivityItems)
	if err != nil {
		return v, err
	}
	groups, _, err := h.Reporting.RequestGroups(ctx, k.Scope, reporting.RequestFilter{
		Partner: p.ID, Rejected: true, Since: since,
	}, recentActivityItems)
	if err != nil {
		return v, err
	}
	names, err := h.groupNames(k, groups)
	if err != nil {
		return v, err
	}
	v.URL = web.PartnerURL(p.ID) + "/onboarding/live"
	accounts := map[uuid.UUID]models.Account{}
	for _, a := range s.accounts {
		accounts[a.ID] = a
	}
	labels := map[uuid.UUID]string{}
	for _, secret := range s.secrets {
		labels[secret.ID] = secret.Label
	}
	for _, l := range leads {
		e := leadEvent(l, accounts, labels)
		if k.MayAt(web.ReadLeads, p.ID) {
			e.Lead.URL = web.LeadURL(l.ID)
		}
		signed := l.Secret != uuid.Nil
		s.signed.Any, s.signed.Live = s.signed.Any || signed, s.signed.Live || signed && !l.Sandbox
		v.Events = append(v.Events, e)
	}
	v.Waiting = !s.signed.Any
	for _, g := range groups {
		v.Events = append(v.Events, rejectionEvent(groupRow(k, g, names)))
	}
	slices.SortStableFunc(v.Events, func(a, b view.LiveEvent) int { return b.At.Compare(a.At) })
	return v, nil
}

func rejectionEvent(row view.RequestRow) view.LiveEvent {
	e := view.LiveEvent{
		At:   row.At,
		Kind: "bad",
		What: row.Outcome,
		Fix:  row.Fix, CheckURL: row.CheckURL, Request: row.RequestID,
		First: row.First,
	}
	if !row.First.IsZero() {
		e.Count = row.Count
	}
	switch {
	case len(row.Fields) > 0:
		e.Detail = "Fields: " + strings.Join(row.Fields, ", ")
	case row.Secret != "":
		e.Detail = "Secret " + row.Secret
	}
	return e
}

func leadEvent(
	l reporting.RecentLead, accounts map[uuid.UUID]models.Account, labels map[uuid.UUID]string,
) view.LiveEvent {
	e := view.LiveEvent{
		At:      l.At,
		Kind:    "good",
		What:    "Lead delivered",
		Lead:    ui.Link{Label: id.Format(id.Lead, l.ID)},
		Sandbox: l.Sandbox,
		Detail:  "Account " + accounts[l.Account].Identifier + ", " + l.Industry + ", " + l.Price.String(),
	}
	if label, ok := labels[l.Secret]; ok {
		e.Detail += ", signed with “" + label + "”"
	} else if l.Secret == uuid.Nil {
		e.Kind, e.Detail = "warn", e.Detail+", unsigned"
	}
	return e
}
