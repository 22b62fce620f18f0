package models

// Outcomes of requests in pings and traffic_minutes. A rejected request has the
// reason of its error there.
const (
	OutcomePriced = "priced"

	// Why a valid ping gets no price (D4): the reason in its answer too.
	OutcomeExcluded = "excluded"
	OutcomePaused   = "paused"
	OutcomeCapped   = "capped"

	OutcomeDelivered = "delivered"
	OutcomeReplayed  = "replayed"

	// An unsigned post that was accepted, where signing is off and where it is
	// report-only (D14).
	OutcomeDeliveredUnsigned   = OutcomeDelivered + "_unsigned"
	OutcomeDeliveredReportOnly = OutcomeDelivered + "_would_be_refused"
	OutcomeReplayedUnsigned    = OutcomeReplayed + "_unsigned"
	OutcomeReplayedReportOnly  = OutcomeReplayed + "_would_be_refused"

	// OutcomeInactive is a rejection of which the partner learns no more than that
	// the post was not authorised.
	OutcomeInactive = "inactive"
)

// OutcomeKind is what an outcome is counted as.
type OutcomeKind int

// The kinds of outcomes.
const (
	KindRejected OutcomeKind = iota
	KindPriced
	KindUnpriced // understood, and not priced
	KindDelivered
	KindReplayed
)

// KindOf is the kind of an outcome.
func KindOf(outcome string) OutcomeKind {
	switch outcome {
	case OutcomePriced:
		return KindPriced
	case OutcomeExcluded, OutcomePaused, OutcomeCapped:
		return KindUnpriced
	case OutcomeDelivered, OutcomeDeliveredUnsigned, OutcomeDeliveredReportOnly:
		return KindDelivered
	case OutcomeReplayed, OutcomeReplayedUnsigned, OutcomeReplayedReportOnly:
		return KindReplayed
	}
	return KindRejected // OutcomeInactive, and the reason of each error
}
