// Package models holds the rows as GORM sees them: one file a table group. It
// has no queries, no hooks, no JSON tags, and no field for a plaintext secret.
package models

import (
	"time"

	"github.com/google/uuid"
)

// PartnerStatus is where a partner is on its way to selling leads.
type PartnerStatus string

const (
	PartnerPending   PartnerStatus = "pending"
	PartnerApproved  PartnerStatus = "approved"
	PartnerSuspended PartnerStatus = "suspended"
)

// SigningMode says what happens to an unsigned post (decision 14).
type SigningMode string

const (
	SigningRequired   SigningMode = "required"    // refused
	SigningReportOnly SigningMode = "report_only" // accepted, counted as "would have been refused"
	SigningOff        SigningMode = "off"         // accepted
	SigningDefault    SigningMode = "default"     // a partner's: as the platform's configuration says
	SigningInherit    SigningMode = "inherit"     // an account's: as its partner says
)

// Partner is a tenant: whoever sells leads and is paid for them.
type Partner struct {
	ID             uuid.UUID `gorm:"primaryKey"`
	Slug           string
	Name           string
	LegalName      string
	Address        string
	TaxID          string
	Contacts       string `gorm:"type:jsonb;default:'[]'"`
	PaymentTerms   string
	Status         PartnerStatus
	SigningMode    SigningMode
	SharedAddress  bool
	AccountManager string
	Notes          string
	RowVersion     int       `gorm:"default:1"`
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt      time.Time `gorm:"autoUpdateTime:false"`
}

// PlatformIDs is the partner of unsigned posts that name nobody (decision 13). The first
// migration makes it.
var PlatformIDs = struct{ Partner, Account uuid.UUID }{
	uuid.MustParse("00000000-0000-7000-8000-000000000001"),
	uuid.MustParse("00000000-0000-7000-8000-000000000002"),
}

// AccountStatus is active or suspended.
type AccountStatus string

const (
	AccountActive    AccountStatus = "active"
	AccountSuspended AccountStatus = "suspended"
)

// Account is one of a partner's affiliate accounts. Identifier is the
// "partnerId" of a post, unique on the platform.
type Account struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	PartnerID   uuid.UUID
	Identifier  string
	Name        string
	IsDefault   bool
	Sandbox     bool
	Status      AccountStatus
	SigningMode SigningMode
	RowVersion  int       `gorm:"default:1"`
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"`
}

// SecretState is active or revoked; retiring is an active secret with an end.
type SecretState string

const (
	SecretActive  SecretState = "active"
	SecretRevoked SecretState = "revoked"
)

// SigningSecret is an HMAC secret of a partner. Sealed holds it under a platform
// key; Digest, keyed too, makes it unique on the platform (decisions 13, 16).
type SigningSecret struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	PartnerID uuid.UUID
	Label     string
	Prefix    string
	LastFour  string
	Sealed    []byte
	Digest    []byte
	State     SecretState
	NotBefore time.Time
	RetiresAt *time.Time
	RevokedAt *time.Time
	CreatedBy string    // a name as the audit trail has it
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
}

// PartnerLink leads to a partner's own documentation page.
type PartnerLink struct {
	Digest    []byte `gorm:"primaryKey"` // SHA-256 of the token
	PartnerID uuid.UUID
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	RevokedAt *time.Time
}
