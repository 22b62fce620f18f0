package templates_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/internal/partners"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	disclosuresview "github.com/pingpost/pingpost/templates/disclosures"
	jobsview "github.com/pingpost/pingpost/templates/jobs"
	leadsview "github.com/pingpost/pingpost/templates/leads"
	loginview "github.com/pingpost/pingpost/templates/login"
	notesview "github.com/pingpost/pingpost/templates/notes"
	partnersview "github.com/pingpost/pingpost/templates/partners"
	payoutsview "github.com/pingpost/pingpost/templates/payouts"
	pricingview "github.com/pingpost/pingpost/templates/pricing"
	retentionview "github.com/pingpost/pingpost/templates/retention"
	staffview "github.com/pingpost/pingpost/templates/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

var now = time.Date(2026, 11, 21, 19, 2, 44, 0, time.UTC)

// shell returns a layout with a user and navigation.
func shell(title string, crumbs ...ui.Link) ui.Shell {
	return ui.Shell{
		Title: title, Path: "/", Now: now, Crumbs: crumbs,
		Person: ui.User{Name: "Ada Lovelace", Role: "Administrator"},
		Nav:    []ui.NavItem{{Label: "Staff", URL: "/staff", Icon: "staff", Current: true}},
	}
}

// Text from users is never interpreted as markup.
func TestTextIsNeverMarkup(t *testing.T) {
	const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x00"
	const address = "javascript:alert(1)"
	s := shell(hostile, ui.Link{Label: hostile, URL: address})
	s.Person.Name, s.Intro, s.Path, s.Environment, s.Theme = hostile, hostile, hostile, hostile, hostile
	s.Notices = []ui.Notice{{Kind: hostile, Text: hostile}}
	event := ui.AuditRow{
		Actor:     hostile,
		Role:      hostile,
		Action:    hostile,
		Kind:      hostile,
		Object:    hostile,
		ObjectURL: address,
		Outcome:   hostile,
		Reason:    hostile,
		RequestID: hostile,
		Address:   hostile,
		Changes:   []ui.Change{{Name: hostile, Before: hostile, After: hostile}},
	}
	errors := ui.Errors{{Field: hostile, Message: hostile}, {Field: "name", Message: hostile}}
	pages := map[string]templ.Component{
		"login": loginview.Login(loginview.LoginView{
			Shell:  s,
			Email:  hostile,
			Error:  hostile,
			Notice: hostile,
			Next:   hostile,
		}),
		"audit": ui.AuditList(ui.AuditListView{
			Shell:  s,
			Person: hostile,
			Object: hostile,
			Events: []ui.AuditRow{event},
		}),
		"staff": staffview.StaffList(staffview.StaffListView{
			Shell:  s,
			Search: hostile,
			People: []staffview.StaffRow{{Name: hostile, Email: hostile, URL: address, Roles: []string{hostile}, Status: hostile}},
		}),
		"invite": staffview.StaffInvite(staffview.StaffInviteView{
			Shell:  s,
			Action: address,
			Name:   hostile,
			Errors: errors,
			Roles:  []ui.RoleChoice{{Value: hostile, Label: hostile, Hint: hostile, Scopable: true, Partners: hostile}},
		}),
		"invited": staffview.StaffInvited(staffview.StaffInvitedView{
			Shell:     s,
			Name:      hostile,
			Link:      hostile,
			PersonURL: address,
		}),
		"confirm": ui.Confirm(ui.ConfirmView{
			Shell:       s,
			Prefix:      hostile,
			Action:      address,
			Consequence: hostile,
			TypeName:    hostile,
			Hidden:      []ui.Hidden{{Name: hostile, Value: hostile}},
			Cancel:      address,
			Errors:      errors,
		}),
		"error": ui.ErrorPage(ui.ErrorView{
			Shell:      s,
			Status:     403,
			Permission: hostile,
			Roles:      []string{hostile},
			RequestID:  hostile,
			RetryURL:   address,
		}),
		"jump": ui.Search(ui.SearchView{
			Shell:        s,
			Query:        hostile,
			State:        ui.SearchName,
			Results:      []ui.SearchResult{{Kind: hostile, Label: hostile, Hint: hostile, URL: address}},
			CanFindLeads: true,
		}),
	}
	maps.Copy(pages, partnersOf(s, hostile, address))
	maps.Copy(pages, pricesOf(s, hostile, address))
	maps.Copy(pages, payoutsOf(s, hostile, address))
	maps.Copy(pages, leadsOf(s, hostile, address))
	for name, page := range pages {
		var b strings.Builder
		if err := page.Render(t.Context(), &b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, bad := range []string{"<script>alert", "<img src=x", `""'>`, "'><img", address, " style="} {
			if at := strings.Index(b.String(), bad); at >= 0 {
				t.Errorf("%s: %q is not escaped: %s", name, bad, b.String()[max(at-80, 0):at+40])
			}
		}
	}
}

// partnersOf returns partner pages in which every text is the argument text and most URLs are the
// argument address.
func partnersOf(s ui.Shell, text, address string) map[string]templ.Component {
	errors := ui.Errors{{Field: text, Message: text}, {Message: text, URL: address}}
	account := partnersview.AccountRow{
		Identifier: text,
		Name:       text,
		ID:         text,
		URL:        address,
		Status:     text,
		Signing:    text,
	}
	head := partnersview.PartnerHead{
		Shell:         s,
		URL:           "/partners/" + text,
		ID:            text,
		Name:          text,
		Slug:          text,
		LegalName:     text,
		Status:        text,
		Manager:       text,
		BaseURL:       text,
		Approve:       text,
		OnboardingURL: address,
		Attention:     []ui.AttentionItem{{Text: text, URL: address, Detail: text}},
	}
	return map[string]templ.Component{
		"partners": partnersview.Partners(partnersview.PartnersView{
			Shell:    s,
			Search:   text,
			NewURL:   address,
			Partners: []partnersview.PartnerRow{{Name: text, Slug: text, URL: address, Status: text, Manager: text, Signing: text}},
		}),
		"accounts": partnersview.PartnerAccounts(partnersview.PartnerAccountsView{
			Head:     head,
			Accounts: []partnersview.AccountRow{account},
		}),
		"account": partnersview.AccountForm(partnersview.AccountFormView{
			Shell:      s,
			Action:     address,
			Cancel:     address,
			New:        true,
			Identifier: text,
			Name:       text,
			Errors:     errors,
		}),
		"details": partnersview.PartnerDetails(partnersview.PartnerDetailsView{
			Head: head,
			Details: partners.Details{
				Name:     text,
				Address:  text,
				Notes:    text,
				Contacts: []partners.Contact{{Name: text, Role: text, Email: text, Phone: text}},
			},
			Errors: errors,
		}),
		"read-only details": partnersview.PartnerDetails(partnersview.PartnerDetailsView{
			Head: head,
			Details: partners.Details{
				Name:     text,
				Address:  text,
				Notes:    text,
				Contacts: []partners.Contact{{Name: text, Role: text, Email: text, Phone: text}},
			},
			Locked: text,
		}),
		"signing": partnersview.PartnerSigning(partnersview.PartnerSigningView{
			Head:         head,
			Mode:         text,
			SharedLocked: text,
			SharedWords:  text,
			Accounts:     []partnersview.AccountRow{account},
		}),
		"secrets": partnersview.PartnerSecrets(partnersview.PartnerSecretsView{
			Head:     head,
			CheckURL: address,
			Secrets: []partnersview.SecretRow{{
				Label:      text,
				ID:         text,
				Shown:      text,
				State:      text,
				StateWords: text,
				CreatedBy:  text,
				ExpireURL:  address,
				RevokeURL:  address,
			}},
		}),
		"secret created": partnersview.SecretCreated(partnersview.SecretCreatedView{
			Shell:       s,
			PartnerName: text,
			Label:       text,
			Secret:      text,
			BaseURL:     text,
			NextLabel:   text,
			NextURL:     address,
		}),
		"expire": partnersview.ExpireForm(partnersview.ExpireFormView{
			Shell:  s,
			Action: address,
			Cancel: address,
			Label:  text,
			Errors: errors,
		}),
		"check": partnersview.PostCheck(partnersview.CheckView{
			Head:    head,
			Request: text,
			Result: &partnersview.CheckResult{
				Verdict: text, Code: text, Signed: []byte(text),
				Checks: []partnersview.CheckRow{{Label: text, State: text, Detail: text, Fix: text, Notes: []string{text}}},
			},
		}),
		"requests": partnersview.Requests(partnersview.RequestsView{
			Head:     head,
			Days:     text,
			CheckURL: address,
			Requests: []partnersview.RequestRow{
				{Outcome: text, Account: text, Fix: text, Fields: []string{text}, RequestID: ui.Link{Label: text, URL: address}},
				{Outcome: text, Secret: text, Response: text, Partner: ui.Link{Label: text, URL: address}},
			},
		}),
		"request": partnersview.PartnerRequest(partnersview.PartnerRequestView{
			Head: head, RequestID: text, Outcome: text, Endpoint: text, Account: text, Secret: text, Status: text,
			Message: text, Reply: text, Fields: []string{text}, Fix: text, Lead: ui.Link{Label: text, URL: address}, Took: text, ListURL: address,
		}),
		"documentation": partnersview.PartnerDocumentation(partnersview.PartnerDocumentationView{Head: head, Created: s.Now, CanWrite: true}),
		"link": partnersview.LinkCreated(partnersview.LinkCreatedView{
			Shell:       s,
			PartnerName: text,
			Link:        "https://api.example/" + text,
			NextLabel:   text,
			NextURL:     address,
		}),
		"onboarding": partnersview.Onboarding(partnersview.OnboardingView{
			Head: head,
			Steps: []partnersview.OnboardingStep{{
				Title:       text,
				Text:        text,
				Detail:      text,
				ActionURL:   address,
				ActionLabel: text,
				Post:        true,
				Also:        &ui.Link{Label: text, URL: address},
			}},
			Live: partnersview.OnboardingLive{Events: []partnersview.LiveEvent{{
				Kind:     text,
				What:     text,
				Detail:   text,
				Lead:     ui.Link{Label: text, URL: address},
				Fix:      text,
				CheckURL: address,
			}}},
		}),
	}
}

// pricesOf is like partnersOf, but returns pricing pages.
func pricesOf(s ui.Shell, text, address string) map[string]templ.Component {
	errors := ui.Errors{{Field: text, Message: text}, {Message: text, URL: address}}
	link, file := ui.Link{Label: text, URL: address}, ui.Download{URL: address, Label: text, Holds: text}
	head := pricingview.DraftHead{
		Shell:     s,
		URL:       "/pricing/drafts/" + text,
		ID:        text,
		Title:     text,
		State:     text,
		Author:    text,
		UpdatedBy: text,
		BasedOn:   link,
		Newer:     link,
		Published: link,
		Locked:    text,
		CanWrite:  true,
	}
	change := []pricingview.CellChange{{Cell: text, Old: text, New: text, Ceiling: text}}
	grid := pricingview.PriceGrid{
		Caption:   text,
		Action:    address,
		Currency:  text,
		PriceHead: text,
		Rows: []pricingview.PriceRow{
			{Key: text, Slug: text, Name: text, Base: text, Price: text, Live: text, Typed: text, Error: text},
			{Key: text, Name: text, Category: true, Inherited: text, Source: text, Price: text},
		},
	}
	draft := pricingview.DraftGridView{
		Head:    head,
		Grid:    grid,
		Cells:   address,
		UndoURL: address,
		Undo:    pricingview.EditToUndo{Number: text, What: text},
		Shown:   1,
		Bulk:    pricingview.BulkForm{Amount: text, Error: text},
		CSV:     file,
		YAML:    file,
		Errors:  errors,
	}
	read := grid
	read.Action = ""
	return map[string]templ.Component{
		"pricing": pricingview.Home(pricingview.HomeView{
			Shell:   s,
			Version: link,
			By:      text,
			Note:    text,
			NewURL:  address,
			Grid:    read,
			CSV:     file,
			YAML:    file,
			Drafts:  []pricingview.DraftRow{{Title: text, URL: address, Author: text, State: text, UpdatedBy: text}},
		}),
		"grid":      pricingview.DraftGrid(draft),
		"grid part": pricingview.DraftGridPart(draft),
		"bulk": pricingview.DraftBulk(pricingview.DraftBulkView{
			Shell:   s,
			Action:  address,
			Cancel:  address,
			Hidden:  []ui.Hidden{{Name: text, Value: text}},
			What:    text,
			Changes: change,
			Submit:  text,
		}),
		"rules": pricingview.DraftRules(pricingview.DraftRulesView{
			Head:   head,
			Search: text,
			NewURL: address,
			Rules:  []pricingview.RuleRow{{URL: address, Selector: text, Effects: []string{text}, Note: text, Problems: []string{text}}},
		}),
		"rule": pricingview.RuleForm(pricingview.RuleFormView{
			Shell:      s,
			Action:     address,
			Cancel:     address,
			RemoveURL:  address,
			Multiplier: text,
			Note:       text,
			Errors:     errors,
			Amounts:    []pricingview.AmountFields{{Name: text, Label: text, Hint: text, Fields: []ui.Hidden{{Name: text, Value: text}}}},
		}),
		"edits": pricingview.DraftEdits(pricingview.DraftEditsView{
			Head:  head,
			Edits: []pricingview.EditRow{{Actor: text, What: text, Undone: now, UndoneBy: text}},
		}),
		"draft form": pricingview.DraftForm(pricingview.DraftFormView{
			Shell:    s,
			Action:   address,
			Cancel:   address,
			Title:    text,
			From:     text,
			FromName: text,
			Errors:   errors,
		}),
		"import": pricingview.Import(pricingview.ImportView{
			Shell:    s,
			Action:   address,
			Cancel:   address,
			Text:     text,
			Problems: pricingrules.Problems{{Message: text}},
			Errors:   errors,
		}),
		"dry run": pricingview.Import(pricingview.ImportView{
			Shell:  s,
			Action: address,
			Cancel: address,
			Result: &pricingview.ImportResult{
				Name:    text,
				Kind:    text,
				Content: text,
				Summary: text,
				Changes: change,
				Submit:  text,
			},
		}),
	}
}

// payoutsOf is like partnersOf, but returns payout pages.
func payoutsOf(s ui.Shell, text, address string) map[string]templ.Component {
	errors := ui.Errors{{Field: text, Message: text}, {Message: text, URL: address}}
	link, file, sum := ui.Link{Label: text, URL: address}, ui.Download{URL: address, Label: text, Holds: text}, []payoutsview.Sum{{}}
	job := ui.JobStatus{State: "running", Phase: text, Failure: text, StopURL: address}
	lead := payoutsview.ReturnLead{Lead: link, Partner: text, Identifier: text}
	run := payoutsview.RunLive{
		URL:          "/payouts/runs/" + text,
		LiveURL:      "/x",
		ID:           text,
		Prepared:     true,
		Note:         text,
		Reference:    text,
		CancelReason: text,
		Actions:      []payoutsview.RunAction{{What: text, Actor: text}},
		Work:         job,
		EntriesURL:   address,
		Payments:     file,
		Statements:   []payoutsview.StatementRow{{Account: link, Partner: text, Outcome: text}},
		Pager:        ui.Pager{Older: address},
	}
	preparing, cancelled, empty := run, run, run
	preparing.State, cancelled.State, empty.State = "preparing", "cancelled", "empty"
	return map[string]templ.Component{
		"ledger": payoutsview.Ledger(payoutsview.LedgerView{
			Shell:      s,
			Partner:    text,
			Account:    text,
			Lead:       text,
			Run:        text,
			SumsOf:     text,
			Sums:       sum,
			Statements: []ui.Link{link},
			AdjustURL:  address,
			ReturnURL:  address,
			JobsURL:    address,
			Entries: []payoutsview.LedgerRow{{
				Kind:       text,
				Note:       text,
				By:         text,
				Partner:    link,
				Identifier: text,
				Lead:       link,
				Run:        link,
				RunState:   text,
				Return:     address,
			}},
			Export: payoutsview.LedgerExport{
				CSV:     file,
				Prepare: []ui.Hidden{{Name: text, Value: text}},
				Large:   true,
			},
		}),
		"balances": payoutsview.Balances(payoutsview.BalancesView{
			Shell:    s,
			Balances: []payoutsview.BalanceRow{{Partner: link, Account: link}},
		}),
		"adjust": payoutsview.Adjust(payoutsview.AdjustView{
			Shell:        s,
			Partner:      text,
			Name:         text,
			Accounts:     []ui.Option{{Value: text, Label: text}},
			AdjustmentID: text,
			Amount:       text,
			Lead:         text,
			Why:          text,
			Cancel:       address,
			Errors:       errors,
		}),
		"adjustments": payoutsview.Adjustments(payoutsview.AdjustmentsView{
			Shell:       s,
			Partner:     text,
			AdjustURL:   address,
			Adjustments: []payoutsview.AdjustmentRow{{ID: link, Partner: link, Lead: link, Identifier: text, State: text, RequestedBy: text}},
		}),
		"adjustment": payoutsview.Adjustment(payoutsview.AdjustmentView{
			Shell:           s,
			URL:             address,
			Row:             payoutsview.AdjustmentRow{ID: link, Partner: link, Lead: link, Identifier: text, State: "open", RequestedBy: text},
			Reason:          text,
			DecidedBy:       text,
			Answer:          text,
			Approvers:       text,
			ApprovalBlocked: text,
			CanDecide:       true,
			Errors:          errors,
		}),
		"adjust, no account": payoutsview.Adjust(payoutsview.AdjustView{Shell: s, Name: text}),
		"returns": payoutsview.Returns(payoutsview.ReturnsView{
			Shell:   s,
			Partner: text,
			Lead:    text,
			NewURL:  address,
			Returns: []payoutsview.ReturnRow{{ID: link, Lead: link, Partner: text, Reason: text, State: text, RequestedBy: text}},
		}),
		"return new": payoutsview.ReturnNew(payoutsview.ReturnNewView{
			Shell:    s,
			Lead:     text,
			Evidence: text,
			Window:   text,
			Earned:   &lead,
			Errors:   errors,
		}),
		"return": payoutsview.Return(payoutsview.ReturnView{
			Shell:       s,
			URL:         address,
			ID:          text,
			State:       "open",
			Lead:        lead,
			Reason:      text,
			Evidence:    text,
			RequestedBy: text,
			DecidedBy:   text,
			Answer:      text,
			CanDecide:   true,
			Acceptors:   text,
			Errors:      errors,

			AcceptBlocked: text,
		}),
		"runs": payoutsview.Runs(payoutsview.RunsView{
			Shell:  s,
			NewURL: address,
			Runs:   []payoutsview.RunRow{{ID: link, State: text, Preparer: text}},
		}),
		"run new": payoutsview.RunNew(payoutsview.RunNewView{
			Shell:   s,
			Cutoff:  text,
			Minimum: text,
			Note:    text,
			Errors:  errors,
		}),
		"run": payoutsview.Run(payoutsview.RunView{
			Shell:    s,
			Live:     run,
			Conflict: &ui.Conflict{Actor: text, Changes: []ui.Change{{Name: text, Before: text, After: text}}},
			Errors:   errors,
		}),
		"preparing": payoutsview.RunPart(preparing, now),
		"cancelled": payoutsview.RunPart(cancelled, now),
		"empty":     payoutsview.RunPart(empty, now),
		"pay": payoutsview.RunPay(payoutsview.RunPayView{
			Shell:     s,
			URL:       address,
			Typed:     text,
			Reference: text,
			Name:      text,
			Errors:    errors,
		}),
		"statement": payoutsview.Statement(payoutsview.StatementView{
			Shell:         s,
			LegalName:     text,
			Slug:          text,
			Address:       text,
			TaxID:         text,
			RunID:         text,
			State:         text,
			Reference:     text,
			BankReference: text,
			Currency:      text,
			LedgerURL:     address,
			CSV:           file,
			Accounts:      []payoutsview.StatementAccount{{Identifier: text, Outcome: text}},
			Corrections:   []payoutsview.StatementCorrection{{Kind: text, Account: text, Lead: text, Note: text}},
		}),
		"export": payoutsview.ExportPage(payoutsview.ExportView{
			Shell: s,
			Live:  payoutsview.ExportLive{URL: address, LiveURL: "/x", ID: text, Work: job, File: file},
		}),
		"jobs": jobsview.List(jobsview.ListView{
			Shell: s,
			Rows:  []jobsview.Row{{LiveURL: "/x", Key: text, Kind: text, For: link, Partner: text, EnqueuedBy: text, Status: job}},
		}),
	}
}

// leadsOf is like partnersOf, but returns lead pages. Disclosures and certificates come from
// partners.
func leadsOf(s ui.Shell, text, address string) map[string]templ.Component {
	link := ui.Link{Label: text, URL: address}
	rows := []leadsview.Row{{ID: text, URL: address, Partner: link, Account: text, Industry: text, Country: text, States: []string{text}}}
	find := leadsview.FindForm{Value: text, Errors: ui.Errors{{Field: "q", Message: text}}}
	lead := leadsview.DetailsView{
		Payout:        leadsview.Payout{State: text, Text: text},
		Shell:         s,
		ID:            text,
		TransactionID: text,
		States:        []string{text},
		Partner:       link,
		Account:       text,
		ReturnURL:     address,
		Timeline:      []leadsview.Step{{What: text, Detail: text, More: link}},
		Money: &leadsview.Money{
			Entries: []leadsview.Entry{{Kind: text, Note: text, Run: link, RunState: text}},
			Returns: []leadsview.Return{{Return: link, State: text, Reason: text}},
		},
		Quote: leadsview.Quote{
			Industry: text,
			Country:  text,
			Postcode: text,
			Urgency:  text,
			For:      text,
			Card:     link,
			Currency: text,
			Why:      text,
		},
		Contact:  leadsview.Contact{Country: text, Postcode: text},
		Consent:  leadsview.Consent{Disclosure: text, DisclosureURL: address, Recipient: text, Certificate: text, ThirdParty: text},
		Envelope: leadsview.Envelope{Wrapper: text, Version: text},
		Holds:    []leadsview.Hold{{ID: text, Reason: text, By: text, ReleaseURL: address}},
	}
	facts := disclosuresview.Facts{ID: text, Partner: link, Leads: text, ReplacedBy: text, Replaced: time.Unix(1, 0)}
	periods := []retentionview.Period{{Country: text, AcceptedBy: text, Due: text}}
	return map[string]templ.Component{
		"leads": leadsview.List(leadsview.ListView{
			Shell:   s,
			Partner: text,
			Account: text,
			Country: text,
			From:    text,
			To:      text,
			Leads:   rows,
			Find:    true,
		}),
		"leads found":    leadsview.Found(leadsview.FoundView{Shell: s, By: text, Leads: rows}),
		"lead not found": leadsview.Find(leadsview.FindView{Shell: s, Find: find}),
		"lead":           leadsview.Details(lead),
		"retention": retentionview.Plan(retentionview.PlanView{
			Shell: s, ApplyURL: address, Contact: periods, Other: []retentionview.OtherPeriod{{Data: text, Setting: text}},
		}),
		"retention apply": retentionview.Apply(retentionview.ApplyView{Shell: s, Version: text, Contact: periods, Consent: periods}),
		"holds": retentionview.Holds(retentionview.HoldsView{
			Shell: s, Holds: []retentionview.Hold{{ID: text, Lead: link, Reason: text, PlacedBy: text, ReleasedBy: text, ReleaseURL: address}},
		}),
		"disclosures": disclosuresview.List(disclosuresview.ListView{
			Shell: s, Kind: text, Rows: []disclosuresview.Row{{Text: link, Facts: facts}},
		}),
		"notes": notesview.List(notesview.ListView{
			Shell: s, Text: text, Rows: []notesview.Row{{Kind: text, Reference: text, Partner: link, Lead: link, Note: text, By: text, RedactURL: address}, {Redacted: time.Unix(1, 0), RedactedBy: text}},
		}),
		"disclosure": disclosuresview.Page(disclosuresview.PageView{
			Shell: s, Facts: facts, Text: text, Digest: text, Leads: []disclosuresview.Lead{{Lead: link, Partner: link}}, ReplaceURL: address,
		}),
		"disclosure replace": disclosuresview.Replace(disclosuresview.ReplaceView{
			Shell: s, URL: address, Facts: facts, Current: text, Text: text, Note: text, Conflict: &ui.Conflict{Actor: text}, Errors: find.Errors,
		}),
		"hold": leadsview.PlaceHold(leadsview.HoldView{
			Shell: s, Action: address, Lead: link, Applies: []ui.Option{{Value: text, Label: text, Hint: text}}, Reason: text, Errors: find.Errors,
		}),
	}
}
