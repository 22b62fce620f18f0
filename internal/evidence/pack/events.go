package pack

import (
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// checkEvents computes the hashes of audit events again.
func checkEvents(events []AuditEvent) error {
	for _, e := range events {
		row, err := e.model()
		if err != nil {
			return ErrAudit.WithCause(err)
		}
		if sum := audit.Hash(&row); hex.EncodeToString(sum[:]) != e.Hash {
			return ErrAudit.WithCause(fmt.Errorf("event %d has a different hash", e.ID))
		}
	}
	return nil
}

// EventOf returns an audit event with all fields that its hash depends on.
func EventOf(e *models.AuditEvent) AuditEvent {
	return AuditEvent{
		ID: e.ID, At: e.At.UTC(), StaffID: text(e.StaffID), Actor: e.Actor, Role: e.Role, Action: e.Action,
		ObjectKind: e.ObjectKind, ObjectID: e.ObjectID, PartnerID: text(e.PartnerID), Before: e.Before, After: e.After,
		Reason: e.Reason, Address: e.Address, RequestID: e.RequestID, Outcome: string(e.Outcome),
		PrevHash: hex.EncodeToString(e.PrevHash), Hash: hex.EncodeToString(e.Hash),
	}
}

func (e AuditEvent) model() (row models.AuditEvent, err error) {
	row = models.AuditEvent{
		ID: e.ID, At: e.At, Actor: e.Actor, Role: e.Role, Action: e.Action, ObjectKind: e.ObjectKind, ObjectID: e.ObjectID,
		Before: e.Before, After: e.After, Reason: e.Reason, Address: e.Address, RequestID: e.RequestID, Outcome: models.AuditOutcome(e.Outcome),
	}
	if row.PrevHash, err = hex.DecodeString(e.PrevHash); err != nil {
		return row, err
	}
	if row.StaffID, err = parse(e.StaffID); err != nil {
		return row, err
	}
	row.PartnerID, err = parse(e.PartnerID)
	return row, err
}

func text(u *uuid.UUID) *string {
	if u == nil {
		return nil
	}
	s := u.String()
	return &s
}

func parse(text *string) (*uuid.UUID, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // a missing id is valid
	}
	u, err := uuid.Parse(*text)
	return &u, err
}
