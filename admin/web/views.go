package web

import (
	"strconv"

	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
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

// MayStopJob reports whether the user may cancel a job. Users may cancel their own jobs, and the jobs of partners for
// which they have the permission payouts.write. For a job without a partner, they need this permission for all
// partners. For a replay, they need the permission pricing.write. No user may cancel a retention run, because it would
// be continued within an hour.
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

// ExplainSteps returns the steps in the calculation of a price. The function ruleURL returns the URL of
// the page where a rule can be edited.
func ExplainSteps(e pricingrules.Explanation, ruleURL func(rule int) string) (steps []ui.ExplainStep) {
	for _, s := range e.Steps {
		step := ui.ExplainStep{
			Name:   ui.StepName(s.Name),
			Effect: ui.StepEffect(s.Name, s.Effect, e.Cell.Currency.String()),
			Value:  ui.AtLeastCents(s.Value),
			Rule:   s.Selector,
			Note:   s.Note,
		}
		if s.Rule >= 0 {
			step.URL = ruleURL(s.Rule)
		}
		steps = append(steps, step)
	}
	return steps
}

// RunLink returns the link from a ledger entry to its payout run. For a user who cannot see the run,
// RunLink links to the partner's statement in that run. That link has no URL while the run is being
// prepared.
func (k *Request) RunLink(e payouts.Entry) ui.Link {
	link := ui.Link{Label: payouts.RunID(e.Run)}
	switch {
	case k.MayForAllPartners(ReadPayouts):
		link.URL = RunURL(e.Run)
	case e.RunState != models.RunPreparing && k.MayAt(ReadPayouts, e.PartnerID):
		link.URL = StatementURL(e.Run, e.PartnerID)
	}
	return link
}

// EntryNote returns the note of a ledger entry. For a return, it starts with the return reason.
func (k *Request) EntryNote(e payouts.Entry) string {
	e.Note = k.Erasable(e.Note)
	if e.Kind == models.EntryReturn {
		return ui.Sentence(e.NoteText())
	}
	return e.Note
}
