package templates_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/templates"
)

// What people write is text on the page, whatever it looks like.
func TestTextIsNeverMarkup(t *testing.T) {
	const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x00"
	const address = "javascript:alert(1)"
	s := shell(hostile, "staff", templates.Link{Label: hostile, URL: address})
	s.Person.Name, s.Lead, s.Path, s.Environment, s.Theme = hostile, hostile, hostile, hostile, hostile
	s.Notices = []templates.Notice{{Kind: hostile, Text: hostile}}
	event := templates.AuditRow{Who: hostile, Role: hostile, Action: hostile, Kind: hostile, Object: hostile, ObjectURL: address, Outcome: hostile, Reason: hostile, RequestID: hostile, Address: hostile, Changes: []templates.Change{{Name: hostile, Before: hostile, After: hostile}}}
	errors := templates.Errors{{Field: hostile, Message: hostile}, {Field: "name", Message: hostile}}
	pages := map[string]templ.Component{
		"login":   templates.Login(templates.LoginView{Shell: s, Email: hostile, Error: hostile, Notice: hostile, Next: hostile}),
		"audit":   templates.AuditList(templates.AuditListView{Shell: s, Person: hostile, Object: hostile, Events: []templates.AuditRow{event}}),
		"staff":   templates.StaffList(templates.StaffListView{Shell: s, Search: hostile, People: []templates.StaffRow{{Name: hostile, Email: hostile, URL: address, Roles: []string{hostile}, Status: hostile}}}),
		"invite":  templates.StaffInvite(templates.StaffInviteView{Shell: s, Action: address, Name: hostile, Errors: errors, Roles: []templates.RoleChoice{{Value: hostile, Label: hostile, Hint: hostile, Scopable: true, Partners: hostile}}}),
		"invited": templates.StaffInvited(templates.StaffInvitedView{Shell: s, Name: hostile, Link: hostile, PersonURL: address}),
		"confirm": templates.Confirm(templates.ConfirmView{Shell: s, Prefix: hostile, Action: address, Consequence: hostile, TypeName: hostile, Hidden: []templates.Hidden{{Name: hostile, Value: hostile}}, Cancel: address, Errors: errors}),
		"error":   templates.ErrorPage(templates.ErrorView{Shell: s, Status: 403, Permission: hostile, GivenBy: hostile, RequestID: hostile, RetryURL: address}),
		"jump":    templates.JumpNothing(templates.JumpView{Shell: s, Query: hostile, LeadsURL: address}),
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
				t.Errorf("%s: %q comes through: %s", name, bad, b.String()[max(at-80, 0):at+40])
			}
		}
	}
}

