package models

import (
	"time"

	"github.com/google/uuid"
)

// PrivacyRequestKind is what a consumer asks for.
type PrivacyRequestKind string

const (
	RequestAccess        PrivacyRequestKind = "access"        // a copy of the data (GDPR, article 15)
	RequestErasure       PrivacyRequestKind = "erasure"       // article 17
	RequestObjection     PrivacyRequestKind = "objection"     // article 21; under the CCPA, an opt-out of sale
	RequestRestriction   PrivacyRequestKind = "restriction"   // article 18; under the CCPA, a limit of use
	RequestWithdrawal    PrivacyRequestKind = "withdrawal"    // of consent (article 7(3))
	RequestRectification PrivacyRequestKind = "rectification" // article 16
	RequestComplaint     PrivacyRequestKind = "complaint"     // a case at an authority
)

// PrivacyLaw determines the deadline of a privacy request, and the grounds on which it can be rejected.
type PrivacyLaw string

const (
	LawGDPR   PrivacyLaw = "gdpr"
	LawUKGDPR PrivacyLaw = "uk_gdpr"
	LawCCPA   PrivacyLaw = "ccpa"
)

// IdentityCheck is how the identity of a consumer was checked.
type IdentityCheck string

const (
	IdentityReply    IdentityCheck = "reply"    // the consumer wrote from the email address of the leads
	IdentityCall     IdentityCheck = "call"     // the consumer was called at the phone number of the leads
	IdentityDocument IdentityCheck = "document" // the consumer showed a document
	IdentityOther    IdentityCheck = "other"    // explained in the note
)

// RequestOutcome is how a privacy request ended.
type RequestOutcome string

const (
	OutcomeExported     RequestOutcome = "exported"
	OutcomeErased       RequestOutcome = "erased"
	OutcomeDone         RequestOutcome = "done" // described in the note
	OutcomeNothingFound RequestOutcome = "nothing_found"
	OutcomeRejected     RequestOutcome = "rejected"
	OutcomeWithdrawn    RequestOutcome = "withdrawn"
)

// RejectionGround is the legal ground on which a privacy request is rejected. The articles are those of the
// GDPR, the sections those of the CCPA.
type RejectionGround string

const (
	GroundIdentity       RejectionGround = "identity"         // article 12(2) and (6)
	GroundExcessive      RejectionGround = "excessive"        // article 12(5)
	GroundRightsOfOthers RejectionGround = "rights_of_others" // article 15(4)
	GroundExpression     RejectionGround = "expression"       // article 17(3)(a)
	GroundObligation     RejectionGround = "obligation"       // article 17(3)(b)
	GroundPublicHealth   RejectionGround = "public_health"    // article 17(3)(c)
	GroundArchiving      RejectionGround = "archiving"        // article 17(3)(d)
	GroundLegalClaims    RejectionGround = "legal_claims"     // article 17(3)(e) or 21(1)
	GroundCompelling     RejectionGround = "compelling"       // article 21(1)
	GroundConditions     RejectionGround = "conditions"       // article 18(1)
	GroundAccurate       RejectionGround = "accurate"         // article 16, section 1798.106
	GroundOtherBasis     RejectionGround = "other_basis"      // article 7(3)
	GroundRepeated       RejectionGround = "repeated"         // section 1798.130(b)
	GroundFraudulent     RejectionGround = "fraudulent"       // sections 7026 and 7027 of the regulations
	GroundTransaction    RejectionGround = "transaction"      // section 1798.105(d)(1)
	GroundSecurity       RejectionGround = "security"         // section 1798.105(d)(2) and (3)
	GroundInternalUse    RejectionGround = "internal_use"     // section 1798.105(d)(7)
)

// PrivacyRequest is a consumer's request about their personal data, or their complaint to an authority.
type PrivacyRequest struct {
	ID              uuid.UUID `gorm:"primaryKey"`
	Kind            PrivacyRequestKind
	Law             PrivacyLaw
	Reference       string    // such as a case number; must not identify the consumer
	ReceivedOn      time.Time // date
	DueOn           time.Time // date
	CreatedBy       string
	CreatedAt       time.Time
	Identity        *IdentityCheck // nil until it is checked
	IdentityNote    string
	IdentityBy      *string
	IdentityByID    *uuid.UUID // nil on the command line
	IdentityAt      *time.Time
	ExtensionReason string
	ExtendedAt      *time.Time       // nil if the deadline was not extended
	Outcome         *RequestOutcome  // nil while the request is open
	Ground          *RejectionGround // nil unless the request was rejected
	OutcomeNote     string
	ClosedBy        *string
	ClosedAt        *time.Time
	FileID          *uuid.UUID // the latest export, while it is stored
	NoticesDue      bool       // after an erasure, until the notices for all partners are recorded
	EmailSearched   bool       // an email address was searched for when the request was created
	PhoneSearched   bool       // the same for a phone number
}

// LeadMatch is how a lead was found for a privacy request.
type LeadMatch string

const (
	MatchEmail LeadMatch = "email"
	MatchPhone LeadMatch = "phone"
	MatchBoth  LeadMatch = "both"
	MatchID    LeadMatch = "id" // the user entered the lead's id
)

// LeadException is the reason why a user added a lead to a privacy request although it shares neither an email
// address nor a phone number with the other leads.
type LeadException string

const (
	ExceptionNone   LeadException = ""
	ExceptionErased LeadException = "erased" // the lead was erased, so nothing can be compared
	ExceptionProved LeadException = "proved" // the consumer proved that the lead is about them
	ExceptionOther  LeadException = "other"  // explained in the note
)

// PrivacyRequestLead is a lead that was found for a privacy request, or that a user added.
type PrivacyRequestLead struct {
	RequestID     uuid.UUID `gorm:"primaryKey"`
	LeadID        uuid.UUID `gorm:"primaryKey"`
	PartnerID     uuid.UUID
	Matched       LeadMatch
	EmailNumber   int // 1 is the searched address or, if none was searched, the most frequent; 0 is unknown
	PhoneNumber   int // the same for phone numbers
	Exception     LeadException
	ExceptionNote string // must not identify the consumer
	// Erased means that this request erased the lead, or that it was erased in another way after the request was
	// received. Its partner must be notified.
	Erased bool
}

// NoNoticeReason is why a partner is not notified of an erasure.
type NoNoticeReason string

const (
	NoNoticeNoCopy           NoNoticeReason = "no_copy"          // the partner no longer has a copy
	NoNoticeUnreachable      NoNoticeReason = "unreachable"      // notifying is impossible (GDPR, article 19)
	NoNoticeDisproportionate NoNoticeReason = "disproportionate" // the effort is disproportionate (article 19)
	NoNoticeOther            NoNoticeReason = "other"            // explained in the note
)

// PrivacyRequestNotice records that a partner was notified of an erasure, or why it was not.
type PrivacyRequestNotice struct {
	RequestID  uuid.UUID `gorm:"primaryKey"`
	PartnerID  uuid.UUID `gorm:"primaryKey"`
	NotifiedBy string
	NotifiedAt time.Time
	Reason     NoNoticeReason // "" if the partner was notified
	Note       string         // about the reason; must not identify the consumer
}
