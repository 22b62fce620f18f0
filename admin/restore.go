package admin

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
	"github.com/pingpost/pingpost/templates"
)

// Values of the restore parameter, which tells a page about a form whose session had expired.
const (
	restoreForm = "form" // its values are kept
	restoreFile = "file" // it has a file, and nothing is kept
)

var restoreNotices = map[string]notice{
	restoreForm: {Kind: "info", Text: "You were signed out while this form was open. Your entries are back in the form. Check them and submit the form again."},
	restoreFile: {Kind: "info", Text: "You were signed out while this form was open, and nothing was uploaded. Choose the file again."},
}

var noFormKept = notice{Kind: "warn", Text: "You were signed out while this form was open. Your entries are no longer available."}

// neverKept are the fields of which no value is kept.
var neverKept = []string{"password", "again", "current", "proof", "code", "import"}

// keptHidden are the hidden fields that are restored. The version detects concurrent
// changes; the keys prevent a second submission from creating again.
var keptHidden = []string{"version", "own", templates.FormKeyField}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// keepForm keeps what was typed into a form whose session has expired, and returns the
// page that shows it after the same user has logged in again, or "" if nothing is kept.
func (k *call) keepForm() string {
	if k.route.form == "" || k.session.Stage != "" {
		return ""
	}
	person, found, err := k.Staff.ExpiredSession(k.r.Context(), k.token())
	if err != nil || !found {
		return ""
	}
	if kind, _, _ := mime.ParseMediaType(k.r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return withQuery(k.route.form, "restore", restoreFile)
	}
	if k.form() != nil {
		return ""
	}
	values := k.r.PostForm
	if key, err := uuid.Parse(values.Get(templates.FormKeyField)); err == nil && k.route.creates != "" {
		if object, created, err := k.Audit.Submitted(k.r.Context(), person, audit.Submission{Path: k.r.URL.EscapedPath(), Key: key}); err != nil {
			return ""
		} else if created {
			return k.created(object)
		}
	}
	for _, name := range neverKept {
		values.Del(name)
	}
	if err := k.Staff.KeepForm(k.r.Context(), person, staff.KeptForm{Action: k.r.URL.Path, Values: values}); err != nil {
		k.Log.Error("keeping a form failed", "request_id", k.by.RequestID, "route", k.route.path, "error", err.Error())
		return ""
	}
	page := placeholder.ReplaceAllStringFunc(k.route.form, func(name string) string {
		if name = name[1 : len(name)-1]; k.r.PathValue(name) != "" {
			return url.PathEscape(k.r.PathValue(name))
		}
		return url.QueryEscape(values.Get(name))
	})
	return withQuery(page, "restore", restoreForm)
}

// withQuery is an address with one more parameter.
func withQuery(path, name, value string) string {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return path + mark + name + "=" + value
}

// restore takes the form that is kept for this person, for the page that shows it.
func (k *call) restore() (err error) {
	if k.r.Method == http.MethodGet && k.signedIn() && k.r.URL.Query().Get("restore") == restoreForm {
		k.restored, err = k.Staff.TakeForm(k.r.Context(), k.session.Staff.ID)
	}
	return err
}

// restoreNotice returns the notice about a form whose session had expired.
func (k *call) restoreNotice() (n notice, ok bool) {
	why := k.r.URL.Query().Get("restore")
	if why == restoreForm && k.restored == nil {
		return noFormKept, true
	}
	n, ok = restoreNotices[why]
	return n, ok
}

// restoredPage is a page with kept values in its form.
func restoredPage(page templ.Component, f *staff.KeptForm) templ.Component {
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

// fillIn writes kept values into the page's form of the same address. Every kind of
// control is set as a person would set it, and of hidden fields those that are kept.
func fillIn(page []byte, f *staff.KeptForm) ([]byte, error) {
	document, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	for n := range document.Descendants() {
		if n.DataAtom == atom.Form && strings.EqualFold(attribute(n, "method"), "post") && attribute(n, "action") == f.Action {
			next := map[string]int{} // of the fields with this name, which comes next
			for control := range n.Descendants() {
				set(control, f.Values, next)
			}
		}
	}
	var out bytes.Buffer
	err = html.Render(&out, document)
	return out.Bytes(), err
}

// set gives a control its value.
func set(n *html.Node, values url.Values, next map[string]int) {
	name := attribute(n, "name")
	if name == "" || slices.Contains(neverKept, name) {
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
			if !slices.Contains(keptHidden, name) {
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

// mark gives a node an attribute without a value, or removes it.
func mark(n *html.Node, name string, on bool) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if on {
		n.Attr = append(n.Attr, html.Attribute{Key: name})
	}
}