// partnersOf are pages of a partner all of whose words are text, and most addresses address.
func partnersOf(s templates.Shell, text, address string) map[string]templ.Component {
	errors := templates.Errors{{Field: text, Message: text}, {Message: text, URL: address}}
	account := templates.AccountRow{Identifier: text, Name: text, ID: text, URL: address, Status: text, Signing: text}
	head := templates.PartnerHead{Shell: s, URL: "/partners/" + text, ID: text, Name: text, Slug: text, LegalName: text, Status: text, Manager: text, BaseURL: text, Approve: text, OnboardingURL: address, Needs: []templates.Need{{Text: text, URL: address, Detail: text}}}
	return map[string]templ.Component{
		"partners": templates.Partners(templates.PartnersView{Shell: s, Search: text, NewURL: address, Partners: []templates.PartnerRow{{Name: text, Slug: text, URL: address, Status: text, Manager: text, Signing: text}}}),
		"accounts": templates.PartnerAccounts(templates.PartnerAccountsView{Head: head, Accounts: []templates.AccountRow{account}}),
		"account":  templates.AccountForm(templates.AccountFormView{Shell: s, Action: address, Cancel: address, New: true, Identifier: text, Name: text, Errors: errors}),
		"details":  templates.PartnerDetails(templates.PartnerDetailsView{Head: head, Name: text, Address: text, Notes: text, Contacts: []templates.ContactRow{{Name: text, Role: text, Email: text, Phone: text}}, Errors: errors}),
		"watched":  templates.PartnerDetails(templates.PartnerDetailsView{Head: head, Name: text, Address: text, Notes: text, Contacts: []templates.ContactRow{{Name: text, Role: text, Email: text, Phone: text}}, Locked: text}),
		"signing":  templates.PartnerSigning(templates.PartnerSigningView{Head: head, Mode: text, SharedLocked: text, SharedWords: text, Accounts: []templates.AccountRow{account}}),
		"secrets":  templates.PartnerSecrets(templates.PartnerSecretsView{Head: head, CheckURL: address, Secrets: []templates.SecretRow{{Label: text, ID: text, Shown: text, State: text, StateWords: text, MadeBy: text, RetireURL: address, RevokeURL: address}}}),
		"made":     templates.SecretMade(templates.SecretMadeView{Shell: s, PartnerName: text, Label: text, Secret: text, BaseURL: text, NextLabel: text, NextURL: address}),
		"retire":   templates.RetireForm(templates.RetireFormView{Shell: s, Action: address, Cancel: address, Label: text, Errors: errors}),
		"check":    templates.SignatureCheck(templates.CheckView{Head: head, Timestamp: text, Body: text, Signature: text, Result: &templates.CheckResult{Verdict: text, Mend: text, Notes: []string{text}, Signed: text}}),
		"refusals": templates.PartnerRefusals(templates.PartnerRefusalsView{Head: head, Request: text, Kept: text, CheckURL: address, Refusals: []templates.RefusalRow{{Endpoint: text, Outcome: text, Mend: text, Fields: []string{text}, RequestID: text}}}),
		"handover": templates.PartnerHandover(templates.PartnerHandoverView{Head: head, Created: s.Now, CanWrite: true}),
		"link":     templates.LinkCreated(templates.LinkCreatedView{Shell: s, PartnerName: text, Link: "https://api.example/" + text, NextLabel: text, NextURL: address}),
		"onboarding": templates.Onboarding(templates.OnboardingView{
			Head: head, Steps: []templates.OnboardingStep{{Title: text, Text: text, Detail: text, ActionURL: address, ActionLabel: text, Post: true, Also: &templates.Link{Label: text, URL: address}}},
			Live: templates.OnboardingLive{Events: []templates.LiveEvent{{Kind: text, What: text, Detail: text, LeadID: text, Mend: text, CheckURL: address}}},
		}),
	}
}

// pricesOf are pages of prices, in the same way.
func pricesOf(s templates.Shell, text, address string) map[string]templ.Component {
	errors := templates.Errors{{Field: text, Message: text}, {Message: text, URL: address}}
	link, file := templates.Link{Label: text, URL: address}, templates.Download{URL: address, Label: text, Holds: text}
	head := templates.DraftHead{Shell: s, URL: "/pricing/drafts/" + text, ID: text, Title: text, State: text, Author: text, UpdatedBy: text, BasedOn: link, Newer: link, Published: link, Locked: text, CanWrite: true}
	change := []templates.CellChange{{Cell: text, Old: text, New: text}}
	grid := templates.PriceGrid{Caption: text, Action: address, Currency: text, PriceHead: text, Rows: []templates.PriceRow{
		{Key: text, Slug: text, Name: text, Base: text, Price: text, Live: text, Typed: text, Error: text}, {Key: text, Name: text, Category: true, Inherited: text, Source: text, Price: text},
	}}
	draft := templates.DraftGridView{Head: head, Grid: grid, Cells: address, UndoURL: address, Undo: templates.EditToUndo{Number: text, What: text}, Shown: 1, Bulk: templates.BulkForm{Amount: text, Error: text}, CSV: file, YAML: file, Errors: errors}
	read := grid
	read.Action = ""
	return map[string]templ.Component{
		"pricing":    templates.Pricing(templates.PricingView{Shell: s, Version: link, By: text, Note: text, NewURL: address, Grid: read, CSV: file, YAML: file, Drafts: []templates.DraftRow{{Title: text, URL: address, Author: text, State: text, UpdatedBy: text}}}),
		"grid":       templates.DraftGrid(draft),
		"grid part":  templates.DraftGridPart(draft),
		"bulk":       templates.DraftBulk(templates.DraftBulkView{Shell: s, Action: address, Cancel: address, Hidden: []templates.Hidden{{Name: text, Value: text}}, What: text, Changes: change, Submit: text}),
		"rules":      templates.DraftRules(templates.DraftRulesView{Head: head, Search: text, NewURL: address, Rules: []templates.RuleRow{{URL: address, Selector: text, Effects: []string{text}, Note: text, Problems: []string{text}}}}),
		"rule":       templates.RuleForm(templates.RuleFormView{Shell: s, Action: address, Cancel: address, RemoveURL: address, Multiplier: text, Note: text, Errors: errors, Amounts: []templates.AmountFields{{Name: text, Label: text, Hint: text, Fields: []templates.Hidden{{Name: text, Value: text}}}}}),
		"edits":      templates.DraftEdits(templates.DraftEditsView{Head: head, Edits: []templates.EditRow{{Who: text, What: text, Undone: now, UndoneBy: text}}}),
		"draft form": templates.DraftForm(templates.DraftFormView{Shell: s, Action: address, Cancel: address, Title: text, From: text, FromName: text, Errors: errors}),
		"import":     templates.Import(templates.ImportView{Shell: s, Action: address, Cancel: address, Text: text, Problems: []string{text}, Errors: errors}),
		"dry run":    templates.Import(templates.ImportView{Shell: s, Action: address, Cancel: address, Result: &templates.ImportResult{Name: text, Kind: text, Content: text, Summary: text, Changes: change, Submit: text}}),
	}
}

