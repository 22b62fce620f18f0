package web

import (
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/templates/ui"
)

var ErrFormKey = apperr.New(apperr.Invalid, "form_key",
	"The form is incomplete. Open the page again, then fill in the form and submit it.")

// submission reads the key of a form that creates something. A form whose key was used
// before leads to what it created then. A route for large files reads its key itself.
func submission(k *Request) error {
	if k.Route.Creates == "" || k.Route.Limit > 0 {
		return nil
	}
	return UseFormKey(k, k.R.PostForm.Get(ui.FormKeyField))
}

// UseFormKey is submission for a key that has been read. From here on the audit trail claims
// the key in the transaction that creates something.
func UseFormKey(k *Request, key string) error {
	parsed, err := uuid.Parse(key)
	if err != nil || parsed == uuid.Nil {
		return ErrFormKey
	}
	k.By.Form = audit.Submission{Path: k.R.URL.EscapedPath(), Key: parsed}
	return k.submitted()
}

// submitted leads to what the form has already created, and does nothing where it has
// not. Errors of a form are checked with it, since they may come from a second
// submission at the same moment.
func (k *Request) submitted() error {
	if k.By.Form.Key == uuid.Nil {
		return nil
	}
	object, found, err := k.console.Audit.Submitted(k.R.Context(), k.By.Staff, k.By.Form)
	if err != nil || !found {
		return err
	}
	k.responseWritten = true
	if err := k.Redirect(created(k, object)); err != nil {
		return err
	}
	return ErrResponseWritten
}

// created is the address of what a form created before, with a notice that says so. In
// the route's pattern, {object} is its id, and other names are those of the address.
func created(k *Request, object string) string {
	path := strings.ReplaceAll(k.Route.Creates, "{object}", object)
	path = strings.ReplaceAll(path, "{id}", k.R.PathValue("id"))
	if k.Route.ShownOnce {
		return withQuery(path, "submitted", "shown-once")
	}
	return withQuery(path, "submitted", "before")
}

// submittedNotices are the notices of a page that a form led to that had been submitted before.
var submittedNotices = map[string]Notice{
	"before": {Kind: "info", Code: "submitted_before", Text: "You already submitted this form. Nothing new was created."},
	"shown-once": {
		Kind: "warn",
		Code: "shown_once",
		Text: "You already submitted this form. Nothing new was created. The result was shown once and cannot be shown again. If you did not save it, create a new one.",
	},
}

// FormKey is the key for the forms of this page: the one that was sent, while it created
// nothing, or a new one.
func (k *Request) FormKey() string {
	if k.By.Form.Key != uuid.Nil {
		return k.By.Form.Key.String()
	}
	return id.New(k.Now).String()
}
