// Package outcomes describes the outcomes of pings and posts: their labels, and how to fix rejected requests.
package outcomes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// reason contains the label of a rejection reason and instructions for fixing the request. The field fix is ""
// if the instructions depend on the code of the response.
type reason struct{ words, fix string }

// reasons maps the codes of rejection reasons to labels and fixes.
var reasons = map[string]reason{
	"json": {
		"invalid JSON", "Send one JSON object in UTF-8, with unique names and nothing after it.",
	},
	"payload": {
		"missing or invalid field",
		"The partner must fix the listed fields. The errors in the API response state the rule for each field.",
	},
	"quote_owner": {
		"quote belongs to another partner",
		"Post to the base URL that the ping was sent to. A sandbox account's quotes can be used only by that account.",
	},
	"transaction_format": {
		"invalid transactionId", "Send the complete transactionId from the ping's response, unchanged.",
	},
	"expired":           {"quote expired", ""},
	"already_delivered": {"transaction already delivered", ""},
	string(models.OutcomeInactive): {
		"partner, account or secret not active",
		"Approve the partner or lift its suspension. The account and the signing secret must also be active.",
	},
	string(models.OutcomeUnknownAccount): {
		"unknown partnerId",
		"Send the partnerId of one of the partner's accounts, spelled exactly as it was issued, or leave it out.",
	},
	"signature": {
		"wrong signature", "A user who can edit the partner can check the post to find the cause.",
	},
	"signature_missing": {
		"no signature", "The partner must sign every post, unless you accept unsigned posts on the Signing tab.",
	},
	"timestamp_format": {
		"timestamp is not a number", "Send X-Timestamp once, in whole seconds since 1970.",
	},
	"timestamp_missing": {"no timestamp", "Send X-Timestamp with every signed post."},
	"timestamp_window": {
		"timestamp off by more than 300 s", "Correct the sender's clock. Send the timestamp in seconds, not in milliseconds.",
	},
	"too_many":        {"too many requests", "Wait for the number of seconds in Retry-After."},
	"unknown_partner": {"unknown base URL", "Use the base URL exactly as it was issued."},
	"not_found":       {"unknown path", "The base URL is correct, but not the path after it. Send pings to /api/lead/ping and posts to /api/lead/post, in lower case and without a slash at the end."},
	"method": {
		"not a POST",
		"Send pings and posts with the method POST. Some clients turn a POST into a GET when they are redirected.",
	},
	"incomplete": {"incomplete request", "The request did not arrive completely in time, its body ended early, or a chunk was malformed. Send the same request again."},
	"too_large":  {"larger than 64 KiB", "Send at most 64 KiB."},
	"match_too_large": {
		"larger than 16 KiB without a partnerId", "Post to the partner's own base URL, or send its partnerId.",
	},
	"busy": {"too many posts at once", "Send the same post again. Nothing was stored."},
	"storing": {
		"not confirmed by the database", "The outcome is unknown. Send the same post again to get the result.",
	},
	"not_loaded": {
		"prices not loaded yet", "The node had just started. Send the same request again.",
	},
	"sealing": {
		"price not sealed",
		"Send the ping again. If this persists, ask the platform's operators to search the log for the request ID.",
	},
	"taxonomy": {
		"industry no longer exists", "Send the ping again, with an industry from the current list.",
	},
	"panic": {
		"crash in the service",
		"Send the same request again. If this persists, ask the platform's operators to search the log for the request ID.",
	},
	"error": {
		"unexpected error",
		"Send the same request again. If this persists, ask the platform's operators to search the log for the request ID.",
	},
	"no_key_wrapper": {
		"no key wrapper configured", "Ask the platform's operators to configure a key wrapper.",
	},
}

// accepted maps the outcomes of requests that were not rejected to labels and badges.
var accepted = map[models.Outcome]struct{ words, kind string }{
	models.OutcomePriced:            {"priced", "good"},
	models.OutcomeExcluded:          {"excluded", "idle"},
	models.OutcomePaused:            {"partner or default account not active", "warn"},
	models.OutcomeCapped:            {"daily cap reached", "warn"},
	models.OutcomeDelivered:         {"lead delivered", "good"},
	models.OutcomeDeliveredUnsigned: {"lead delivered (unsigned)", "warn"},
	models.OutcomeDeliveredReportOnly: {
		"lead delivered (unsigned; would be rejected if signatures were required)", "warn",
	},
	models.OutcomeReplayed:           {"replayed", "good"},
	models.OutcomeReplayedUnsigned:   {"replayed (unsigned)", "warn"},
	models.OutcomeReplayedReportOnly: {"replayed (unsigned; would be rejected if signatures were required)", "warn"},
}

// RejectionLabel returns the endpoint and reason of a rejection: "Post: quote expired".
func RejectionLabel(r reporting.RejectionCount) string {
	return ui.Sentence(r.Endpoint) + ": " + ReasonLabel(r.Reason)
}

