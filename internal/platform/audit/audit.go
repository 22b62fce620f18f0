// Package audit records changes by staff, operators and the service itself in the audit log.
//
// An event is written in the same database transaction as the change that it records. The database
// rejects changes to events. In addition, each event contains the hash of the previous one. This
// hash chain reveals tampering that bypasses the database's rules.
//
// Requests from partners are recorded as traffic and in the request log instead (decision 24).
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Actor is the user or process that performs an action, with its IP address.
type Actor struct {
	Staff     uuid.UUID // uuid.Nil for the service and its operators
	Name      string    // an email address, or the name of a predefined actor
	Role      string    // the role that permits the action
	Address   string
	RequestID string
	Form      Submission // the submitted console form, if the action creates an object
}

// StaffID returns the user's id, or nil for the service and its operators.
func (a Actor) StaffID() *uuid.UUID {
	if a.Staff == uuid.Nil {
		return nil
	}
	return &a.Staff
}

var (
	// Service is the actor of automatic changes, such as retention and scheduled publishing.
	Service = Actor{Name: "the service"}
	// Operator is the actor of changes on the command line.
	Operator = Actor{Name: "the command line"}
	// Anonymous is the actor if the user is unknown, for example in some rejected logins.
	Anonymous = Actor{Name: "unknown"}
)

// Event is a recorded action. Before and After map the names of the changed fields to their values. The
// values never contain secrets or leads' personal data.
type Event struct {
	Action        string // such as "partner.approve"
	Kind, Object  string // such as "partner", and the object's prefixed id
	Partner       uuid.UUID
	Before, After map[string]any
	Reason        string // the reason that the user entered, or why the action was rejected
}

// Log writes and reads events.
type Log struct {
	db    *postgres.DB
	clock clock.Clock
}

// New returns the audit log of a database.
func New(db *postgres.DB, c clock.Clock) *Log { return &Log{db, c} }

// Write adds an event to the caller's transaction, which must have been started with
// postgres.DB.Transaction. All events of a transaction are stored immediately before the commit, because
// storing them locks the hash chain, and every other change waits for this lock.
func Write(tx *gorm.DB, at time.Time, by Actor, e Event) error {
	return write(tx, at, by, e, models.AuditDone)
}

// LogRejected appends an event for a rejected action, in its own transaction.
func (l *Log) LogRejected(ctx context.Context, by Actor, e Event) error {
	return l.db.Transaction(ctx, func(tx *gorm.DB) error {
		return write(tx, l.clock.Now(), by, e, models.AuditRejected)
	})
}

// LogDone appends an event in its own transaction. It is meant for actions that change nothing else in
// the database.
func (l *Log) LogDone(ctx context.Context, by Actor, e Event) error {
	return l.db.Transaction(ctx, func(tx *gorm.DB) error { return Write(tx, l.clock.Now(), by, e) })
}

func write(tx *gorm.DB, at time.Time, by Actor, e Event, outcome models.AuditOutcome) error {
	row, err := newRow(at, by, e, outcome)
	if err != nil {
		return err
	}
	events, err := postgres.LastStepOf(tx, func() *transactionEvents { return &transactionEvents{} })
	if err != nil {
		return err
	}
	events.rows = append(events.rows, row)
	if outcome == models.AuditDone && by.Form.Key != uuid.Nil && events.claim == nil {
		events.claim = &claim{by.Form, row.At, by.Staff, e}
	}
	return nil
}

func newRow(at time.Time, by Actor, e Event, outcome models.AuditOutcome) (row models.AuditEvent, err error) {
	if by.Name == "" || e.Action == "" {
		return row, errors.New("writing audit event: actor or action is empty")
	}
	row = models.AuditEvent{
		At:         at.UTC().Truncate(time.Microsecond),
		Actor:      by.Name,
		Role:       by.Role,
		Action:     e.Action,
		ObjectKind: e.Kind,
		ObjectID:   e.Object,
		StaffID:    by.StaffID(),
		Reason:     e.Reason,
		Address:    by.Address,
		RequestID:  by.RequestID,
		Outcome:    outcome,
	}
	if e.Partner != uuid.Nil {
		row.PartnerID = &e.Partner
	}
	var failed [2]error
	row.Before, failed[0] = encode(e.Before)
	row.After, failed[1] = encode(e.After)
	return row, errors.Join(failed[:]...)
}

// transactionEvents contains the events of a transaction. It is the transaction's last step.
type transactionEvents struct {
	rows  []models.AuditEvent
	claim *claim // from the first event of a submitted form
}

// Run records the submitted form, and appends the events to the hash chain.
func (t *transactionEvents) Run(tx *gorm.DB) error {
	if t.claim != nil {
		if err := t.claim.store(tx); err != nil {
			return err
		}
	}
	if err := tx.Exec(lockChain).Error; err != nil {
		return err
	}
	last := models.AuditEvent{Hash: make([]byte, sha256.Size)}
	if err := tx.Select("hash").Order("id DESC").Limit(1).Find(&last).Error; err != nil {
		return err
	}
	previous := last.Hash
	for i := range t.rows {
		row := &t.rows[i]
		row.PrevHash = previous
		sum := Hash(row)
		row.Hash = sum[:]
		previous = row.Hash
	}
	return tx.CreateInBatches(t.rows, rowsPerInsert).Error
}

// rowsPerInsert limits the parameters of a statement. Postgres allows 65,535.
const rowsPerInsert = 1000

const lockChain = `SELECT pg_advisory_xact_lock(hashtext('audit chain'))`

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

// DecodeFields decodes a JSON object with the fields of an event. Numbers are decoded as json.Number, so that they keep
// all their digits.
func DecodeFields(text string) (fields map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&fields)
	return fields, err
}

// OfRequest returns the events that a user's request has written in the last two minutes, newest first.
func (l *Log) OfRequest(ctx context.Context, staff uuid.UUID, request string) (events []models.AuditEvent, err error) {
	err = l.db.Gorm.WithContext(ctx).
		Where("staff_id = ? AND request_id = ? AND outcome = ? AND at > ?", staff, request, models.AuditDone,
			l.clock.Now().Add(-2*time.Minute)).
		Order("id DESC").Find(&events).Error
	return events, postgres.Translate(err)
}

// Hash returns the SHA-256 hash of the previous event's hash and all fields of this event. Each
// field is prefixed with its length, so that different events never produce the same input for the
// hash.
func Hash(e *models.AuditEvent) [sha256.Size]byte {
	var b []byte
	add := func(part []byte) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	optional := func(given bool, part string) {
		if !given {
			b = binary.BigEndian.AppendUint64(b, ^uint64(0)) // distinguishes a missing field from an empty one
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
