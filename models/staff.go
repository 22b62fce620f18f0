package models

import (
	"time"

	"github.com/google/uuid"
)

// Role is a user's role. Package authz defines the permissions of each role.
type Role string

const (
	Administrator  Role = "administrator"
	AccountManager Role = "account_manager"
	PricingManager Role = "pricing_manager"
	Finance        Role = "finance"
	Privacy        Role = "privacy"
	Auditor        Role = "auditor"
)

// Roles lists all roles in a fixed order.
var Roles = [...]Role{Administrator, AccountManager, PricingManager, Finance, Privacy, Auditor}

// StaffStatus is the status of a user.
type StaffStatus string

const (
	StaffInvited     StaffStatus = "invited" // has no password yet
	StaffActive      StaffStatus = "active"
	StaffDeactivated StaffStatus = "deactivated"
)

// Staff is a user of the console.
type Staff struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	Email        string
	Name         string
	Status       StaffStatus
	PasswordHash string
	TOTPSealed   []byte     `gorm:"column:totp_sealed"`
	TOTPStep     int64      `gorm:"column:totp_step"`
	TOTPAt       *time.Time `gorm:"column:totp_at"` // when the second factor was set up; nil if there is none or the time is unknown
	RowVersion   int        `gorm:"default:1"`
	CreatedAt    time.Time  `gorm:"autoCreateTime:false"`
	UpdatedAt    time.Time  `gorm:"autoUpdateTime:false"`
}

// TableName implements GORM's Tabler.
func (Staff) TableName() string { return "staff" }

// StaffRole is a role of a user, either for one partner or for all of them.
type StaffRole struct {
	StaffID   uuid.UUID
	Role      Role
	PartnerID *uuid.UUID // nil for all partners
}

// RecoveryCode is a code that a user can enter once instead of a code from the authenticator app.
type RecoveryCode struct {
	StaffID uuid.UUID `gorm:"primaryKey"`
	Digest  []byte    `gorm:"primaryKey"`
	UsedAt  *time.Time
}

// TableName implements GORM's Tabler.
func (RecoveryCode) TableName() string { return "staff_recovery_codes" }

// Invitation is a single-use token that lets a user choose a password.
type Invitation struct {
	TokenHash []byte `gorm:"primaryKey"`
	StaffID   uuid.UUID
	ExpiresAt time.Time
}

// TableName implements GORM's Tabler.
func (Invitation) TableName() string { return "staff_invitations" }

// SessionStage is how far a user's login has progressed.
type SessionStage string

const (
	StageCode  SessionStage = "code"  // the password was correct; a code is needed
	StageEnrol SessionStage = "enrol" // the user has to set up a second factor first
	StageOpen  SessionStage = "open"
)

// StaffSession is a login session. This row determines what the session allows. The cookie only
// identifies the session.
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
	EndReason   string
}
