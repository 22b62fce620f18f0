package ui

import (
	"time"
)

// Shell contains what is common to all pages.
type Shell struct {
	Title       string // the h1, and the start of <title>
	Intro       string // one sentence under the h1, or ""
	Environment string // "development" or "production"
	Theme       string // "light", "dark", or "" to follow the system
	Path        string // this page, to which the theme form returns
	Now         time.Time
	Assets      Assets
	Nav         []NavItem // the areas that the user may see
	Crumbs      []Link    // the pages above this one
	Person      User      // the signed-in user, or empty
	Notices     []Notice
}

// Assets contains the URLs of the style sheet, the scripts and the icon.
type Assets struct {
	Style, HTMX, Script, Icon string
}

// Link is a label with a URL.
type Link struct {
	Label, URL string
}

// NavItem is an area of the console in the navigation. Icon is a name for [Icon].
type NavItem struct {
	Label, URL, Icon string
	Current          bool
}

// User is a signed-in user. Role is the label of the user's roles.
type User struct {
	Name, Role string
}

// Notice is a message at the top of a page. Kind is "info", "good", "warn" or "bad".
type Notice struct {
	Kind, Text string
	Code       string // for tests: "form_restored"
}

// FieldError says what is wrong with a field and how to fix it.
type FieldError struct {
	Field, Message string
	Code           string // for tests: "too_long"
	URL            string // the object that blocks the form; only without a field
}

// Errors are the errors of a form, in the order of its fields. An error without a field
// concerns the whole form.
type Errors []FieldError

// For returns the message for a field, or "".
func (e Errors) For(field string) string {
	for _, one := range e {
		if one.Field == field {
			return one.Message
		}
	}
	return ""
}

// Option is an option of a select, a checkbox or a radio button.
type Option struct {
	Value, Label, Hint string
	Selected           bool
}

// Sort describes sorting by a column. URL sorts by it, or reverses the order. Direction is the
// current order: "ascending", "descending" or "".
type Sort struct {
	URL, Direction string
}

// Pager links to the previous and the next page. An empty URL means that there is no such page.
type Pager struct {
	Newer, Older string
	Count        string // "more than 10,000 events"
	BySize       bool   // rows are not sorted by time, so the links are "Previous" and "Next"
}

// ListState says why a list is empty: no rows match the filters, or loading it failed.
type ListState struct {
	Filtered bool
	ClearURL string
	Failed   string // error message, or ""
	RetryURL string
}

// StepUp says whether a change requires the password or a code.
type StepUp struct {
	Needed bool
	Code   bool // a second-factor code is accepted too
}
