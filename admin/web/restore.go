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

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// Values of the query parameter "restore". The parameter is added to the URL of a form's page if
// the form was submitted after the session had expired.
const (
	RestoreForm = "form" // the values of the form were saved
	restoreFile = "file" // the form contains a file, so its values were not saved
)

var restoreNotices = map[string]Notice{
	RestoreForm: {
		Kind: "info",
		Code: "form_restored",
		Text: "You were signed out while this form was open. Your entries have been restored. Check them and submit the form again.",
	},
	restoreFile: {
		Kind: "info",
		Code: "file_not_kept",
		Text: "You were signed out while this form was open, and nothing was uploaded. Choose the file again.",
	},
}

var formNotSaved = Notice{
	Kind: "warn",
	Code: "form_not_kept",
	Text: "You were signed out while this form was open. Your entries are no longer available.",
}

// unsavedFields lists the form fields for passwords, codes and imported secrets. Their values are not
// saved.
var unsavedFields = []string{"password", "again", "current", "proof", "code", "import"}

// savedHiddenFields are the hidden fields whose values are saved. They are needed to detect
// concurrent changes and repeated submissions of the same form.
var savedHiddenFields = []string{"version", "own", ui.FormKeyField}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// saveForm saves the values of a form that was submitted after the session had expired. It returns the
// page to open after the same user has signed in again. On that page, the values are restored. If the
// form cannot be restored, saveForm returns "".
func saveForm(k *Request) string {
	if k.Route.Form == "" || k.Session.Stage != "" {
		return ""
	}
	person, found, err := k.console.Staff.ExpiredSession(k.R.Context(), sessionToken(k))
	if err != nil || !found {
		return ""
	}
	if kind, _, _ := mime.ParseMediaType(k.R.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return withQuery(k.Route.Form, "restore", restoreFile)
	}
	if k.ParseForm() != nil {
		return ""
	}
	values := k.R.PostForm
	if key, err := uuid.Parse(values.Get(ui.FormKeyField)); err == nil && k.Route.Creates != "" {
		if object, found, err := k.console.Audit.Submitted(k.R.Context(), person, audit.Submission{Path: k.R.URL.EscapedPath(), Key: key}); err != nil {
			return ""
		} else if found {
			return created(k, object)
		}
	}
	for _, name := range unsavedFields {
		values.Del(name)
	}
	if err := k.console.Staff.SaveForm(k.R.Context(), person, staff.SavedForm{Action: k.R.URL.Path, Values: values}); err != nil {
		k.console.Log.Error("saving a form failed", "request_id", k.By.RequestID, "route", k.Route.Path, "error", err.Error())
		return ""
	}
	page := placeholder.ReplaceAllStringFunc(k.Route.Form, func(name string) string {
		if name = name[1 : len(name)-1]; k.R.PathValue(name) != "" {
			return url.PathEscape(k.R.PathValue(name))
		}
		return url.QueryEscape(values.Get(name))
	})
	return withQuery(page, "restore", RestoreForm)
}

func withQuery(path, name, value string) string {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return path + mark + name + "=" + value
}

// restore loads the user's saved form if the query requests it.
func restore(k *Request) (err error) {
	if k.R.Method == http.MethodGet && k.SignedIn() && k.R.URL.Query().Get("restore") == RestoreForm {
		k.restored, err = k.console.Staff.TakeSavedForm(k.R.Context(), k.Session.Staff.ID)
	}
	return err
}

func restoreNotice(k *Request) (n Notice, ok bool) {
	why := k.R.URL.Query().Get("restore")
	if why == RestoreForm && k.restored == nil {
		return formNotSaved, true
	}
	n, ok = restoreNotices[why]
	return n, ok
}

// restoredPage renders a page with saved values in its form.
func restoredPage(page templ.Component, f *staff.SavedForm) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var out bytes.Buffer
		if err := page.Render(ctx, &out); err != nil {
			return err
		}
		filled, err := fillIn(out.Bytes(), f)
		if err == nil {
			_, err = w.Write(filled)
		}
		return err
	})
}

// fillIn finds the form on the page that has the same action as the saved form, and fills in the saved
// values. It skips hidden fields that are not in savedHiddenFields.
func fillIn(page []byte, f *staff.SavedForm) ([]byte, error) {
	document, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	for n := range document.Descendants() {
		if n.DataAtom == atom.Form && strings.EqualFold(attribute(n, "method"), "post") && attribute(n, "action") == f.Action {
			next := map[string]int{} // for each name, the index of the next value to use
			for control := range n.Descendants() {
				set(control, f.Values, next)
			}
		}
	}
	var out bytes.Buffer
	err = html.Render(&out, document)
	return out.Bytes(), err
}

// set sets the value of a control. The map next counts the values that have been used for each name.
func set(n *html.Node, values url.Values, next map[string]int) {
	name := attribute(n, "name")
	if name == "" || slices.Contains(unsavedFields, name) {
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
