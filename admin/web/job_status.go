package web

import (
	"strconv"

	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// JobStatus is how far work is, and where it is stopped.
func (k *Request) JobStatus(w models.Work) ui.WorkStatus {
	s := ui.WorkStatus{State: string(w.State), Phase: w.Phase, Done: w.Done, Total: w.Total, Failure: w.Failure}
	if s.Open() && k.MayStop(w) {
		s.StopURL = "/work/" + strconv.FormatInt(w.ID, 10) + "/cancel"
	}
	return s
}

// MayStop reports whether this person may stop work: their own, or that of partners whose
// payouts they do. What is of no one partner is the whole platform's.
func (k *Request) MayStop(w models.Work) bool {
	switch {
	case w.StaffID != nil && *w.StaffID == k.Session.Staff.ID:
		return true
	case w.PartnerID == nil:
		return k.Everywhere(WritePayouts)
	}
	return k.MayAt(WritePayouts, *w.PartnerID)
}
