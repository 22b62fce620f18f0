package web

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// savedHiddenFields are the hidden fields that are saved with every form. They are needed to detect
// concurrent changes and repeated submissions of the same form.
var savedHiddenFields = []string{"version", "own", ui.FormKeyField}

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
