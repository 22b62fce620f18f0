package web

import (
	"strconv"

	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// JobStatus returns the state and progress of a job. If the user may cancel the job, it includes
// the URL that cancels it.
func (k *Request) JobStatus(w models.Job) ui.JobStatus {
	s := ui.JobStatus{State: string(w.State), Phase: w.Phase, Done: w.Done, Total: w.Total, Failure: w.Failure}
	if s.Open() && k.MayStopJob(w) {
		s.StopURL = "/jobs/" + strconv.FormatInt(w.ID, 10) + "/cancel"
	}
	return s
}

// MayStopJob reports whether the user may cancel a job. Users may cancel their own jobs, and the jobs of
// partners for which they have the permission payouts.write. For a job without a partner, they need this
// permission for all partners, and for a replay pricing.write. No user may cancel a retention run, because
// it would be continued within an hour.
func (k *Request) MayStopJob(w models.Job) bool {
	switch {
	case w.Kind == models.JobRetentionRun:
		return false
	case w.StaffID != nil && *w.StaffID == k.Session.Staff.ID:
		return true
	case w.Kind == models.JobReplay:
		return k.May(WritePricing)
	case w.PartnerID == nil:
		return k.MayForAllPartners(WritePayouts)
	}
	return k.MayAt(WritePayouts, *w.PartnerID)
}