// payoutsOf are pages of the payouts, in the same way.
func payoutsOf(s templates.Shell, text, address string) map[string]templ.Component {
	errors := templates.Errors{{Field: text, Message: text}, {Message: text, URL: address}}
	link, file, sum := templates.Link{Label: text, URL: address}, templates.Download{URL: address, Label: text, Holds: text}, []templates.PayoutSum{{}}
	work := templates.WorkStatus{State: "running", Phase: text, Failure: text, StopURL: address}
	lead := templates.ReturnLead{Lead: link, Partner: text, Identifier: text}
	run := templates.RunLive{
		URL: "/payouts/runs/" + text, LiveURL: "/x", ID: text, Prepared: true, Note: text, Reference: text, EndedWhy: text, Deeds: []templates.RunDeed{{What: text, Who: text}}, Work: work, EntriesURL: address, Payments: file,
		Statements: []templates.StatementRow{{Account: link, Partner: text, Outcome: text}}, Pager: templates.Pager{Older: address},
	}
	preparing, cancelled, empty := run, run, run
	preparing.State, cancelled.State, empty.State = "preparing", "cancelled", "empty"
	return map[string]templ.Component{
		"ledger": templates.Ledger(templates.LedgerView{
			Shell: s, Partner: text, Account: text, Lead: text, Run: text, SumsOf: text, Sums: sum, Statements: []templates.Link{link}, AdjustURL: address, ReturnURL: address, WorkURL: address,
			Entries: []templates.LedgerRow{{Kind: text, Note: text, By: text, Partner: link, Identifier: text, Lead: link, Run: link, RunState: text, Return: address}},
			Export:  templates.LedgerExport{CSV: file, Prepare: []templates.Hidden{{Name: text, Value: text}}, Large: true},
		}),
		"balances":   templates.Balances(templates.BalancesView{Shell: s, Balances: []templates.BalanceRow{{Partner: link, Account: link}}}),
		"adjust":     templates.Adjust(templates.AdjustView{Shell: s, Partner: text, Name: text, Accounts: []templates.Option{{Value: text, Label: text}}, Own: text, Amount: text, Lead: text, Why: text, Cancel: address, Errors: errors}),
		"unadjusted": templates.Adjust(templates.AdjustView{Shell: s, Name: text}),
		"returns":    templates.Returns(templates.ReturnsView{Shell: s, Partner: text, Lead: text, NewURL: address, Returns: []templates.ReturnRow{{ID: link, Lead: link, Partner: text, Reason: text, State: text, AskedBy: text}}}),
		"return new": templates.ReturnNew(templates.ReturnNewView{Shell: s, Lead: text, Evidence: text, Window: text, Earned: &lead, Errors: errors}),
		"return":     templates.Return(templates.ReturnView{Shell: s, URL: address, ID: text, State: "open", Lead: lead, Reason: text, Evidence: text, AskedBy: text, DecidedBy: text, Answer: text, CanDecide: true, Errors: errors}),
		"runs":       templates.Runs(templates.RunsView{Shell: s, NewURL: address, Runs: []templates.RunRow{{ID: link, State: text, Preparer: text}}}),
		"run new":    templates.RunNew(templates.RunNewView{Shell: s, Cutoff: text, Minimum: text, Note: text, Errors: errors}),
		"run":        templates.Run(templates.RunView{Shell: s, Live: run, Conflict: &templates.Conflict{Who: text, Changes: []templates.Change{{Name: text, Before: text, After: text}}}, Errors: errors}),
		"preparing":  templates.RunPart(preparing, now), "cancelled": templates.RunPart(cancelled, now), "empty": templates.RunPart(empty, now),
		"pay":       templates.RunPay(templates.RunPayView{Shell: s, URL: address, Typed: text, Reference: text, Name: text, Errors: errors}),
		"statement": templates.Statement(templates.StatementView{Shell: s, LegalName: text, Slug: text, Address: text, TaxID: text, RunID: text, State: text, Reference: text, BankReference: text, Currency: text, LedgerURL: address, CSV: file, Accounts: []templates.StatementAccount{{Identifier: text, Outcome: text}}, Corrections: []templates.StatementCorrection{{Kind: text, Account: text, Lead: text, Note: text}}}),
		"export":    templates.ExportPage(templates.ExportView{Shell: s, Live: templates.ExportLive{URL: address, LiveURL: "/x", ID: text, Work: work, File: file}}),
		"work":      templates.WorkList(templates.WorkView{Shell: s, Rows: []templates.WorkRow{{LiveURL: "/x", Key: text, Kind: text, For: link, Partner: text, AskedBy: text, Status: work}}}),
	}
}

