package web

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/google/uuid"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// Values of the query parameter "restore". The parameter is added to the URL of a form's page if
// the form was submitted after the session had ended.
const (
	RestoreForm = "form" // the values of the form were saved
	RestoreFile = "file" // the form contains a file, so its values were not saved
	RestoreNone = "none" // the form has no page that can restore its values
)

var restoreNotices = map[string]Notice{
	RestoreForm: {
		Kind: "info",
		Code: "form_restored",
		Text: "You were signed out while this form was open. Your entries have been restored, except for secrets and texts that can contain personal data, such as notes. Check the form and submit it again.",
	},
	RestoreFile: {
		Kind: "info",
		Code: "file_not_kept",
		Text: "You were signed out while this form was open, and nothing was uploaded. Choose the file again.",
	},
	RestoreNone: formNotSaved,
}

var formNotSaved = Notice{
	Kind: "warn",
	Code: "form_not_kept",
	Text: "You were signed out while this form was open. Your entries are no longer available.",
}

// savedHiddenFields are the hidden fields that are saved with every form. They are needed to detect
// concurrent changes and repeated submissions of the same form.
var savedHiddenFields = []string{"version", "own", ui.FormKeyField}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// saveForm saves the values of the fields in Route.Saves of a form that was submitted after the session had
// ended. It returns the page to open after the same user has signed in again. On that page, the values
// are restored. If the form cannot be restored, it returns the overview, which says so. If the request does not
// come from a session that has ended, saveForm returns "".
func (k *Request) saveForm() string {
	if k.Session.Stage != "" {
		return ""
	}
	person, found, err := k.console.Staff.EndedSession(k.R.Context(), k.sessionToken())
	if err != nil || !found {
		return ""
	}
	if k.Route.Form == "" {
		return withQuery("/", "restore", RestoreNone)
	}
	if kind, _, _ := mime.ParseMediaType(k.R.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return withQuery(k.Route.Form, "restore", RestoreFile)
	}
	if k.ParseForm() != nil {
		return ""
	}
	if key, err := uuid.Parse(k.R.PostForm.Get(ui.FormKeyField)); err == nil && k.Route.Creates != "" {
		if object, found, err := k.console.Audit.Submitted(k.R.Context(), person,
			audit.Submission{Path: k.R.URL.EscapedPath(), Key: key}); err != nil {
			return ""
		} else if found {
			return k.created(object)
		}
	}
	// A field without a value, such as an empty checkbox, is saved as an empty list.
	values := url.Values{}
	for _, name := range slices.Concat(savedHiddenFields, k.Route.Saves) {
		values[name] = k.R.PostForm[name]
	}
	page := placeholder.ReplaceAllStringFunc(k.Route.Form, func(name string) string {
		if name = name[1 : len(name)-1]; k.R.PathValue(name) != "" {
			return url.PathEscape(k.R.PathValue(name))
		}
		return url.QueryEscape(values.Get(name))
	})
	f := staff.SavedForm{Page: withQuery(page, "restore", RestoreForm), Action: k.R.URL.Path, Values: values}
	if err := k.console.Staff.SaveForm(k.R.Context(), person, f); err != nil {
		k.console.Log.Error("cannot save a form", "request_id", k.By.RequestID, "route", k.Route.Path, "error", err.Error())
		return ""
	}
	return f.Page
}

func withQuery(path, name, value string) string {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return path + mark + name + "=" + value
}

// restore loads the user's saved form if the query requests it, and adds the notices about saved forms. It
// loads a form only for the page that restores it, and not for requests that another site caused.
func (k *Request) restore() error {
	why := k.R.URL.Query().Get("restore")
	if why == "" || k.R.Method != http.MethodGet || !k.SignedIn() || k.isCrossSiteNavigation() {
		return nil
	}
	if why == RestoreForm {
		f, err := k.console.Staff.SavedForm(k.R.Context(), k.Session.Staff.ID)
		switch {
		case err != nil:
			return err
		case f == nil:
			k.Notices = append(k.Notices, formNotSaved)
			return nil
		case f.Page != k.R.URL.RequestURI():
			return nil
		}
		k.restored = f
	}
	if n, ok := restoreNotices[why]; ok {
		k.Notices = append(k.Notices, n)
	}
	return nil
}

// restoredPage renders a page with the saved values in its form, and then deletes the saved form. If the
// page does not contain the form, for example because it is an error page, the form stays saved.
func (k *Request) restoredPage(page templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var out bytes.Buffer
		if err := page.Render(ctx, &out); err != nil {
			return err
		}
		filled, found, err := fillIn(out.Bytes(), k.restored)
		if err != nil {
			return err
		}
		if found {
			if err := k.console.Staff.DeleteSavedForm(ctx, k.Session.Staff.ID, k.restored); err != nil {
				k.console.Log.Error("cannot delete a saved form", "request_id", k.By.RequestID, "error", err.Error())
			}
		}
		_, err = w.Write(filled)
		return err
	})
}

// fillIn finds the form on the page that has the same action as the saved form, and fills in the saved
// values. It skips hidden fields that are not in savedHiddenFields.
func fillIn(page []byte, f *staff.SavedForm) (filled []byte, found bool, err error) {
	document, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, false, err
	}
	for n := range document.Descendants() {
		if n.DataAtom == atom.Form && strings.EqualFold(attribute(n, "method"), "post") &&
			attribute(n, "action") == f.Action {
			found = true
			next := map[string]int{} // for each name, the index of the next value to use
			for control := range n.Descendants() {
				set(control, f.Values, next)
			}
		}
	}
	var out bytes.Buffer
	err = html.Render(&out, document)
	return out.Bytes(), found, err
}

// set sets the value of a control if its field was saved. The map next counts the values that have been
// used for each name.
func set(n *html.Node, values url.Values, next map[string]int) {
	name := attribute(n, "name")
	if _, saved := values[name]; !saved {
		return
	}
	take := func() (value string, ok bool) {
		if all := values[name]; next[name] < len(all) {
			value, ok = all[next[name]], true
			next[name]++
		}
		return value, ok
	}
	switch n.DataAtom {
	case atom.Textarea:
		if value, ok := take(); ok {
			for n.FirstChild != nil {
				n.RemoveChild(n.FirstChild)
			}
			n.AppendChild(&html.Node{Type: html.TextNode, Data: value})
		}
	case atom.Select:
		if value, ok := take(); ok {
			for option := range n.Descendants() {
				if option.DataAtom == atom.Option {
					mark(option, "selected", attribute(option, "value") == value)
				}
			}
		}
	case atom.Input:
		switch attribute(n, "type") {
		case "checkbox", "radio":
			mark(n, "checked", slices.Contains(values[name], attribute(n, "value")))
		case "password", "file", "submit":
		case "hidden":
			if !slices.Contains(savedHiddenFields, name) {
				return
			}
			fallthrough
		default:
			if value, ok := take(); ok {
				setAttribute(n, "value", value)
			}
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func setAttribute(n *html.Node, name, value string) {
	mark(n, name, false)
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

// mark adds an attribute without a value to a node, or removes the attribute.
func mark(n *html.Node, name string, on bool) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if on {
		n.Attr = append(n.Attr, html.Attribute{Key: name})
	}
}
