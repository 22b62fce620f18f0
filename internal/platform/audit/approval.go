package audit

import "github.com/google/uuid"

// MayApprove reports whether the actor may give an approval that requires a second user. The parameter first is the
// user who took the first step, or nil if it was taken on the command line. Commands cannot approve anything, because
// they do not know who runs them.
func (a Actor) MayApprove(first *uuid.UUID) bool {
	return a.Staff != uuid.Nil && (first == nil || *first != a.Staff)
}
