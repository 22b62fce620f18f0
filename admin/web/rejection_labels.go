package web

import (
	"strings"

	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// rejectionReason says in words why a request was refused, and what the partner changes.
type rejectionReason struct{ words, Fix string }

// RejectionReasons maps the reason codes of the counters to labels and fixes.
var RejectionReasons = map[string]rejectionReason{
	"json":                         {"no valid JSON", "Send one JSON object in UTF-8, with each name once and nothing after it."},
	"payload":                      {"a field is missing or wrong", "Mend the fields that are named; the answer that they got says how."},
	"quote_owner":                  {"the quote is another partner's", "Post on quotes that were asked for at the same base URL: a sandbox account's are for it alone."},
	"transaction_format":           {"no transactionId of ours", "Send the transactionId of the ping's answer as it is, whole."},
	"expired":                      {"the quote had expired", "Post within 15 minutes of the ping, or ping again."},
	"already_delivered":            {"the transaction was delivered", "Each transaction takes one lead: ping again for another. A retry must be the same bytes."},
	string(models.OutcomeInactive): {"the partner is not active", "Approve the partner or lift the suspension; the account must be active too."},
	"signature":                    {"wrong signature", "Check a signature tells which mistake it is."},
	"signature_missing":            {"no signature", "Sign every post, or let unsigned ones in under Signing."},
	"timestamp_format":             {"the timestamp is not a number", "X-Timestamp must be whole seconds since 1970, sent once."},
	"timestamp_missing":            {"no timestamp", "Send X-Timestamp with every signed post."},
	"timestamp_window":             {"the timestamp is too far off", "Set the sender's clock: it may differ by 300 seconds. Milliseconds are too far off as well."},
	"too_many":                     {"too many requests", "Wait for the number of seconds in Retry-After."},
	"unknown_partner":              {"unknown base URL", "Use the base URL as it was handed over."},
	"not_found":                    {"unknown address", "Use the base URL as it was handed over."},
	"incomplete":                   {"incomplete request", "The request did not arrive completely within 10 seconds. Send the same request again."},
	"too_large":                    {"more than 64 KiB", "Send less than 64 KiB."},
	"match_too_large":              {"more than 16 KiB without a partnerId", "Post on the partner's own base URL, or send its partnerId."},
	"busy":                         {"too many posts at once", "Send the same post again: nothing was stored."},
	"storing":                      {"the database did not confirm it", "The outcome is unknown. The partner sends the same post again, which returns the result."},
	"no_key_wrapper":               {"no lead key is configured", "The platform's operators configure a key wrapper."},
}

// outcomes are the labels of requests that were not rejected.
var outcomes = map[models.Outcome]struct{ words, kind string }{
	models.OutcomePriced:              {"got a price", "good"},
	models.OutcomeExcluded:            {"not bought here", "idle"},
	models.OutcomePaused:              {"the partner is not active", "warn"},
	models.OutcomeCapped:              {"the day's cap is reached", "warn"},
	models.OutcomeDelivered:           {"lead delivered", "good"},
	models.OutcomeDeliveredUnsigned:   {"lead delivered, unsigned", "warn"},
	models.OutcomeDeliveredReportOnly: {"lead delivered, unsigned; would have been refused", "warn"},
	models.OutcomeReplayed:            {"answered again", "good"},
	models.OutcomeReplayedUnsigned:    {"answered again, unsigned", "warn"},
	models.OutcomeReplayedReportOnly:  {"answered again, unsigned; would have been refused", "warn"},
}

func ReasonLabel(outcome string) string {
	if known, ok := RejectionReasons[outcome]; ok {
		return known.words
	}
	return strings.ReplaceAll(outcome, "_", " ")
}

// OutcomeLabel returns the label of an outcome and the kind of its badge.
func OutcomeLabel(outcome string) (words, kind string, rejected bool) {
	if known, ok := outcomes[models.Outcome(outcome)]; ok {
		return known.words, known.kind, false
	}
	return ReasonLabel(outcome), "bad", true
}

// RejectionOptions returns the reasons as options of a filter.
func RejectionOptions(names []string) (all []ui.Option) {
	for _, name := range names {
		all = append(all, ui.Option{Value: name, Label: Title(ReasonLabel(name))})
	}
	return all
}

// RejectionLabel returns the endpoint and the reason of a rejection.
func RejectionLabel(r reporting.RejectionCount) string {
	return Title(r.Endpoint) + ": " + ReasonLabel(r.Reason)
}
