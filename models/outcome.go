package models

// Outcome is the result of a request, as stored in the tables pings and traffic_minutes. The outcome of
// a rejected request is the error's reason.
type Outcome string

// These are the outcomes of requests that were not rejected.
const (
	OutcomePriced Outcome = "priced"

	// The reasons why a valid ping gets no price (decision 4). The response contains the reason.
	OutcomeExcluded Outcome = "excluded"
	OutcomePaused   Outcome = "paused"
	OutcomeCapped   Outcome = "capped"

	OutcomeDelivered Outcome = "delivered"
	OutcomeReplayed  Outcome = "replayed"

	// These outcomes mean that an unsigned post was accepted, because the signing mode was off or
	// report-only (decision 14).
	OutcomeDeliveredUnsigned   = OutcomeDelivered + "_unsigned"
	OutcomeDeliveredReportOnly = OutcomeDelivered + "_would_be_rejected"
	OutcomeReplayedUnsigned    = OutcomeReplayed + "_unsigned"
	OutcomeReplayedReportOnly  = OutcomeReplayed + "_would_be_rejected"
)

// These are outcomes of rejected posts that the response may not reveal (decision 59).
const (
	// OutcomeUnknownAccount means that the post names an account that does not exist, or that belongs to a different
	// partner than the base URL.
	OutcomeUnknownAccount Outcome = "unknown_account"
	// OutcomeInactive means that the partner, account or secret is not active.
	OutcomeInactive Outcome = "inactive"
)

// OutcomeKind is a group of outcomes that are counted together.
type OutcomeKind int

// These are the kinds of outcomes.
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
	case OutcomeUnknownAccount, OutcomeInactive:
	}
	return KindRejected // an error's reason
}
