package templates_test

import (
	"time"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/partners"
	partnersview "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

const harbour = "/partners/pt_01M6ZP1D0T8V4GJ2KQW7XN3YRA"

var (
	partnersCrumb = ui.Link{Label: "Partners", URL: "/partners"}
	harbourCrumb  = ui.Link{Label: "Harbour Leads", URL: harbour}
)

func partnerSamples() map[string]templ.Component {
	all := map[string]templ.Component{}
	for _, group := range []map[string]templ.Component{partnerLists(), partnerTabs(), partnerSigning(),
		partnerSecrets(), partnerPrices(), partnerTraffic(), onboardings()} {
		for name, page := range group {
			all[name] = page
		}
	}
	return all
}

// fragments returns the parts of pages that scripts reload.
func fragments() map[string]templ.Component {
	return map[string]templ.Component{
		"onboarding-nothing": partnersview.OnboardingEvents(partnersview.OnboardingLive{URL: "/onboarding-nothing", Waiting: true},
			now),
		"onboarding-events": partnersview.OnboardingEvents(liveActivity(), now),
	}
}

func partnerLists() map[string]templ.Component {
	list := partnersview.PartnersView{
		Shell:  shell("Partners", "partners"),
		NewURL: "/partners/new",
		AsOf:   now,
		Statuses: []ui.Option{
			{Value: "approved", Label: "Approved"},
			{Value: "pending", Label: "Pending"},
			{Value: "suspended", Label: "Suspended"},
		},
		Managers:  []ui.Option{{Value: "Grace Hopper", Label: "Grace Hopper"}},
		Modes:     modes(),
		SortName:  ui.Sort{URL: "/partners?sort=-name", Direction: "ascending"},
		SortLeads: ui.Sort{URL: "/partners?sort=-leads"},
		SortSeen:  ui.Sort{URL: "/partners?sort=-seen"},
		Partners: []partnersview.PartnerRow{
			{
				Name:    "Harbour Leads",
				Slug:    "harbour-leads",
				URL:     harbour,
				Status:  "approved",
				Manager: "Grace Hopper",
				Signing: "report only",
				Leads:   18204,
				Payouts: []money.Amount{
					{Minor: 91020450, Currency: money.GBP},
					{Minor: 1204000, Currency: money.USD},
				},
				Rejected:    30,
				Change:      28,
				Accepted:    "16.7%",
				RequestsURL: harbour + "?tab=requests",
				LastTraffic: ago(3 * time.Second),
			},
			{
				Name:        "North Road Media & Partners of the Upper Valley",
				Slug:        "north-road",
				URL:         "/partners/2",
				Status:      "approved",
				Manager:     "Grace Hopper",
				Signing:     "required (default)",
				Leads:       911,
				Payouts:     []money.Amount{{Minor: 2733000, Currency: money.EUR}},
				LastTraffic: ago(7 * time.Minute),
			},
			{Name: "Quayside", Slug: "quayside", URL: "/partners/3", Status: "pending", Signing: "required (default)"},
			{
				Name:        "Tin Whistle",
				Slug:        "tin-whistle",
				URL:         "/partners/4",
				Status:      "suspended",
				Manager:     "Mary Somerville",
				Signing:     "off",
				Leads:       12,
				Payouts:     []money.Amount{{Minor: 36000, Currency: money.GBP}},
				LastTraffic: ago(19 * 24 * time.Hour),
			},
		},
		Pager: ui.Pager{Count: "4 partners", Older: "/partners?after=x"},
	}
	none := list
	none.Partners, none.Pager, none.AsOf = nil, ui.Pager{}, time.Time{}
	nothing, failed := none, none
	nothing.Search, nothing.State = "zebra", ui.ListState{Filtered: true, ClearURL: "/partners"}
	failed.NewURL, failed.State = "", ui.ListState{
		Failed:   "The database did not answer within five seconds.",
		RetryURL: "/partners",
	}
	empty := partnersview.PartnerNewView{
		Shell:    shell("New partner", "partners", partnersCrumb),
		Managers: managers(),
		Modes:    modes(),
	}
	rejected := empty
	rejected.Name, rejected.Slug = "Harbour Leads", "Harbour Leads"
	rejected.Errors = ui.Errors{
		{Field: "slug", Message: "A slug consists of 1 to 63 lower-case letters (a to z), digits and hyphens. It cannot start or end with a hyphen."},
		{Field: "signing", Message: "Choose a signing mode: required, report_only, off or default."},
	}
	return map[string]templ.Component{
		"partners":           partnersview.Partners(list),
		"partners-empty":     partnersview.Partners(none),
		"partners-no-match":  partnersview.Partners(nothing),
		"partners-failed":    partnersview.Partners(failed),
		"partner-new":        partnersview.PartnerNew(empty),
		"partner-new-errors": partnersview.PartnerNew(rejected),
	}
}

func managers() []ui.Option {
	return []ui.Option{
		{Value: "", Label: "Unassigned"},
		{Value: "Grace Hopper", Label: "Grace Hopper", Selected: true},
		{Value: "Mary Somerville", Label: "Mary Somerville"},
	}
}

func modes() []ui.Option {
	return []ui.Option{
		{Value: "default", Label: "Platform default", Hint: "Currently “Required”. It is set in the platform's configuration."},
		{Value: "required", Label: "Required", Hint: "Unsigned posts are rejected."},
		{
			Value:    "report_only",
			Label:    "Report only",
			Selected: true,
			Hint:     "Unsigned posts are accepted, but counted to show how many would be rejected.",
		},
		{Value: "off", Label: "Off", Hint: "Unsigned posts are accepted. Anyone who knows the partnerId can send them."},
	}
}

// head returns the header of an approved partner that has delivered leads.
func head(tab string) partnersview.PartnerHead {
	h := partnersview.PartnerHead{
		Shell:      shell("Harbour Leads", "partners", partnersCrumb),
		URL:        harbour,
		ID:         "pt_01M6ZP1D0T8V4GJ2KQW7XN3YRA",
		Name:       "Harbour Leads",
		Slug:       "harbour-leads",
		LegalName:  "Harbour Leads Ltd",
		Status:     "approved",
		Manager:    "Grace Hopper",
		BaseURL:    "https://api.pingpost.example/p/harbour-leads",
		Created:    ago(212 * 24 * time.Hour),
		Version:    12,
		CanWrite:   true,
		SuspendURL: harbour + "/suspend",
	}
	for _, name := range []string{"Accounts", "Details", "Signing", "Secrets", "Pricing", "Traffic", "Rejections",
		"Documentation", "Audit log"} {
		h.Tabs = append(h.Tabs, ui.Tab{Label: name, URL: harbour + "?tab=" + name, Current: name == tab})
	}
	return h
}

// pending returns the header of a new partner for a user who can approve it.
func pending(tab string) partnersview.PartnerHead {
	h := head(tab)
	h.Status, h.SuspendURL, h.Approve, h.OnboardingURL, h.Manager, h.LegalName = "pending", "", "Approve partner", harbour+"/onboarding", "", ""
	h.Created = ago(20 * time.Minute)
	h.Attention = []ui.AttentionItem{
		{Text: "No account", URL: harbour + "/accounts/new", Detail: "Without an account, pings to the partner's base URL and all posts are rejected."},
		{Text: "No valid signing secret", URL: harbour + "/secrets/new", Detail: "The partner's signed posts are rejected."},
	}
	return h
}

// readOnly returns head for a user who cannot change the partner.
func readOnly(tab string) partnersview.PartnerHead {
	h := head(tab)
	h.SuspendURL, h.CanWrite = "", false
	return h
}

func accounts() []partnersview.AccountRow {
	return []partnersview.AccountRow{
		{
			Identifier: "harbour",
			Name:       "Harbour",
			ID:         "ac_01M6ZP2F5B0C9D8E7G6H5J4K3M",
			URL:        harbour + "/accounts/1",
			Default:    true,
			Status:     "active",
			Signing:    "report only (inherited)",
		},
		{
			Identifier: "harbour-north-east-and-the-islands",
			Name:       "Harbour North",
			ID:         "ac_01M6ZP3G1N8P7Q6R5S4T3V2W1X",
			URL:        harbour + "/accounts/2",
			Status:     "active",
			Signing:    "required (set on the account)",
		},
		{
			Identifier: "harbour-trial",
			Name:       "Sandbox",
			ID:         "ac_01M6ZP4Y9Z8A7B6C5D4E3F2G1H",
			URL:        harbour + "/accounts/3",
			Sandbox:    true,
			Status:     "active",
			Signing:    "off (set on the account)",
		},
		{
			Identifier: "harbour-old",
			Name:       "Before the merger",
			ID:         "ac_01M6ZP5J2K3M4N5P6Q7R8S9T0V",
			URL:        harbour + "/accounts/4",
			Status:     "suspended",
			Signing:    "report only (inherited)",
		},
	}
}

func partnerTabs() map[string]templ.Component {
	form := partnersview.AccountFormView{
		Shell:      shell("Harbour North", "partners", partnersCrumb, harbourCrumb),
		Action:     harbour + "/accounts/2",
		Cancel:     harbour,
		Identifier: "harbour-north",
		Name:       "Harbour North",
		Version:    3,
		Submit:     "Save account",
		Signing:    append([]ui.Option{{Value: "inherit", Label: "Inherit from partner"}}, modes()[1:]...),
	}
	created, changed := form, form
	created.Shell, created.New, created.Identifier, created.Sandbox, created.Submit = shell("New account", "partners", partnersCrumb, harbourCrumb), true, "Harbour", true, "Create account"
	created.Errors = ui.Errors{{Field: "identifier", Message: "This partnerId differs from an existing one only in upper and lower case. Choose another partnerId."}}
	changed.Default, changed.Suspended, changed.Sandbox = true, true, true
	changed.Conflict = &ui.Conflict{
		Actor:   "Mary Somerville",
		At:      ago(40 * time.Second),
		Changes: []ui.Change{{Name: "status", Before: "active", After: "suspended"}},
	}
	details := partnersview.PartnerDetailsView{
		Head:     head("Details"),
		Managers: managers(),
		Version:  12,
		Details: partners.Details{
			Name:         "Harbour Leads",
			LegalName:    "Harbour Leads Ltd",
			Address:      "4 Quay Street\nBristol\nBS1 4RN",
			TaxID:        "GB123456789",
			PaymentTerms: "30 days",
			Notes:        "Their developer is away on Fridays.",
			Contacts: []partners.Contact{
				{Name: "Annie Easley", Role: "Accounts", Email: "annie@harbour.example", Phone: "+44 117 496 0000"},
				{Name: "Radia Perlman", Role: "Developer", Email: "radia.perlman-of-the-spanning-trees@harbour.example"},
				{},
				{},
			},
		},
	}
	conflict, locked := details, details
	conflict.Conflict = &ui.Conflict{
		Actor: "Mary Somerville",
		At:    ago(90 * time.Second),
		Changes: []ui.Change{
			{Name: "payment terms", Before: "14 days", After: "30 days"},
			{Name: "notes", After: "Calls on Mondays"},
		},
	}
	conflict.Errors = ui.Errors{
		{Field: "contact-1-email", Message: "Enter an email address like name@example.com, with at most 254 characters."},
		{Field: "name", Message: "Enter a name for the partner."},
	}
	locked.Head, locked.Locked, locked.Contacts = readOnly("Details"), "You have read-only access to this partner.", details.Contacts[:2]
	bare := partnersview.PartnerDetailsView{
		Head:    readOnly("Details"),
		Details: partners.Details{Name: "Harbour Leads"},
		Locked:  locked.Locked,
	}
	audit := partnersview.PartnerAuditView{
		Head:   head("Audit log"),
		Events: events()[:2],
		Pager:  ui.Pager{Count: "2 events"},
	}
	documentation := partnersview.PartnerDocumentationView{
		Head:     head("Documentation"),
		Created:  ago(3 * 24 * time.Hour),
		CanWrite: true,
	}
	return map[string]templ.Component{
		"partner": partnersview.PartnerAccounts(partnersview.PartnerAccountsView{
			Head:     head("Accounts"),
			Accounts: accounts(),
			NewURL:   harbour + "/accounts/new",
		}),
		"partner-pending": partnersview.PartnerAccounts(partnersview.PartnerAccountsView{
			Head:   pending("Accounts"),
			NewURL: harbour + "/accounts/new",
		}),
		"account":                  partnersview.AccountForm(form),
		"account-new":              partnersview.AccountForm(created),
		"account-conflict":         partnersview.AccountForm(changed),
		"partner-details":          partnersview.PartnerDetails(details),
		"partner-details-conflict": partnersview.PartnerDetails(conflict),
		"partner-details-locked":   partnersview.PartnerDetails(locked),
		"partner-details-bare":     partnersview.PartnerDetails(bare),
		"partner-audit":            partnersview.PartnerAudit(audit),
		"partner-audit-empty":      partnersview.PartnerAudit(partnersview.PartnerAuditView{Head: head("Audit log")}),
		"link-created": partnersview.LinkCreated(partnersview.LinkCreatedView{
			Shell:       shell("New documentation link", "partners", partnersCrumb, harbourCrumb),
			PartnerName: "Harbour Leads",
			Link:        "https://api.pingpost.example/partner/k3J9xQ2mT7vLw0RzN5cYbF8hSgD1pEaUuK4iXo6WABC",
			NextLabel:   "Continue onboarding",
			NextURL:     harbour + "/onboarding",
		}),
		"partner-documentation": partnersview.PartnerDocumentation(documentation),
		"partner-documentation-none": partnersview.PartnerDocumentation(partnersview.PartnerDocumentationView{
			Head:     head("Documentation"),
			CanWrite: true,
		}),
	}
}
