// Package models contains the GORM models, with one file for each group of tables. The models have
// no queries, no hooks, no JSON tags, and no fields for plaintext secrets.
package models

import (
	"time"

	"github.com/google/uuid"
)

// PartnerStatus is the status of a partner.
type PartnerStatus string

const (
	PartnerPending   PartnerStatus = "pending"
	PartnerApproved  PartnerStatus = "approved"
	PartnerSuspended PartnerStatus = "suspended"
)

// SigningMode determines whether unsigned posts are accepted (decision 14).
type SigningMode string

const (
	SigningRequired   SigningMode = "required"    // rejected
	SigningReportOnly SigningMode = "report_only" // accepted, but counted as "would be rejected"
	SigningOff        SigningMode = "off"         // accepted
	SigningDefault    SigningMode = "default"     // for a partner: use the mode in the configuration
	SigningInherit    SigningMode = "inherit"     // for an account: use its partner's mode
)

// Partner is a company that sells leads on the platform.
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
	SharedBaseURL  bool
	AccountManager string
	Notes          string
	RowVersion     int       `gorm:"default:1"`
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt      time.Time `gorm:"autoUpdateTime:false"`
}

// PlatformIDs contains the IDs of the platform account and its partner, which receive unsigned posts
// that do not identify a partner (decision 13). The first migration creates both.
var PlatformIDs = struct{ Partner, Account uuid.UUID }{
	uuid.MustParse("00000000-0000-7000-8000-000000000001"),
	uuid.MustParse("00000000-0000-7000-8000-000000000002"),
}

// AccountStatus is the status of an account.
type AccountStatus string

const (
	AccountActive    AccountStatus = "active"
	AccountSuspended AccountStatus = "suspended"
)

// Account is an account of a partner. Identifier is the "partnerId" in posts and is unique on the
// platform.
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

// SecretState is the stored state of a signing secret. The console derives the states expiring and
// expired from ExpiresAt.
type SecretState string

const (
	SecretActive  SecretState = "active"
	SecretRevoked SecretState = "revoked"
)

// SigningSecret is a secret with which a partner signs posts. Sealed is the secret, encrypted with a
// platform key. Digest is a keyed hash of the secret and is unique on the platform (decisions 13, 16).
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
	ExpiresAt *time.Time
	RevokedAt *time.Time
	CreatedBy string    // name of the user, as in the audit log
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
}

// PartnerLink is a link to a partner's own documentation page.
type PartnerLink struct {
	Digest    []byte `gorm:"primaryKey"` // SHA-256 of the token
	PartnerID uuid.UUID
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	RevokedAt *time.Time
}
