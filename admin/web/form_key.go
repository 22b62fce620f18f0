package web

import (
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/templates/ui"
)

// submission reads the key of a form that creates an object. If the form was already submitted
// with this key, it redirects to the object that was created. It does nothing on routes for large
// files, which call UseFormKey themselves.
func (k *Request) submission() error {
	if k.Route.Creates == "" || k.Route.Limit > 0 {
		return nil
	}
	return k.UseFormKey(k.R.PostForm.Get(ui.FormKeyField))
}

// UseFormKey sets the key of a form that creates an object. The transaction that creates the object
// stores the key, so that the same form cannot create a second object. If an object was already created
// with this key, UseFormKey redirects to it.
func (k *Request) UseFormKey(key string) error {
	parsed, err := uuid.Parse(key)
	if err != nil || parsed == uuid.Nil {
		return ErrFormKey
	}
	k.By.Form = audit.Submission{Path: k.R.URL.EscapedPath(), Key: parsed}
	return k.submitted()
}

// submitted redirects to the object that the form has already created, if any. It is also called
// when a form fails, because a simultaneous submission of the form may be the cause.
func (k *Request) submitted() error {
	if k.By.Form.Key == uuid.Nil {
		return nil
	}
	object, found, err := k.console.Audit.Submitted(k.R.Context(), k.By.Staff, k.By.Form)
	if err != nil || !found {
		return err
	}
	k.responseWritten = true
	if err := k.Redirect(k.created(object)); err != nil {
		return err
	}
	return ErrResponseWritten
}

// created returns the URL of the object that a form has already created, with a parameter that selects a
// notice. In Route.Creates, {object} is a placeholder for the id of the object, and {id} is a
// placeholder for the id in the path.
func (k *Request) created(object string) string {
	path := strings.ReplaceAll(k.Route.Creates, "{object}", object)
	path = strings.ReplaceAll(path, "{id}", k.R.PathValue("id"))
	if k.Route.ShownOnce {
		return withQuery(path, "submitted", "shown-once")
	}
	return withQuery(path, "submitted", "before")
}

// Unchanged returns a URL whose page says that the submitted form changed nothing.
func Unchanged(url string) string { return withQuery(url, "submitted", "unchanged") }

// submittedNotices are the notices for forms that were submitted twice or without a change. The key is the value of the
// query parameter "submitted".
var submittedNotices = map[string]Notice{
	"before": {
		Kind: "info", Code: "submitted_before", Text: "You already submitted this form. Nothing new was created.",
	},
	"unchanged": {Kind: "info", Code: "unchanged", Text: "Nothing changed."},
	"shown-once": {
		Kind: "warn",
		Code: "shown_once",
		Text: "You already submitted this form. Nothing new was created. The result was shown once and cannot be shown again. If you did not save it, create a new one.",
	},
}
