package models

import (
	"time"

	"github.com/google/uuid"
)

// Role is what a person does at the platform. What each may do is in the policy.
type Role string

const (
	Administrator  Role = "administrator"
	AccountManager Role = "account_manager"
	PricingManager Role = "pricing_manager"
	Finance        Role = "finance"
	Auditor        Role = "auditor"
)

// Roles lists them all in their fixed order.
var Roles = [...]Role{Administrator, AccountManager, PricingManager, Finance, Auditor}

// StaffStatus says whether a person may log in.
type StaffStatus string

const (
	StaffInvited     StaffStatus = "invited" // has no password yet
	StaffActive      StaffStatus = "active"
	StaffDeactivated StaffStatus = "deactivated"
)

// Staff is a person of the console.
type Staff struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	Email        string
	Name         string
	Status       StaffStatus
	PasswordHash string
	TOTPSealed   []byte     `gorm:"column:totp_sealed"`
	TOTPStep     int64      `gorm:"column:totp_step"`
	TOTPAt       *time.Time `gorm:"column:totp_at"` // when the second factor was set up; nil when that is not known
	RowVersion   int        `gorm:"default:1"`
	CreatedAt    time.Time  `gorm:"autoCreateTime:false"`
	UpdatedAt    time.Time  `gorm:"autoUpdateTime:false"`
}

// TableName implements GORM's Tabler.
func (Staff) TableName() string { return "staff" }

// StaffRole is a role in one place: one partner's, or everywhere.
type StaffRole struct {
	StaffID   uuid.UUID
	Role      Role
	PartnerID *uuid.UUID // nil for everywhere
}

// RecoveryCode stands in once for a second factor that is lost.
type RecoveryCode struct {
	StaffID uuid.UUID `gorm:"primaryKey"`
	Digest  []byte    `gorm:"primaryKey"`
	UsedAt  *time.Time
}

// TableName implements GORM's Tabler.
func (RecoveryCode) TableName() string { return "staff_recovery_codes" }

// Invitation lets a person choose a password, once.
type Invitation struct {
	TokenHash []byte `gorm:"primaryKey"`
	StaffID   uuid.UUID
	ExpiresAt time.Time
}

// TableName implements GORM's Tabler.
func (Invitation) TableName() string { return "staff_invitations" }

// SessionStage is how far a login has come.
type SessionStage string

const (
	StageCode  SessionStage = "code"  // the password was right; a code is awaited
	StageEnrol SessionStage = "enrol" // a second factor has to be set up first
	StageOpen  SessionStage = "open"
)

// StaffSession is a login. The row is the authority: what it does not allow, no
// cookie does.
type StaffSession struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	StaffID     uuid.UUID
	TokenHash   []byte
	Stage       SessionStage
	Attempts    int
	TOTPSealed  []byte `gorm:"column:totp_sealed"`
	Address     string
	UserAgent   string
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	SeenAt      time.Time
	ConfirmedAt *time.Time
	ExpiresAt   time.Time
	EndedAt     *time.Time
	EndedWhy    string
}
