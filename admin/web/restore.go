package web

import (
	"mime"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

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

// saveForm saves the values of a form that was submitted after the session had ended, but only those of the fields in
// Route.Saves. It returns the page to open after the same user has signed in again. On that page, the values are
// restored. If no page can restore the form, it returns the overview, which says so. If the request does not come from
// a session that has ended, saveForm returns "".
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
