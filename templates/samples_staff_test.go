package templates_test

import (
	"time"

	"github.com/a-h/templ"

	staffview "github.com/pingpost/pingpost/templates/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

var staffCrumb = ui.Link{Label: "Staff", URL: "/staff"}

func staff() map[string]templ.Component {
	list := staffview.StaffListView{
		Shell: shell("Staff", "staff"), InviteURL: "/staff/invite",
		Roles:    []ui.Option{{Value: "admin", Label: "Administrator"}, {Value: "manager", Label: "Account manager"}},
		Statuses: []ui.Option{{Value: "active", Label: "Active"}, {Value: "invited", Label: "Invited"}},
		SortName: ui.Sort{URL: "/staff?sort=-name", Direction: "ascending"}, SortSeen: ui.Sort{URL: "/staff?sort=seen"},
		People: []staffview.StaffRow{
			{
				Name:         "Ada Lovelace",
				Email:        "ada@pingpost.example",
				URL:          "/staff/1",
				Roles:        []string{"Administrator"},
				SecondFactor: true,
				LastSeen:     ago(2 * time.Second),
				Status:       "active",
			},
			{
				Name:         "Grace Hopper",
				Email:        "grace@pingpost.example",
				URL:          "/staff/2",
				Roles:        []string{"Account manager, for harbour-leads and north-road", "Pricing"},
				SecondFactor: true,
				LastSeen:     ago(4 * time.Minute),
				Status:       "active",
			},
			{
				Name:     "Katherine Johnson",
				Email:    "katherine.johnson-of-the-trajectories@pingpost.example",
				URL:      "/staff/3",
				Roles:    []string{"Auditor"},
				LastSeen: ago(26 * time.Hour),
				Status:   "active",
			},
			{Name: "Hedy Lamarr", Email: "hedy@pingpost.example", URL: "/staff/4", Roles: []string{"Account manager"}, Status: "invited"},
			{
				Name:         "Mary Somerville",
				Email:        "mary@pingpost.example",
				URL:          "/staff/5",
				Roles:        []string{"Finance"},
				SecondFactor: true,
				LastSeen:     ago(90 * 24 * time.Hour),
				Status:       "deactivated",
			},
		},
		Pager: ui.Pager{Count: "5 people"},
	}
	none := list
	none.People, none.Pager = nil, ui.Pager{}
	nothing := none
	nothing.Search, nothing.State = "zebra", ui.ListState{Filtered: true, ClearURL: "/staff"}
	invite := staffview.StaffInviteView{
		Shell:  shell("Invite user", "staff", staffCrumb),
		Action: "/staff/invite",
		Cancel: "/staff",
		Roles:  roles(),
		StepUp: ui.StepUp{Needed: true, Code: true},
	}
	rejected := invite
	rejected.Name, rejected.Email = "Hedy Lamarr", "hedy@pingpost"
	rejected.Errors = ui.Errors{
		{Field: "email", Message: "Enter an email address like hedy@example.com."},
		{Field: "partners-manager", Message: "Partner north-raod not found. Did you mean north-road?"},
		{Field: "proof", Message: "This is not your password or a valid code."},
	}
	all := map[string]templ.Component{
		"staff":               staffview.StaffList(list),
		"staff-empty":         staffview.StaffList(none),
		"staff-no-match":      staffview.StaffList(nothing),
		"staff-invite":        staffview.StaffInvite(invite),
		"staff-invite-errors": staffview.StaffInvite(rejected),
		"staff-invited": staffview.StaffInvited(staffview.StaffInvitedView{
			Shell:      shell("Invitation for Hedy Lamarr", "staff", staffCrumb),
			Name:       "Hedy Lamarr",
			Email:      "hedy@pingpost.example",
			PersonURL:  "/staff/4",
			ValidWords: "for 72 hours, until 2026-11-24 19:02 UTC",
			Link:       "https://console.pingpost.example/invite/iv_k3J9xQ2mT7vLw0RzN5cYbF8hSgD1pEaUuK4iXo6W",
		}),
		"access": access(),
	}
	for name, page := range person() {
		all[name] = page
	}
	return all
}

func roles() []ui.RoleChoice {
	return []ui.RoleChoice{
		{Value: "administrator", Label: "Administrator", Hint: "Invites users, assigns roles and manages the platform."},
		{
			Value:    "manager",
			Label:    "Account manager",
			Hint:     "Onboards partners and manages their accounts, signing and secrets.",
			Selected: true,
			Scopable: true,
			Some:     true,
			Partners: "harbour-leads, north-raod",
		},
		{Value: "pricing", Label: "Pricing", Hint: "Drafts and publishes rate cards."},
		{Value: "finance", Label: "Finance", Hint: "Reconciles, prepares and approves payouts.", Scopable: true},
		{Value: "auditor", Label: "Auditor", Hint: "Can read everything except personal data, but cannot change anything.", Selected: true, Scopable: true},
	}
}

func person() map[string]templ.Component {
	confirm := func(title, prefix, name, what, submit string) *ui.ConfirmView {
		return &ui.ConfirmView{
			Shell:       shell(title, "staff", staffCrumb, ui.Link{Label: "Grace Hopper", URL: "/staff/2"}),
			Prefix:      prefix,
			Action:      "/staff/2/" + prefix,
			Consequence: what,
			TypeName:    name,
			StepUp:      ui.StepUp{Needed: true, Code: true},
			Submit:      submit,
			Cancel:      "/staff/2",
		}
	}
	deactivate := confirm("Deactivate Grace Hopper", "deactivate", "Grace Hopper",
		"She is signed out on all devices and cannot sign in until an administrator reactivates her. Her actions stay in the audit log.",
		"Deactivate user")
	reset := confirm("Reset the second factor of Grace Hopper", "reset", "",
		"Her authenticator app and recovery codes stop working, and she is signed out on all devices. At her next sign-in, she sets up a new second factor.",
		"Reset second factor")
	view := staffview.StaffPersonView{
		Shell:        shell("Grace Hopper", "staff", staffCrumb),
		URL:          "/staff/2",
		ID:           "st_01M7Q4Z8KX3F2V9N6T0B5RCWHD",
		Name:         "Grace Hopper",
		Email:        "grace@pingpost.example",
		Status:       "active",
		SecondFactor: true,
		LastSeen:     ago(4 * time.Minute),
		InvitedBy:    "Ada Lovelace",
		AccessURL:    "/staff/2/access",
		Version:      7,
		Roles:        roles(),
		StepUp:       ui.StepUp{Needed: true, Code: true},
		Deactivate:   deactivate,
		Reset:        reset,
	}
	inSessions, inAudit, conflict, own := view, view, view, view
	inSessions.Tab, inSessions.Sessions, inSessions.RevokeAll = "sessions", sessions(false), "/staff/2/sessions/revoke-all"
	inAudit.Tab, inAudit.Events, inAudit.Pager = "audit", events()[:2], ui.Pager{Count: "2 events"}
	conflict.Conflict = &ui.Conflict{
		Actor:   "Mary Somerville",
		At:      ago(90 * time.Second),
		Changes: []ui.Change{{Name: "Roles", Before: "Account manager", After: "Account manager, Finance"}},
	}
	own.Locked, own.Deactivate, own.Reset = "You cannot change your own roles. Ask another administrator.", nil, nil
	own.Roles = roles()
	for i := range own.Roles {
		own.Roles[i].Locked = "not assigned"
		if own.Roles[i].Selected {
			own.Roles[i].Locked = "for all partners"
		}
	}
	notice := view
	notice.Shell.Notices = []ui.Notice{{Kind: "good", Text: "The roles were changed. They take effect immediately."}}
	wrong := *deactivate
	wrong.Errors = ui.Errors{{Field: "name", Message: "This is not the name. Type Grace Hopper."}}
	return map[string]templ.Component{
		"person":          staffview.StaffPerson(notice),
		"person-sessions": staffview.StaffPerson(inSessions),
		"person-audit":    staffview.StaffPerson(inAudit),
		"person-conflict": staffview.StaffPerson(conflict),
		"person-own":      staffview.StaffPerson(own),
		"confirm":         ui.Confirm(wrong),
	}
}

func access() templ.Component {
	return staffview.AccessExplained(staffview.AccessExplainedView{
		Shell: shell("Access of Grace Hopper", "staff", staffCrumb, ui.Link{Label: "Grace Hopper", URL: "/staff/2"}),
		Name:  "Grace Hopper",
		Allowed: []staffview.Permission{
			{
				What:   "See partners and their accounts",
				Where:  "harbour-leads, north-road",
				Role:   "Account manager",
				Policy: "p, manager, partner, read",
			},
			{
				What:   "Create and rotate signing secrets",
				Where:  "harbour-leads, north-road",
				Role:   "Account manager",
				Policy: "p, manager, secret, change",
			},
			{What: "See the audit log", Where: "all partners", Role: "Auditor", Policy: "p, auditor, audit, read"},
		},
		Denied: []staffview.Permission{
			{What: "Publish a rate card", Role: "Pricing"},
			{What: "Approve a payout run", Role: "Finance"},
			{What: "Invite staff", Role: "Administrator"},
		},
	})
}

func failures() map[string]templ.Component {
	in := shell("", "")
	return map[string]templ.Component{
		"error-403": ui.ErrorPage(ui.ErrorView{
			Shell:      in,
			Status:     403,
			Permission: "change signing secrets",
			Roles:      []string{"administrator", "account_manager"},
			Everywhere: true,
		}),
		"error-404": ui.ErrorPage(ui.ErrorView{Shell: in, Status: 404}),
		"error-405": ui.ErrorPage(ui.ErrorView{Shell: in, Status: 405}),
		"error-413": ui.ErrorPage(ui.ErrorView{Shell: in, Status: 413}),
		"error-429": ui.ErrorPage(ui.ErrorView{Shell: bare("", ""), Status: 429, RetryAfter: 42, RetryURL: "/login"}),
		"error-500": ui.ErrorPage(ui.ErrorView{
			Shell:     in,
			Status:    500,
			RequestID: "rq_01M7Q5A2E9",
			RetryURL:  "/partners",
		}),
		"error-503": ui.ErrorPage(ui.ErrorView{
			Shell:      bare("", ""),
			Status:     503,
			RequestID:  "rq_01M7Q5A2E9",
			RetryAfter: 5,
			RetryURL:   "/",
		}),
	}
}
