package models

import (
	"time"

	"github.com/google/uuid"
)

// AuditOutcome is the result of the action that an audit event records.
type AuditOutcome string

const (
	AuditDone     AuditOutcome = "done"
	AuditRejected AuditOutcome = "rejected"
)

// AuditEvent is a record of an action by a user, an operator or the service. Before and After are
// JSON objects without secrets and without personal data from leads.
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
