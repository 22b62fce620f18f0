package ui

import (
	"time"
)

// Shell is what every page has around it.
type Shell struct {
	Title       string // the h1, and the start of <title>
	Intro       string // one sentence under the h1, or none
	Environment string // "development" or "production"
	Theme       string // "light", "dark", or "" to follow the system
	Path        string // this page's address: where the theme's form comes back to
	Now         time.Time
	Assets      Assets
	Nav         []NavItem // the areas that this person may see
	Crumbs      []Link    // the pages above this one
	Person      User      // who is signed in; nobody when it is empty
	Notices     []Notice
}

// Assets are the addresses of the style sheet, the scripts and the icon.
type Assets struct {
	Style, HTMX, Script, Icon string
}

// Link is a word that leads somewhere.
type Link struct {
	Label, URL string
}

// NavItem is an area of the console. Icon is a name that Icon knows.
type NavItem struct {
	Label, URL, Icon string
	Current          bool
}

// User is the signed-in user, with the labels of the roles.
type User struct {
	Name, Role string
}

// Notice is a sentence about what just happened. Kind is "info", "good", "warn" or "bad".
type Notice struct {
	Kind, Text string
	Code       string // what it is about, for tests: "form_restored"
}

// FieldError says what is wrong with a field and how to mend it.
type FieldError struct {
	Field, Message string
	Code           string // why, for tests: "too_long"
	URL            string // of the object that is in the way; only without a field
}

// Errors are a form's mistakes in the order of its fields. An error without a
// field is about the form as a whole.
type Errors []FieldError

// For is the message for a field, or nothing.
func (e Errors) For(field string) string {
	for _, one := range e {
		if one.Field == field {
			return one.Message
		}
	}
	return ""
}

// Option is a choice of a select or one of several boxes.
type Option struct {
	Value, Label, Hint string
	Selected           bool
}

// Sort is a column's way to be sorted: the address that sorts by it (again: the
// other way round), and how it is sorted now: "ascending", "descending" or "".
type Sort struct {
	URL, Direction string
}

// Pager leads to the pages before and after; an address that is empty has no page.
type Pager struct {
	Newer, Older string
	Count        string // in words: "about 1,200 events"
	BySize       bool   // not by time: what comes first is not the newer
}

// ListState says why a list may be empty: nothing matches the filters, or it
// could not be read.
type ListState struct {
	Filtered bool
	ClearURL string
	Failed   string // what went wrong, in a sentence; empty when nothing did
	RetryURL string
}

// StepUp asks for the password or a code again before a change that needs it.
type StepUp struct {
	Needed bool
	Code   bool // a code of the second factor serves as well
}
