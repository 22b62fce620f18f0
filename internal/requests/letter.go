package requests

import (
	"cmp"
	"time"

	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/models"
)

// Letter is a letter to the consumer about a request. Staff copy it; it is neither sent nor stored.
type Letter struct {
	Name letters.Name
	Text string
}

// DefaultLaw returns the configured law.
func (s *Service) DefaultLaw() models.PrivacyLaw { return cmp.Or(s.settings.Law, models.LawGDPR) }

// Letters returns the letters that apply to the current state of a request. A complaint has none, because it is
// answered to the authority.
func (s *Service) Letters(r Request) (all []Letter, err error) {
	templates := s.settings.Letters
	if templates == nil {
		templates = letters.Builtin()
	}
	fields := s.letterFields(r)
	for _, name := range lettersFor(r) {
		text, err := templates.Write(name, fields)
		if err != nil {
			return nil, err
		}
		all = append(all, Letter{name, text})
	}
	return all, nil
}

func lettersFor(r Request) (names []letters.Name) {
	switch {
	case r.Kind == models.RequestComplaint:
	case r.Outcome == nil:
		names = append(names, letters.Acknowledge)
		if r.ExtendedAt != nil {
			names = append(names, letters.Extend)
		}
		if r.partlyErased() {
			names = append(names, letters.Done)
		}
	case *r.Outcome == models.OutcomeRejected:
		names = append(names, letters.Reject)
	case *r.Outcome != models.OutcomeWithdrawn:
		names = append(names, letters.Done)
	}
	return names
}

func (s *Service) letterFields(r Request) letters.Fields {
	f := letters.Fields{
		Request: ID(r.ID), Reference: r.Reference, Kind: string(r.Kind), Subject: Kinds.Label(r.Kind),
		Law: string(r.Law), LawName: Laws.Label(r.Law), ReceivedOn: letterDate(r.ReceivedOn), DueOn: letterDate(r.DueOn),
		Reason: r.ExtensionReason, Ground: RejectionGroundLabel(r.PrivacyRequest), Controller: s.settings.Controller, PartlyErased: r.partlyErased(),
	}
	switch {
	case r.Outcome == nil:
	case *r.Outcome == models.OutcomeNothingFound && r.Leads > 0:
		f.Outcome = letters.AlreadyErased
	case *r.Outcome == models.OutcomeDone:
		f.Note = r.OutcomeNote
		fallthrough
	default:
		f.Outcome = string(*r.Outcome)
	}
	return f
}

func letterDate(day time.Time) string { return day.Format("2 January 2006") }
