package web

import (
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// Conflict is what somebody else did to a thing while a form was open.
func (k *Request) Conflict(kind, object string, at time.Time) (*ui.Conflict, error) {
	return k.ConflictOf(audit.Filter{Kind: kind, Object: object}, at)
}

// ConflictOf is conflict for a thing that the audit trail knows by more than its id.
func (k *Request) ConflictOf(f audit.Filter, at time.Time) (*ui.Conflict, error) {
	last, err := k.LastDeed(f)
	if err != nil {
		return nil, err
	}
	if last.ID == 0 {
		return &ui.Conflict{Who: "Somebody", At: at}, nil
	}
	return &ui.Conflict{Who: last.Actor, At: last.At, Changes: Changes(last.Before, last.After)}, nil
}

// LastDeed is the newest event of what was done to a thing; the zero one where there is none.
func (k *Request) LastDeed(f audit.Filter) (last models.AuditEvent, err error) {
	f.Outcome = models.AuditDone
	found, err := k.console.Audit.List(k.R.Context(), k.Scope, f, audit.Page{Size: 1})
	if err == nil && len(found.Events) > 0 {
		last = found.Events[0]
	}
	return last, err
}

func IsStale(err error) bool {
	f := apperr.As(err)
	return f != nil && (f.Reason == "changed" || f.Reason == "stale")
}
