package audit

import "github.com/google/uuid"

// MayApprove reports whether the actor can give the approval that needs a second person. The parameter first
// is the user who did the work, or nil if it was done on the command line. Commands cannot approve anything,
// because they do not know who runs them.
func (a Actor) MayApprove(first *uuid.UUID) bool {
	return a.Staff != uuid.Nil && (first == nil || *first != a.Staff)
}
