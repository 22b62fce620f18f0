package models

// Outcome is how a request ended, as in pings and traffic_minutes. A rejected request has
// the reason of its error there.
type Outcome string

// The outcomes of requests that were not rejected, and of one rejection.
const (
	OutcomePriced Outcome = "priced"

	// Why a valid ping gets no price (decision 4): the reason in its answer too.
	OutcomeExcluded Outcome = "excluded"
	OutcomePaused   Outcome = "paused"
	OutcomeCapped   Outcome = "capped"

	OutcomeDelivered Outcome = "delivered"
	OutcomeReplayed  Outcome = "replayed"

	// An unsigned post that was accepted, where signing is off and where it is
	// report-only (decision 14).
	OutcomeDeliveredUnsigned   = OutcomeDelivered + "_unsigned"
	OutcomeDeliveredReportOnly = OutcomeDelivered + "_would_be_rejected"
	OutcomeReplayedUnsigned    = OutcomeReplayed + "_unsigned"
	OutcomeReplayedReportOnly  = OutcomeReplayed + "_would_be_rejected"

	// OutcomeInactive is a rejection of which the partner learns no more than that
	// the post was not authorised.
	OutcomeInactive Outcome = "inactive"
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
	switch Outcome(outcome) {
	case OutcomePriced:
		return KindPriced
	case OutcomeExcluded, OutcomePaused, OutcomeCapped:
		return KindUnpriced
	case OutcomeDelivered, OutcomeDeliveredUnsigned, OutcomeDeliveredReportOnly:
		return KindDelivered
	case OutcomeReplayed, OutcomeReplayedUnsigned, OutcomeReplayedReportOnly:
		return KindReplayed
	case OutcomeInactive:
	}
	return KindRejected // the reason of an error, OutcomeInactive among them
}
