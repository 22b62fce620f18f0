package models

// Outcome is the result of a request, as stored in pings and traffic_minutes. For a
// rejected request it is the reason of the error.
type Outcome string

// The outcomes of requests that were not rejected, and of one rejection.
const (
	OutcomePriced Outcome = "priced"

	// Reasons why a valid ping gets no price (decision 4), also sent in the answer.
	OutcomeExcluded Outcome = "excluded"
	OutcomePaused   Outcome = "paused"
	OutcomeCapped   Outcome = "capped"

	OutcomeDelivered Outcome = "delivered"
	OutcomeReplayed  Outcome = "replayed"

	// An unsigned post was accepted because the signing mode is off or report-only
	// (decision 14).
	OutcomeDeliveredUnsigned   = OutcomeDelivered + "_unsigned"
	OutcomeDeliveredReportOnly = OutcomeDelivered + "_would_be_rejected"
	OutcomeReplayedUnsigned    = OutcomeReplayed + "_unsigned"
	OutcomeReplayedReportOnly  = OutcomeReplayed + "_would_be_rejected"

	// OutcomeInactive is a rejection. The partner only learns that the post was not
	// authorised.
	OutcomeInactive Outcome = "inactive"
)

// OutcomeKind groups outcomes for counting.
type OutcomeKind int

// The kinds of outcomes.
const (
	KindRejected OutcomeKind = iota
	KindPriced
	KindUnpriced // valid, but without a price
	KindDelivered
	KindReplayed
)

// KindOf returns the kind of an outcome.
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
	return KindRejected // an error's reason, or OutcomeInactive
}
