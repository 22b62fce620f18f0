package models

import (
	"time"

	"github.com/google/uuid"
)

// AuditOutcome is how an action ended.
type AuditOutcome string

const (
	AuditDone     AuditOutcome = "done"
	AuditRejected AuditOutcome = "refused"
)

// AuditEvent is an action of staff, of an operator or of the service itself. Before
// and After are JSON objects without secrets and personal data of leads.
type AuditEvent struct {
	ID         int64 `gorm:"primaryKey"`
	At         time.Time
	StaffID    *uuid.UUID
	Actor      string
	Role       string
	Action     string
	ObjectKind string
	ObjectID   string
	PartnerID  *uuid.UUID
	Before     *string `gorm:"type:json"`
	After      *string `gorm:"type:json"`
	Reason     string
	Address    string
	RequestID  string
	Outcome    AuditOutcome
	PrevHash   []byte
	Hash       []byte
}
