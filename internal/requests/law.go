package requests

import (
	"slices"
	"time"

	"github.com/pingpost/pingpost/internal/base/choice"
	"github.com/pingpost/pingpost/models"
)

// Kinds lists the kinds of requests. A label completes "We received …".
var Kinds = choice.List[models.PrivacyRequestKind]{
	{Code: models.RequestAccess, Label: "your request for a copy of your personal data"},
	{Code: models.RequestErasure, Label: "your request for the erasure of your personal data"},
	{Code: models.RequestObjection, Label: "your objection to the use of your personal data"},
	{Code: models.RequestRestriction, Label: "your request to restrict the use of your personal data"},
	{Code: models.RequestWithdrawal, Label: "your withdrawal of consent"},
	{Code: models.RequestRectification, Label: "your request for the correction of your personal data"},
	{Code: models.RequestComplaint, Label: "your complaint to an authority"},
}

// Laws lists the laws that can apply to a request.
var Laws = choice.List[models.PrivacyLaw]{
	{Code: models.LawGDPR, Label: "GDPR"},
	{Code: models.LawUKGDPR, Label: "UK GDPR"},
	{Code: models.LawCCPA, Label: "CCPA"},
}

// MayErase reports whether the data can be erased for a kind of request. If consumers object or withdraw
// their consent, the erasure is how the platform stops using their data.
func MayErase(kind models.PrivacyRequestKind) bool {
	return kind == models.RequestErasure || kind == models.RequestObjection || kind == models.RequestWithdrawal
}

// mayBeDone reports whether a kind of request can be closed as done, because staff do what was asked for
// outside the platform.
func mayBeDone(kind models.PrivacyRequestKind) bool {
	return kind != models.RequestAccess && kind != models.RequestErasure
}

// optOutDays is the number of business days for opt-outs of sale and limits of use (regulations under the
// CCPA, sections 7026(f) and 7027(g)). They cannot be extended.
const optOutDays = 15

func isOptOut(law models.PrivacyLaw, kind models.PrivacyRequestKind) bool {
	return law == models.LawCCPA && slices.Contains([]models.PrivacyRequestKind{
		models.RequestObjection, models.RequestWithdrawal, models.RequestRestriction,
	}, kind)
}

// Deadline returns the day on which a request is due by law. The GDPR and the UK GDPR allow a month (article
// 12(3)). A withdrawal of consent takes effect at once, and the month is for its confirmation. The CCPA allows
// 45 days (section 1798.130(a)(2)). For a complaint, the authority sets the deadline.
func Deadline(law models.PrivacyLaw, kind models.PrivacyRequestKind, received time.Time) time.Time {
	switch {
	case isOptOut(law, kind):
		return addBusinessDays(received, optOutDays)
	case law == models.LawCCPA:
		return received.AddDate(0, 0, 45)
	}
	return addMonths(received, 1)
}

// ExtendedDeadline returns the day on which a request is due after an extension. ok is false if the law allows
// no extension, as for a withdrawal of consent. For a complaint, the authority extends the deadline.
func ExtendedDeadline(
	law models.PrivacyLaw, kind models.PrivacyRequestKind, received time.Time,
) (due time.Time, ok bool) {
	switch {
	case kind == models.RequestComplaint || kind == models.RequestWithdrawal || isOptOut(law, kind):
		return due, false
	case law == models.LawCCPA:
		return received.AddDate(0, 0, 90), true
	}
	return addMonths(received, 3), true
}

// addMonths returns the day that is the given number of months after a day, or the last day of that month if the month
// is too short.
func addMonths(day time.Time, months int) time.Time {
	due := day.AddDate(0, months, 0)
	if due.Day() != day.Day() {
		due = due.AddDate(0, 0, -due.Day())
	}
	return due
}

// addBusinessDays counts the days from Monday to Friday. It ignores holidays, so the result is never too late.
func addBusinessDays(day time.Time, n int) time.Time {
	for n > 0 {
		day = day.AddDate(0, 0, 1)
		if day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			n--
		}
	}
	return day
}

// RejectionGround is a ground for rejecting a request. Both staff and the consumer read its label.
type RejectionGround struct {
	Ground models.RejectionGround
	Label  string
	laws   []models.PrivacyLaw
	kinds  []models.PrivacyRequestKind
}

