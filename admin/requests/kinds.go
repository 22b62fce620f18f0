package requests

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/requests"
)

var kindLabels = map[models.PrivacyRequestKind]string{
	models.RequestAccess:        "a copy of their data",
	models.RequestErasure:       "erasure of their data",
	models.RequestObjection:     "objection, or opt-out of sale",
	models.RequestRestriction:   "restriction of use",
	models.RequestWithdrawal:    "withdrawal of consent",
	models.RequestRectification: "correction of their data",
	models.RequestComplaint:     "complaint to an authority",
}

// guidance describes what the platform does for the kinds of requests that staff fulfil themselves.
var guidance = map[models.PrivacyRequestKind]string{
	models.RequestObjection: "This request records the objection. It does not change the leads. The platform does no profiling and sends no advertising. It has no list of blocked consumers, so it accepts new leads with the same contact data. " +
		"To end the use of the data, erase it here. Inform the buyers of the leads about the objection. An objection to direct marketing cannot be rejected.",
	models.RequestWithdrawal: "This request records the withdrawal. It does not change the leads. A withdrawal takes effect at once, so act on it without delay. The deadline is the latest day to confirm it to the consumer, and cannot be extended. " +
		"To end the use of the data, erase it here. This also erases the details of the consent: only the fact that it was given, and when, is kept. Inform the buyers of the leads about the withdrawal.",
	models.RequestRestriction: "This request records the restriction. The platform cannot block a single lead, so users who are allowed to reveal contact data can still do so. " +
		"Place a legal hold on each lead, so that it is not erased. Instruct your staff and the buyers of the leads not to use the data.",
	models.RequestRectification: "The platform does not change a lead, which remains stored as the partner sent it. " +
		"Send the correction to the buyers and to the partner. If the platform must not store the wrong data, create a request for erasure for the same leads.",
	models.RequestComplaint: "This request records the complaint and the deadline that the authority set. The platform sends nothing to the authority. " +
		"Evidence packs of the leads can support your answer. If the authority orders a copy or an erasure, create a privacy request for it.",
}

var letterTitles = map[letters.Name]string{
	letters.Acknowledge: "Confirmation of receipt",
	letters.Extend:      "Extension of the deadline",
	letters.Reject:      "Rejection",
	letters.Done:        "Answer",
}

// letters returns the letters that the user can copy.
func (h *Handlers) letters(k *web.Request, r requests.Request) (all []view.Letter, err error) {
	if !k.May(web.WriteRequests) {
		return nil, nil
	}
	written, err := h.Requests.Letters(r)
	for _, l := range written {
		all = append(all, view.Letter{Name: string(l.Name), Title: letterTitles[l.Name], Text: k.Erasable(l.Text)})
	}
	return all, err
}
