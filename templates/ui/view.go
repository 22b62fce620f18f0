package ui

import (
	"time"
)

// Shell is the layout data that all pages need.
type Shell struct {
	Title       string // the h1, and part of <title>
	Tab         string // label of the current tab, the start of <title>, or ""
	Intro       string // one sentence under the h1, or ""
	Environment string // "development" or "production"
	Theme       string // "light", "dark", or "" to follow the system
	Path        string // URL of this page; the theme form returns to it
	HelpURL     string // the documentation page about this page
	Now         time.Time
	Assets      Assets
	Nav         []NavItem // areas that the user may see
	Crumbs      []Link    // links to the parent pages
	Person      User      // the signed-in user, or empty
	FindsLeads  bool      // the user may find leads by email address and phone number
	Notices     []Notice
}

// jumpLabel says what the search field at the top of the page accepts.
func (s Shell) jumpLabel() string {
	if s.FindsLeads {
		return "Name, ID, email or phone"
	}
	return "Name or ID"
}

// Assets contains the URLs of the style sheet, the scripts and the icon.
type Assets struct {
	Style, HTMX, Script, Icon string
}

// Link is a label with a URL.
type Link struct {
	Label, URL string
}

// NavItem is a link in the navigation. Icon is the name of an [Icon].
type NavItem struct {
	Label, URL, Icon string
	Current          bool
}

// User is a signed-in user. Role is a label that lists the user's roles.
type User struct {
	Name, Role string
}

// Notice is a message at the top of a page. Kind is "info", "good", "warn" or "bad".
type Notice struct {
	Kind, Text string
	Code       string // for tests: "form_restored"
	Choices    []Link // shown after the text
}

// FieldError is an error in a form. Message says what is wrong and how to fix it.
type FieldError struct {
	Field, Message string
	Code           string // for tests: "too_long"
	URL            string // the object that prevents the change, or ""; used only if Field is empty
}

// Errors are the errors in a form, in the order of its fields. An error without a field
// applies to the whole form.
type Errors []FieldError

// For returns the message for a field, or "".
func (e Errors) For(field string) string {
	for _, mistake := range e {
		if mistake.Field == field {
			return mistake.Message
		}
	}
	return ""
}

// Option is an option of a select element, a checkbox or a radio button.
type Option struct {
	Value, Label, Hint string
	Selected           bool
}

// Sort describes how a list can be sorted by a column. Direction is "ascending" or "descending", or ""
// if the list is sorted by another column. URL sorts the list by this column, or reverses the order.
type Sort struct {
	URL, Direction string
}

// Pager contains the URLs of the previous and the next page. If a page does not exist, its URL is "".
type Pager struct {
	Newer, Older string
	Count        string   // "more than 10,000 events"
	Search       []Hidden // if set, the pages are opened with a form with these fields, which URLs must not contain
	BySize       bool     // rows are not sorted by time, so the links say "Previous" and "Next"
}

// ListState describes why a list is empty. If Filtered is false and Failed is "", there are no
// rows yet.
type ListState struct {
	Filtered bool   // a filter is set
	Invalid  bool   // the page explains a filter that is not valid
	ClearURL string // the list without filters
	Failed   string // error message, or ""
	RetryURL string
	Hidden   string // describes rows that the user may not see, or ""
}

// StepUp states whether a form asks the user to enter the password or a code again.
type StepUp struct {
	Needed bool
	Code   bool // the user has a second factor, so its codes are accepted as well
}
