package web

import (
	"strconv"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// FormRowVersion returns the version that the object had when the form was opened. If the form
// contains no version, it returns 0, which is always stale.
func (k *Request) FormRowVersion() int {
	n, _ := strconv.Atoi(k.R.PostForm.Get("version"))
	return max(n, 0)
}

// Conflict describes the last change to an object that was changed while the form was open.
func (k *Request) Conflict(kind, object string, at time.Time) (*ui.Conflict, error) {
	return k.ConflictOf(audit.Filter{Kind: kind, Object: object}, at)
}

// ConflictOf is like [Request.Conflict], but an audit filter identifies the object.
func (k *Request) ConflictOf(f audit.Filter, at time.Time) (*ui.Conflict, error) {
	last, err := k.LastChange(f)
	if err != nil {
		return nil, err
	}
	if last.ID == 0 {
		return &ui.Conflict{Actor: "Another user", At: at}, nil
	}
	return &ui.Conflict{Actor: last.Actor, At: last.At, Changes: Changes(last.Before, last.After)}, nil
}

// LastChange returns the audit event for the last change, or a zero event if there have been no
// changes.
func (k *Request) LastChange(f audit.Filter) (last models.AuditEvent, err error) {
	f.Outcome = models.AuditDone
	found, err := k.console.Audit.List(k.R.Context(), k.Scope, k.EventReader(), f, audit.Page{Size: 1})
	if err == nil && len(found.Events) > 0 {
		last = found.Events[0]
	}
	return last, err
}

// IsStale reports whether err means that the object was changed after the form was opened.
func IsStale(err error) bool {
	f := apperr.As(err)
	return f != nil && (f.Reason == "changed" || f.Reason == "stale")
}
