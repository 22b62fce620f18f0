package models

import (
	"time"

	"github.com/google/uuid"
)

// PrivacyRequestKind is what a consumer asks for.
type PrivacyRequestKind string

const (
	RequestAccess  PrivacyRequestKind = "access"  // a copy of the data (GDPR, article 15)
	RequestErasure PrivacyRequestKind = "erasure" // article 17
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
	OutcomeNothingFound RequestOutcome = "nothing_found"
	OutcomeRejected     RequestOutcome = "rejected"
	OutcomeWithdrawn    RequestOutcome = "withdrawn"
)

// RejectionGround is the legal ground on which a privacy request is rejected. The articles are those of the
// GDPR.
type RejectionGround string

const (
	GroundIdentity       RejectionGround = "identity"         // article 12(2) and (6)
	GroundExcessive      RejectionGround = "excessive"        // article 12(5)
	GroundRightsOfOthers RejectionGround = "rights_of_others" // article 15(4)
	GroundExpression     RejectionGround = "expression"       // article 17(3)(a)
	GroundObligation     RejectionGround = "obligation"       // article 17(3)(b)
	GroundPublicHealth   RejectionGround = "public_health"    // article 17(3)(c)
	GroundArchiving      RejectionGround = "archiving"        // article 17(3)(d)
	GroundLegalClaims    RejectionGround = "legal_claims"     // article 17(3)(e)
)

// PrivacyRequest is a consumer's request for a copy of their personal data, or for its erasure.
type PrivacyRequest struct {
	ID              uuid.UUID `gorm:"primaryKey"`
	Kind            PrivacyRequestKind
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
	NoticesDue      bool       // after an erasure: at least one partner must still be notified
}

// LeadMatch is how a lead was found for a privacy request.
type LeadMatch string

const (
	MatchUnknown LeadMatch = "" // the request was created by an older program
	MatchEmail   LeadMatch = "email"
	MatchPhone   LeadMatch = "phone"
	MatchBoth    LeadMatch = "both"
	MatchID      LeadMatch = "id" // the user entered the lead's id
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
	Erased        bool   // by this request
}

// NoNoticeReason is why a partner is not notified of an erasure.
type NoNoticeReason string

const (
	NoNoticeNoCopy           NoNoticeReason = "no_copy"          // the partner has no copy any more
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
