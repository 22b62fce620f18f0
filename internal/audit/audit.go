// Package audit keeps what staff, operators and the service itself did: an
// append-only chain of events, each written in the database transaction of the
// change it records, and each holding the hash of the one before. The database
// refuses to change or take out events; the chain shows it if that was circumvented.
//
// It does not keep what partners did: that is traffic and refusals (decision 24).
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// Actor is who acts, and from where.
type Actor struct {
	Staff     uuid.UUID // Nil for the service and its operators
	Name      string    // an e-mail address, or one of the names below
	Role      string    // the role that permits the action
	Address   string
	RequestID string
	Form      Submission // of a console form that creates something, or the zero value
}

var (
	// Service acts for itself: retention, scheduled publishing.
	Service = Actor{Name: "the service"}
	// Operator is whoever runs a command on the service's machine.
	Operator = Actor{Name: "the command line"}
	// Anonymous is an unknown actor, as of a rejected login.
	Anonymous = Actor{Name: "unknown"}
)

// Event is an action. Before and After hold what changed, under the names of the
// fields, and never a secret or a lead's personal data.
type Event struct {
	Action        string // "partner.approve"
	Kind, Object  string // "partner", and its id in the prefixed form
	Partner       uuid.UUID
	Before, After map[string]any
	Reason        string // why, as the person wrote it; of a refusal, what was missing
}

// Log writes and reads events.
type Log struct {
	db    *postgres.DB
	clock clock.Clock
}

// New is a log on the service's database.
func New(db *postgres.DB, c clock.Clock) *Log { return &Log{db, c} }

// Write appends the event in the caller's transaction, as the last thing that it
// does: from here to the commit it holds the chain, and every other change waits.
func Write(tx *gorm.DB, at time.Time, by Actor, e Event) error {
	return write(tx, at, by, e, models.AuditDone)
}

// LogRejected appends a rejected action in a transaction of its own.
func (l *Log) LogRejected(ctx context.Context, by Actor, e Event) error {
	return l.db.Transaction(ctx, func(tx *gorm.DB) error {
		return write(tx, l.clock.Now(), by, e, models.AuditRejected)
	})
}

// LogDone appends an action that changed nothing else in the database.
func (l *Log) LogDone(ctx context.Context, by Actor, e Event) error {
	return l.db.Transaction(ctx, func(tx *gorm.DB) error { return Write(tx, l.clock.Now(), by, e) })
}

func write(tx *gorm.DB, at time.Time, by Actor, e Event, outcome models.AuditOutcome) error {
	if by.Name == "" || e.Action == "" {
		return errors.New("an audit event names who did what")
	}
	row := models.AuditEvent{
		At:         at.UTC().Truncate(time.Microsecond),
		Actor:      by.Name,
		Role:       by.Role,
		Action:     e.Action,
		ObjectKind: e.Kind,
		ObjectID:   e.Object,
		Reason:     e.Reason,
		Address:    by.Address,
		RequestID:  by.RequestID,
		Outcome:    outcome,
	}
	if by.Staff != uuid.Nil {
		row.StaffID = &by.Staff
	}
	if e.Partner != uuid.Nil {
		row.PartnerID = &e.Partner
	}
	var failed [2]error
	row.Before, failed[0] = encode(e.Before)
	row.After, failed[1] = encode(e.After)
	if err := errors.Join(failed[:]...); err != nil {
		return err
	}
	if outcome == models.AuditDone {
		if err := by.Form.claim(tx, row.At, by, e); err != nil {
			return err
		}
	}
	if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('audit chain'))`).Error; err != nil {
		return err
	}
	var last models.AuditEvent
	switch err := tx.Select("hash").Order("id DESC").Take(&last).Error; {
	case errors.Is(err, gorm.ErrRecordNotFound):
		row.PrevHash = make([]byte, sha256.Size)
	case err != nil:
		return err
	default:
		row.PrevHash = last.Hash
	}
	sum := hash(&row)
	row.Hash = sum[:]
	return tx.Create(&row).Error
}

func encode(fields map[string]any) (*string, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		return nil, err
	}
	out := string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return &out, nil
}

// hash is SHA-256 over the event before and everything that this one says, each
// part led by its length, so that no two events read the same.
func hash(e *models.AuditEvent) [sha256.Size]byte {
	var b []byte
	add := func(part []byte) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	optional := func(given bool, part string) {
		if !given {
			b = binary.BigEndian.AppendUint64(b, ^uint64(0)) // not the same as an empty one
			return
		}
		add([]byte(part))
	}
	add([]byte("pingpost/audit/1"))
	add(e.PrevHash)
	add(binary.BigEndian.AppendUint64(nil, uint64(e.At.UnixMicro())))
	optional(e.StaffID != nil, text(e.StaffID))
	for _, part := range []string{e.Actor, e.Role, e.Action, e.ObjectKind, e.ObjectID} {
		add([]byte(part))
	}
	optional(e.PartnerID != nil, text(e.PartnerID))
	for _, part := range []*string{e.Before, e.After} {
		if part == nil {
			optional(false, "")
			continue
		}
		optional(true, *part)
	}
	for _, part := range []string{e.Reason, e.Address, e.RequestID, string(e.Outcome)} {
		add([]byte(part))
	}
	return sha256.Sum256(b)
}

func text(u *uuid.UUID) string {
	if u == nil {
		return ""
	}
	return u.String()
}
