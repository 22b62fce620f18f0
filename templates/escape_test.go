package templates_test

import (
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
	for name, page := range map[string]templ.Component{
		"login":   templates.Login(templates.LoginView{Shell: s, Email: hostile, Error: hostile, Notice: hostile, Next: hostile}),
		"audit":   templates.AuditList(templates.AuditListView{Shell: s, Person: hostile, Object: hostile, Events: []templates.AuditRow{event}}),
		"staff":   templates.StaffList(templates.StaffListView{Shell: s, Search: hostile, People: []templates.StaffRow{{Name: hostile, Email: hostile, URL: address, Roles: []string{hostile}, Status: hostile}}}),
		"invite":  templates.StaffInvite(templates.StaffInviteView{Shell: s, Action: address, Name: hostile, Errors: errors, Roles: []templates.RoleChoice{{Value: hostile, Label: hostile, Hint: hostile, Scopable: true, Partners: hostile}}}),
		"invited": templates.StaffInvited(templates.StaffInvitedView{Shell: s, Name: hostile, Link: hostile, PersonURL: address}),
		"confirm": templates.Confirm(templates.ConfirmView{Shell: s, Prefix: hostile, Action: address, Consequence: hostile, TypeName: hostile, Hidden: []templates.Hidden{{Name: hostile, Value: hostile}}, Cancel: address, Errors: errors}),
		"error":   templates.ErrorPage(templates.ErrorView{Shell: s, Status: 403, Permission: hostile, GivenBy: hostile, RequestID: hostile, RetryURL: address}),
		"jump":    templates.JumpNothing(templates.JumpView{Shell: s, Query: hostile}),
	} {
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