var rejectionGrounds = func() []RejectionGround {
	type kinds = []models.PrivacyRequestKind
	const (
		access, erasure, objection = models.RequestAccess, models.RequestErasure, models.RequestObjection
		restriction, withdrawal    = models.RequestRestriction, models.RequestWithdrawal
		rectification              = models.RequestRectification
	)
	gdpr := []models.PrivacyLaw{models.LawGDPR, models.LawUKGDPR}
	ccpa := []models.PrivacyLaw{models.LawCCPA}
	rights := kinds{access, erasure, objection, restriction, rectification}
	return []RejectionGround{
		{models.GroundIdentity, "identity not confirmed (article 12(2) and (6))", gdpr, rights},
		{models.GroundIdentity, "identity not confirmed", gdpr, kinds{withdrawal}},
		{models.GroundExcessive, "the request is manifestly unfounded or excessive (article 12(5))", gdpr, rights},
		{models.GroundRightsOfOthers, "a copy would affect the rights of others (article 15(4))", gdpr, kinds{access}},
		{models.GroundExpression, "freedom of expression and information (article 17(3)(a))", gdpr, kinds{erasure}},
		{models.GroundObligation, "a legal obligation or a task in the public interest (article 17(3)(b))", gdpr,
			kinds{erasure}},
		{models.GroundPublicHealth, "public health (article 17(3)(c))", gdpr, kinds{erasure}},
		{models.GroundArchiving, "archiving, research or statistics (article 17(3)(d))", gdpr, kinds{erasure}},
		{models.GroundLegalClaims, "legal claims (article 17(3)(e))", gdpr, kinds{erasure}},
		{models.GroundCompelling, "compelling legitimate grounds (article 21(1))", gdpr, kinds{objection}},
		{models.GroundLegalClaims, "legal claims (article 21(1))", gdpr, kinds{objection}},
		{models.GroundConditions, "none of the conditions for a restriction applies (article 18(1))", gdpr,
			kinds{restriction}},
		{models.GroundAccurate, "the data is accurate and complete (article 16)", gdpr, kinds{rectification}},
		{models.GroundOtherBasis, "the data is not used on the basis of consent (article 7(3))", gdpr, kinds{withdrawal}},

		{models.GroundIdentity, "identity not verified (section 1798.130(a)(2))", ccpa,
			kinds{access, erasure, rectification}},
		{models.GroundFraudulent, "the request is believed to be fraudulent (regulations, sections 7026 and 7027)", ccpa,
			kinds{objection, withdrawal, restriction}},
		{models.GroundExcessive, "the request is manifestly unfounded or excessive (section 1798.145(h)(3))", ccpa,
			append(kinds{withdrawal}, rights...)},
		{models.GroundRepeated, "the data was provided twice in the last 12 months (section 1798.130(b))", ccpa,
			kinds{access}},
		{models.GroundRightsOfOthers, "the rights of others would be affected (section 1798.145(k))", ccpa,
			kinds{access, erasure, rectification}},
		{models.GroundTransaction, "the data is needed for a transaction or a contract (section 1798.105(d)(1))", ccpa,
			kinds{erasure}},
		{models.GroundSecurity, "the data is needed for security or to repair errors (section 1798.105(d)(2) and (3))", ccpa,
			kinds{erasure}},
		{models.GroundExpression, "free speech (section 1798.105(d)(4))", ccpa, kinds{erasure}},
		{models.GroundArchiving, "research (section 1798.105(d)(6))", ccpa, kinds{erasure}},
		{models.GroundInternalUse, "internal uses that the consumer expects (section 1798.105(d)(7))", ccpa, kinds{erasure}},
		{models.GroundObligation, "a legal obligation (section 1798.105(d)(8))", ccpa, kinds{erasure}},
		{models.GroundLegalClaims, "legal claims (section 1798.145(a))", ccpa, kinds{erasure}},
		{models.GroundAccurate, "the data is accurate (section 1798.106)", ccpa, kinds{rectification}},
	}
}()

// RejectionGrounds returns the grounds on which a law allows a kind of request to be rejected. A complaint
// cannot be rejected.
func RejectionGrounds(law models.PrivacyLaw, kind models.PrivacyRequestKind) (all []RejectionGround) {
	for _, g := range rejectionGrounds {
		if slices.Contains(g.laws, law) && slices.Contains(g.kinds, kind) {
			all = append(all, g)
		}
	}
	return all
}

// RejectionGroundLabel returns the label of the ground on which a request was rejected, or "".
func RejectionGroundLabel(r models.PrivacyRequest) string {
	for _, g := range RejectionGrounds(r.Law, r.Kind) {
		if r.Ground != nil && *r.Ground == g.Ground {
			return g.Label
		}
	}
	return ""
}