// leadsOf are pages of leads, in the same way; disclosures and certificates come from outside.
func leadsOf(s templates.Shell, text, address string) map[string]templ.Component {
	link := templates.Link{Label: text, URL: address}
	rows := []templates.LeadRow{{ID: text, URL: address, Partner: link, Account: text, Industry: text, Country: text, States: []string{text}}}
	find := templates.LeadFindForm{By: []templates.Option{{Value: text, Label: text}}, Value: text, Errors: templates.Errors{{Field: "value", Message: text}}}
	lead := templates.LeadView{
		Shell: s, ID: text, TransactionID: text, States: []string{text}, Partner: link, Account: text, ReturnURL: address, Timeline: []templates.LeadStep{{What: text, Detail: text, More: link}},
		Money:    &templates.LeadMoney{Entries: []templates.LeadEntry{{Kind: text, Note: text, Run: link, RunState: text}}, Returns: []templates.LeadReturn{{Return: link, State: text, Reason: text}}},
		Quote:    templates.LeadQuote{Industry: text, Country: text, Postcode: text, Urgency: text, For: text, Card: link, Currency: text, Why: text},
		Contact:  templates.LeadContact{Country: text, Postcode: text},
		Consent:  templates.LeadConsent{Disclosure: text, Recipient: text, Certificate: text, ThirdParty: text},
		Envelope: templates.LeadEnvelope{Wrapper: text, Version: text},
	}
	return map[string]templ.Component{
		"leads":        templates.Leads(templates.LeadsView{Shell: s, Partner: text, Account: text, Country: text, From: text, To: text, Leads: rows, Find: &find}),
		"leads found":  templates.LeadsFound(templates.LeadsFoundView{Shell: s, By: text, Leads: rows, Find: find}),
		"lead unfound": templates.LeadsUnfound(templates.LeadsUnfoundView{Shell: s, Find: find}),
		"lead":         templates.Lead(lead),
	}
}

func TestTitleBeginsWithTheHeading(t *testing.T) {
	for name, page := range pages() {
		var b strings.Builder
		if err := page.Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(b.String(), "<title>")
		title, _, _ := strings.Cut(rest, " – pingpost</title>")
		if title == "" || strings.Count(b.String(), "<h1>") != 1 || !strings.Contains(b.String(), "<h1>"+title+"</h1>") {
			t.Errorf("%s: the title is %q, and %d headings", name, title, strings.Count(b.String(), "<h1>"))
		}
	}
}
