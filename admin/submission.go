package admin

import (
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/templates"
)

var errFormKey = apperr.New(apperr.Invalid, "form_key", "The form is incomplete. Open the page again, then fill in the form and submit it.")

// submission reads the key of a form that creates something. A form whose key was used
// before leads to what it created then. A route for large files reads its key itself.
func (k *call) submission() error {
	if k.route.creates == "" || k.route.long {
		return nil
	}
	if err := k.form(); err != nil {
		return err
	}
	return k.submit(k.r.PostForm.Get(templates.FormKeyField))
}

// submit is submission for a key that has been read. From here on the audit trail claims
// the key in the transaction that creates something.
func (k *call) submit(key string) error {
	parsed, err := uuid.Parse(key)
	if err != nil || parsed == uuid.Nil {
		return errFormKey
	}
	k.by.Form = audit.Submission{Path: k.r.URL.EscapedPath(), Key: parsed}
	return k.submitted()
}

// submitted leads to what the form has already created, and does nothing where it has
// not. Errors of a form are checked with it, since they may come from a second
// submission at the same moment.
func (k *call) submitted() error {
	if k.by.Form.Key == uuid.Nil {
		return nil
	}
	object, found, err := k.Audit.Submitted(k.r.Context(), k.by.Staff, k.by.Form)
	if err != nil || !found {
		return err
	}
	k.answered = true
	if err := k.to(k.created(object)); err != nil {
		return err
	}
	return errHandled
}

// created is the address of what a form created before, with a notice that says so. In
// the route's pattern, {object} is its id, and other names are those of the address.
func (k *call) created(object string) string {
	path := strings.ReplaceAll(k.route.creates, "{object}", object)
	path = strings.ReplaceAll(path, "{id}", k.r.PathValue("id"))
	if k.route.shownOnce {
		return withQuery(path, "submitted", "shown-once")
	}
	return withQuery(path, "submitted", "before")
}

// submittedNotices are the notices of a page that a form led to that had been submitted before.
var submittedNotices = map[string]notice{
	"before":     {Kind: "info", Text: "You already submitted this form. Nothing new was created."},
	"shown-once": {Kind: "warn", Text: "You already submitted this form. Nothing new was created. The result was shown once and cannot be shown again. If you did not save it, create a new one."},
}

// formKey is the key for the forms of this page: the one that was sent, while it created
// nothing, or a new one.
func (k *call) formKey() string {
	if k.by.Form.Key != uuid.Nil {
		return k.by.Form.Key.String()
	}
	return id.New(k.now).String()
}