// Label returns the label of an outcome and the kind of its badge. The result rejected reports
// whether the outcome is a rejection.
func Label(outcome string) (words, kind string, rejected bool) {
	if known, ok := accepted[models.Outcome(outcome)]; ok {
		return known.words, known.kind, false
	}
	return ReasonLabel(outcome), "bad", true
}

// ReasonLabel returns the label of a rejection reason.
func ReasonLabel(outcome string) string {
	if known, ok := reasons[outcome]; ok {
		return known.words
	}
	return strings.ReplaceAll(outcome, "_", " ")
}

// Logged returns the outcomes of requests in the request log as the options of a filter.
func Logged() (all []ui.Option) {
	names := slices.Sorted(maps.Keys(reasons))
	for _, replayed := range []models.Outcome{
		models.OutcomeReplayed, models.OutcomeReplayedUnsigned, models.OutcomeReplayedReportOnly,
	} {
		names = append(names, string(replayed))
	}
	for _, name := range names {
		words, _, _ := Label(name)
		all = append(all, ui.Option{Value: name, Label: ui.Sentence(words)})
	}
	return all
}

// Fix returns how to fix a rejected request, or "". Posts for expired or already delivered transactions can have the
// same outcome but different causes, so their fix depends on the code of the response.
func Fix(outcome, code string) string {
	fix := cmp.Or(codeFixes[apperr.PublicCode(code)], reasons[outcome].fix)
	if alsoUnsigned(outcome, code) {
		fix += " " + reasons[noSignature].fix
	}
	return fix
}

// noSignature is the outcome of an unsigned post that was rejected only because it was not signed.
const noSignature = "signature_missing"

// alsoUnsigned reports whether a post was rejected for another reason, but its response says that the signature is
// missing. The platform's default signing mode causes this response, so the account itself may accept unsigned posts
// (decision 13).
func alsoUnsigned(outcome, code string) bool {
	return apperr.PublicCode(code) == apperr.SignatureMissing && outcome != noSignature
}

var codeFixes = map[apperr.PublicCode]string{
	apperr.TransactionExpired:           "The partner has not delivered the lead. Ping again, and post within 15 minutes of the ping.",
	apperr.TransactionExpiredDelivered:  "No action is needed. The lead had been delivered before, and the response contained its leadId.",
	apperr.TransactionExpiredUnsigned:   "An earlier attempt may have delivered the lead. Sign the post and send it again to find out.",
	apperr.TransactionExpiredUnknown:    "The node could not find out whether the lead had been delivered before. Sign the same post and send it again.",
	apperr.TransactionDelivered:         "The partner had delivered another body for this transaction before, and the response contained the leadId of that lead. Retries must have an identical body. Ping again only for another lead.",
	apperr.TransactionDeliveredByOther:  "Another partner has delivered a lead for this transaction. This lead is not sold. Ping again, and use each transactionId for one lead only.",
	apperr.TransactionDeliveredUnsigned: "A lead was delivered for this transaction before. Sign the post and send it again to find out which. Ping again only for another lead.",
}

// PartnerFix is like Fix, but addresses the partner.
func PartnerFix(outcome, code string) string {
	fix := cmp.Or(partnerCodeFixes[apperr.PublicCode(code)], partnerFixes[outcome], Fix(outcome, code))
	if alsoUnsigned(outcome, code) {
		fix += " Also sign the post if the account requires signatures."
	}
	return fix
}

// partnerFixes and partnerCodeFixes contain the fixes that address staff or mention the partner, in words for the
// partner.
var (
	partnerFixes = map[string]string{
		"payload":                            "Correct these fields. The errors in the response state the rule for each field.",
		"quote_owner":                        "Post to the base URL that the ping was sent to. The quotes of a sandbox account can be used only by that account.",
		string(models.OutcomeInactive):       "Your account or signing secret is not active. Contact your account manager before you send more posts.",
		string(models.OutcomeUnknownAccount): "Send the partnerId of one of your accounts, spelled exactly as it was issued, or leave it out.",
		"signature":                          "Check that you use a valid secret. Sign the timestamp, a dot and the exact bytes of the body, and send the same bytes.",
		"signature_missing":                  "Sign every post with your signing secret.",
		"match_too_large":                    "Post to your own base URL, or send your partnerId.",
		"sealing":                            "Send the ping again. If it is rejected again, send us the request ID.",
		"panic":                              "Send the same request again. If it is rejected again, send us the request ID.",
		"error":                              "Send the same request again. If it is rejected again, send us the request ID.",
		"no_key_wrapper":                     "The lead could not be stored. Send the same post again until the quote expires.",
	}
	partnerCodeFixes = map[apperr.PublicCode]string{
		apperr.TransactionExpired:          "The lead was not delivered. Ping again, and post within 15 minutes of the ping.",
		apperr.TransactionExpiredDelivered: "No action is needed. You already delivered this lead, and the response contained its leadId.",
		apperr.TransactionExpiredUnknown:   "The service could not find out whether the lead had been delivered before. Sign the same post and send it again.",
		apperr.TransactionDelivered:        "You had delivered another body for this transaction before, and the response contained the leadId of that lead. Retries must have an identical body. Ping again only for another lead.",
	}
)
