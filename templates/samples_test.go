package templates_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/reporting"
	accountview "github.com/pingpost/pingpost/templates/account"
	designview "github.com/pingpost/pingpost/templates/design"
	loginview "github.com/pingpost/pingpost/templates/login"
	overviewview "github.com/pingpost/pingpost/templates/overview"
	"github.com/pingpost/pingpost/templates/ui"
)

var now = time.Date(2026, 11, 21, 19, 2, 44, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// shell returns the layout for a user with access to everything.
func shell(title, area string, above ...ui.Link) ui.Shell {
	s := bare(title, "")
	s.Person = ui.User{Name: "Ada Lovelace", Role: "Administrator"}
	s.Crumbs = above
	for _, label := range []string{"Overview", "Partners", "Pricing", "Leads", "Payouts", "Reconciliation", "Audit", "Staff"} {
		name := strings.ToLower(label)
		s.Nav = append(s.Nav, ui.NavItem{Label: label, URL: "/" + name, Icon: name, Current: name == area})
	}
	return s
}

// bare returns the layout for a user who is not signed in.
func bare(title, lead string) ui.Shell {
	return ui.Shell{
		Title: title, Intro: lead, Environment: "development", Path: "/", Now: now,
		Assets: ui.Assets{
			Style: assets.URL("console.css"), HTMX: assets.URL("htmx.min.js"),
			Script: assets.URL("console.js"), Icon: assets.URL("icon.svg"),
		},
	}
}

func with(s ui.Shell, lead string) ui.Shell {
	s.Intro = lead
	return s
}

// pages returns sample pages of the console. The keys are the names of their screenshots.
func pages() map[string]templ.Component {
	all := map[string]templ.Component{}
	for _, group := range []map[string]templ.Component{
		signingIn(), overviews(), audits(), staff(), failures(), partnerSamples(),
	} {
		for name, page := range group {
			all[name] = page
		}
	}
	return all
}

// qr returns an image that resembles a QR code.
func qr() string {
	var path strings.Builder
	finder := func(x, y int) (dark, inside bool) {
		return x == 0 || x == 6 || y == 0 || y == 6 || (x > 1 && x < 5 && y > 1 && y < 5), x >= 0 && x < 8 && y >= 0 && y < 8
	}
	for y := range 29 {
		for x := range 29 {
			dark := (x*x*7+y*y*13+x*y*5)%11 < 5
			for _, corner := range [][2]int{{x, y}, {28 - x, y}, {x, 28 - y}} {
				if d, inside := finder(corner[0], corner[1]); inside {
					dark = d && corner[0] < 7 && corner[1] < 7
				}
			}
			if dark {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 29 29"><path d="`+path.String()+`"/></svg>`))
}

func signingIn() map[string]templ.Component {
	account := accountview.AccountView{
		Shell:        shell("Your account", ""),
		Name:         "Ada Lovelace",
		Email:        "ada@pingpost.example",
		Roles:        []string{"Administrator, for all partners", "Finance, for harbour-leads and north-road"},
		SecondFactor: true,
		EnrolledAt:   ago(40 * 24 * time.Hour),
		RecoveryLeft: 7,
		EnrolURL:     "/account/second-factor",
		CodesURL:     "/account/recovery-codes",
		PasswordURL:  "/account/password",
		RevokeOthers: "/account/sessions/revoke-others",
		Sessions:     sessions(true),
	}
	wrong := account
	wrong.SecondFactor = false
	wrong.Errors = ui.Errors{
		{Field: "current", Message: "This is not your password."},
		{Field: "password", Message: "Use at least 12 characters. This password has 8."},
	}
	return map[string]templ.Component{
		"login": loginview.Login(loginview.LoginView{Shell: bare("Sign in", ""), Next: "/partners"}),
		"login-rejected": loginview.Login(loginview.LoginView{
			Shell: bare("Sign in", ""),
			Email: "ada@pingpost.example",
			Error: "The email or password is wrong.",
		}),
		"login-notice": loginview.Login(loginview.LoginView{
			Shell:  bare("Sign in", ""),
			Email:  "ada@pingpost.example",
			Notice: "You were signed out after 12 hours. Sign in again to continue.",
		}),
		"login-code": loginview.LoginCode(loginview.LoginCodeView{Shell: bare("Second factor", "")}),
		"invite-accept": loginview.InviteAccept(loginview.InviteAcceptView{
			Shell:  bare("Welcome, Grace", "Choose a password."),
			Action: "/invite/abc",
			Name:   "Grace Hopper",
			Email:  "grace@pingpost.example",
			Errors: ui.Errors{{Field: "again", Message: "The passwords do not match."}},
		}),
		"second-factor": loginview.EnrolSecondFactor(loginview.EnrolSecondFactorView{
			Shell:  bare("Set up a second factor", "You will sign in with your password and a code."),
			Action: "/account/second-factor",
			QR:     qr(),
			Secret: "JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP",
		}),
		"recovery-codes": ui.RecoveryCodes(ui.RecoveryCodesView{
			Shell: bare("Your recovery codes",
				"Use a recovery code if you cannot use your authenticator app. Each code works once."),
			Action: "/account/recovery-codes/kept",
			Codes: []string{"7KQ2-M9XW-4TDA", "R3HN-8VYC-P5JE", "2GWB-6ZQK-X8TM", "C9DP-4RNJ-H7VA", "Y5TX-3MKE-W2QB",
				"J8VC-9HGD-6NPR", "E4ZA-7BWT-K3XM", "P6QJ-2DYH-5GCN", "T9MR-8KXV-B4ZE", "W3NG-5CPQ-7HJD"},
		}),
		"step-up": accountview.StepUpPage(accountview.StepUpView{
			Shell:  with(shell("Confirm your identity", ""), ""),
			Action: "/step-up",
			Why:    "New recovery codes replace the old ones.",
			Code:   true,
		}),
		"account":        accountview.Account(account),
		"account-errors": accountview.Account(wrong),
		"design":         designview.Design(designview.DesignView{Shell: shell("Design", "")}),
		"keys":           ui.Keys(ui.KeysView{Shell: shell("Keys", "")}),
		"jump-nothing":   ui.Search(ui.SearchView{Shell: shell("Nothing found", ""), State: ui.SearchID, Query: "ld_01M7ZZ"}),
	}
}

func sessions(own bool) []ui.SessionRow {
	rows := []ui.SessionRow{
		{Device: "Firefox on Linux", Address: "203.0.113.40", Started: ago(3 * time.Hour), LastSeen: ago(2 * time.Second),
			Current: own},
		{
			Device:    "Safari on iPhone",
			Address:   "2001:db8:85a3::8a2e:370:7334",
			Started:   ago(51 * time.Hour),
			LastSeen:  ago(26 * time.Minute),
			RevokeURL: "/s/2",
		},
		{
			Device:    "Chrome on Windows",
			Address:   "198.51.100.7",
			Started:   ago(9 * 24 * time.Hour),
			LastSeen:  ago(4 * 24 * time.Hour),
			RevokeURL: "/s/3",
		},
	}
	if !own {
		rows[0].RevokeURL = "/s/1"
	}
	return rows
}

func overviews() map[string]templ.Component {
	full := overviewview.View{
		Shell: shell("Overview", "overview"),
		Period: ui.Period{
			Words:    "in the last 24 hours",
			StepHead: "Hour (UTC)",
			Ranges: []ui.Tab{
				{Label: "1 h", URL: "/?range=1h"},
				{Label: "24 h", URL: "/?range=24h", Current: true},
				{Label: "7 d", URL: "/?range=7d"},
				{Label: "30 d", URL: "/?range=30d"},
			},
		},
		Attention: []ui.AttentionItem{
			{Text: "2 secrets expire within a day", URL: "/partners?need=secrets", Detail: "harbour-leads, north-road"},
			{Text: "1 partner is waiting for approval", URL: "/partners?status=pending", Detail: "Tradewind Media, for 2 days"},
			{Text: "38 posts without a signature", URL: "/traffic?outcome=unsigned", Detail: "cedar-house, in the last hour"},
		},
		Tiles: []ui.StatTile{
			{Label: "Pings", Value: "230,300", Note: "12% more than the day before", URL: "/traffic?endpoint=ping"},
			{Label: "Posts", Value: "41,210", Note: "17.9% of pings", URL: "/traffic?endpoint=post"},
			{Label: "Accepted", Value: "97.2%", Note: "of posts, 95.9% the day before",
				URL: "/traffic?endpoint=post&outcome=accepted"},
			{Label: "Leads", Value: "40,062", Note: "from 14 partners", URL: "/leads"},
		},
		Rejections: []ui.Bar{
			{Label: "Quote expired", URL: "/traffic?reason=expired", Count: 512},
			{Label: "Wrong signature", URL: "/traffic?reason=signature", Count: 301},
			{Label: "Missing consent", URL: "/traffic?reason=consent", Count: 188},
			{Label: "Postcode not in the country", URL: "/traffic?reason=postcode", Count: 97},
			{Label: "Daily cap reached", URL: "/traffic?reason=cap", Count: 50},
		},
		Payouts: []reporting.Payout{
			{Amount: money.Amount{Minor: 98123455, Currency: money.GBP}, Leads: 27544},
			{Amount: money.Amount{Minor: 31288000, Currency: money.EUR}, Leads: 7302},
			{Amount: money.Amount{Minor: 20544290, Currency: money.USD}, Leads: 4116},
			{Amount: money.Amount{Minor: 4110050, Currency: money.AUD}, Leads: 1100},
		},
	}
	for i := range 24 {
		day := int64(i * (24 - i)) // less traffic at night
		full.Traffic = append(full.Traffic, ui.TrafficStep{
			Label: fmt.Sprintf("%02d:00", (19+i)%24),
			Pings: 3100 + 61*day + int64(i*i*i%7)*240,
			Posts: 520 + 11*day + int64(i*i%5)*70,
		})
	}
	quiet := overviewview.View{
		Shell:  shell("Overview", "overview"),
		Period: full.Period,
		Tiles: []ui.StatTile{
			{Label: "Pings", Value: "0", Note: "none yet", URL: "/a"},
			{Label: "Posts", Value: "0", Note: "none yet", URL: "/b"},
			{Label: "Accepted", Value: "–", Note: "no posts", URL: "/c"},
			{Label: "Leads", Value: "0", Note: "none yet", URL: "/d"},
		},
		Traffic: []ui.TrafficStep{{Label: "18:00"}, {Label: "18:30"}, {Label: "19:00"}},
	}
	failed := quiet
	failed.Failed, failed.RetryURL = "The figures could not be loaded within five seconds. Partners are not affected.", "/"
	return map[string]templ.Component{
		"overview":        overviewview.Page(full),
		"overview-quiet":  overviewview.Page(quiet),
		"overview-failed": overviewview.Page(failed),
	}
}

func audits() map[string]templ.Component {
	list := ui.AuditListView{
		Shell:    shell("Audit log", "audit"),
		FindURL:  "/audit/find",
		AllURL:   "/audit",
		CheckURL: "/audit/verify",
		Actions:  []ui.Option{{Value: "staff.roles", Label: "Changed roles"}, {Value: "login", Label: "Signed in"}},
		Kinds:    []ui.Option{{Value: "partner", Label: "Partner"}, {Value: "staff", Label: "Staff"}},
		Outcomes: []ui.Option{
			{Value: "done", Label: "Done"},
			{Value: "rejected", Label: "Rejected"},
			{Value: "failed", Label: "Failed"},
		},
		Events: events(),
		Pager:  ui.Pager{Newer: "/audit?after=1", Older: "/audit?before=2", Count: "about 12,000 events"},
	}
	intact, broken, none := list, list, list
	intact.Chain = &ui.ChainResult{
		Intact: true,
		Events: 12044,
		At:     now,
		Head:   "9f2c41d0a7be55836e1f08c4d2ab907713e6fa50c9d8214b7703ee5a1bd04c9e",
	}
	broken.Chain = &ui.ChainResult{Events: 12044, BrokenAt: 4711, At: now}
	none.Events, none.Pager = nil, ui.Pager{}
	found := list
	found.Text, found.Pager.Search = "Grace", []ui.Hidden{{Name: "text", Value: "Grace"}}
	found.CSV = ui.Download{URL: "/audit.csv", Label: "Export CSV", Holds: "2 events"}
	nothing := none
	nothing.State = ui.ListState{Filtered: true, ClearURL: "/audit"}
	nothing.Person = "nobody@example.com"
	failed := none
	failed.State = ui.ListState{Failed: "The database did not answer within five seconds.", RetryURL: "/audit"}
	return map[string]templ.Component{
		"audit":          ui.AuditList(list),
		"audit-found":    ui.AuditList(found),
		"audit-intact":   ui.AuditList(intact),
		"audit-broken":   ui.AuditList(broken),
		"audit-empty":    ui.AuditList(none),
		"audit-no-match": ui.AuditList(nothing),
		"audit-failed":   ui.AuditList(failed),
	}
}

func events() []ui.AuditRow {
	return []ui.AuditRow{
		{
			At:        ago(40 * time.Second),
			Actor:     "Ada Lovelace",
			Role:      "Administrator",
			Action:    "Changed roles",
			Kind:      "staff",
			Object:    "st_01M7Q4Z8KX3F2V9N6T0B5RCWHD",
			ObjectURL: "/staff/st_01M7",
			Outcome:   "done",
			Address:   "203.0.113.40",
			RequestID: "rq_01M7Q5A2E9",
			Changes: []ui.Change{
				{Name: "roles", Before: "Auditor", After: "Auditor, Finance"},
				{Name: "scope of Finance", After: "harbour-leads"},
			},
		},
		{
			At:        ago(4 * time.Minute),
			Actor:     "Grace Hopper",
			Role:      "Account manager",
			Action:    "Rotated a secret",
			Kind:      "partner",
			Object:    "pt_01M6ZP1D0T8V4GJ2KQW7XN3YRA",
			ObjectURL: "/partners/harbour-leads",
			Outcome:   "rejected",
			Reason:    "second factor required",
			Address:   "198.51.100.7",
			RequestID: "rq_01M7Q5A1B7",
		},
		{
			At:        ago(2 * time.Hour),
			Actor:     "the system",
			Role:      "maintenance",
			Action:    "Removed expired partitions",
			Kind:      "pings",
			Object:    "pings_2026_10_22",
			Outcome:   "done",
			RequestID: "rq_01M7PYY0C3",
		},
		{
			At:        ago(5 * time.Hour),
			Actor:     "Mary Somerville",
			Role:      "Finance",
			Action:    "Approved a payout run",
			Kind:      "payout run",
			Object:    "pr_01M7N0C4HZ6E8MSTV2B9KDQXW1",
			ObjectURL: "/payouts/pr",
			Outcome:   "done",
			Address:   "192.0.2.18",
			RequestID: "rq_01M7P1R9F2",
			Changes:   []ui.Change{{Name: "state", Before: "prepared", After: "approved"}},
		},
		{
			At:        ago(26 * time.Hour),
			Actor:     "katherine@pingpost.example",
			Role:      "not signed in",
			Action:    "Tried to sign in",
			Outcome:   "failed",
			Reason:    "wrong password",
			Address:   "203.0.113.99",
			RequestID: "rq_01M7M8D6A0",
		},
	}
}
