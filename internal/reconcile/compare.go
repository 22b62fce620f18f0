package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errStale = apperr.New(apperr.Conflict, "stale",
		"This reconciliation has changed since you opened it. Reload the page.")
	errComparing = apperr.New(apperr.Conflict, "comparing",
		"A comparison is running. Wait until it ends, or cancel it.")
	errEnded = apperr.New(apperr.Conflict, "ended",
		"This reconciliation has been saved or discarded and can no longer be changed.")
	errNoFile = apperr.New(apperr.Conflict, "file_gone", "The file has expired. Upload it again.")
)

// Compare enqueues a job that compares the file with the ledger. The result is not final until Save is
// called. The parameters from and to are the first and last days of the period.
//
// If the mapping or the period is not valid, Compare returns an apperr.Error that lists the invalid
// fields.
func (s *Service) Compare(
	ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int, m Mapping, from, to time.Time,
) error {
	return s.begin(ctx, sc, reconciliation, version, m, from, to, func(tx *gorm.DB, r models.Reconciliation) error {
		_, err := s.queue.Enqueue(tx, s.by, models.JobReconciliation, r.ID, r.PartnerID)
		return err
	})
}

// CompareNow is like Compare, but runs the comparison itself and returns when the comparison has ended.
// The command line uses it.
func (s *Service) CompareNow(
	ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int, m Mapping, from, to time.Time,
	progress func(phase string, done, total int64),
) error {
	err := s.begin(ctx, sc, reconciliation, version, m, from, to,
		func(*gorm.DB, models.Reconciliation) error { return nil })
	if err != nil {
		return err
	}
	alone := jobs.NewInlineAttempt(s.db, s.clock, models.Job{Kind: models.JobReconciliation, ObjectID: reconciliation})
	if err = s.runComparison(ctx, alone, progress); err != nil {
		err = errors.Join(err, s.db.Transaction(context.WithoutCancel(ctx), func(tx *gorm.DB) error {
			return s.undo(tx.Where("row_version = ?", version+1), alone.Job) // do not undo a newer comparison
		}))
	}
	return err
}

// begin stores the mapping and the period of a new comparison, and calls the function enqueue in the
// same transaction.
func (s *Service) begin(
	ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int, m Mapping, from, to time.Time,
	enqueue func(*gorm.DB, models.Reconciliation) error,
) error {
	period := map[string]any{"from": from.Format(time.DateOnly), "to": to.Format(time.DateOnly)}
	return s.update(ctx, sc, reconciliation, version, "reconciliation.compare", period, func(tx *gorm.DB, r models.Reconciliation) (map[string]any, error) {
		var p Profile
		if err := json.Unmarshal([]byte(r.Profile), &p); err != nil {
			return nil, err
		}
		if err := m.check(p, from, to); err != nil {
			return nil, err
		}
		if r.FileID == nil {
			return nil, errNoFile
		}
		mapping, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		if err := enqueue(tx, r); err != nil {
			return nil, err
		}
		return map[string]any{
			"state":       models.ReconciliationComparing,
			"mapping":     string(mapping),
			"period_from": day(from),
			"period_to":   day(to),
			"result":      nil,
			"as_of":       nil,
			"compared_at": nil,
		}, nil
	})
}

func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// update updates a reconciliation with the column values that do returns. It
// returns an error if the reconciliation has been saved or discarded, is being compared, or no longer
// has the given row version.
func (s *Service) update(
	ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int, action string, after map[string]any,
	do func(tx *gorm.DB, r models.Reconciliation) (columns map[string]any, err error),
) error {
	// Check before the transaction, because reading the job can block.
	busy, err := s.busy(ctx, reconciliation)
	if err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var r models.Reconciliation
		q := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", reconciliation).Limit(1).Find(&r)
		switch {
		case q.Error != nil:
			return q.Error
		case q.RowsAffected == 0 || !sc.Allows(r.PartnerID):
			return errNotFound
		case r.State == models.ReconciliationSaved || r.State == models.ReconciliationDiscarded:
			return errEnded
		case r.State == models.ReconciliationComparing && busy:
			return errComparing
		case r.RowVersion != version:
			return errStale
		}
		columns, err := do(tx, r)
		if err != nil {
			return err
		}
		columns["row_version"] = r.RowVersion + 1
		if err := tx.Model(&models.Reconciliation{}).Where("id = ?", r.ID).Updates(columns).Error; err != nil {
			return err
		}
		return s.auditChange(tx, action, r, after)
	})
}

// busy reports whether a comparison is running, either as a job or on the command line. If no
// comparison is running although the reconciliation is in the state "comparing", the command that
// compared it has crashed.
func (s *Service) busy(ctx context.Context, reconciliation uuid.UUID) (bool, error) {
	w, found, err := s.queue.Latest(ctx, reconciliation)
	if err != nil || found && (w.State == models.JobWaiting || w.State == models.JobRunning) {
		return err == nil, err
	}
	var free bool
	err = s.db.Pool.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock_shared(`+lockOf+`)`, reconciliation).Scan(&free)
	return !free, postgres.Translate(err)
}

// lockOf is an SQL expression for the key of an advisory lock. A command holds this lock while it
// compares the reconciliation with the ID $1. Postgres releases the lock if the command crashes.
const lockOf = `hashtextextended('reconciliation ' || $1::uuid, 0)`

// GetLive is like Get, but also detects that a comparison on the command line has crashed. In that
// case, the reconciliation that it returns is in the state "uploaded", so that the file can be compared
// again.
func (s *Service) GetLive(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID) (Reconciliation, error) {
	r, err := s.Get(ctx, sc, reconciliation)
	if err != nil || r.State != models.ReconciliationComparing {
		return r, err
	}
	busy, err := s.busy(ctx, reconciliation)
	if err != nil || busy {
		return r, err
	}
	now, err := s.Get(ctx, sc, reconciliation) // the comparison may have ended since the first read
	if now.RowVersion == r.RowVersion && now.State == r.State {
		now.State = models.ReconciliationUploaded
	}
	return now, err
}

func (m Mapping) check(p Profile, from, to time.Time) error {
	var wrong []apperr.Field
	reject := func(field string, kind apperr.FieldCode, message string) {
		wrong = append(wrong, apperr.Field{Code: kind, Path: []string{field}, Message: message})
	}
	column := func(field, name, missing string) bool {
		if name == "" {
			reject(field, apperr.Required, missing)
			return false
		}
		if _, ok := p.Column(name); !ok {
			reject(field, apperr.InvalidValue, "The file has no column with this name. Choose another column.")
			return false
		}
		return true
	}
	column("lead_id", m.LeadID, "Choose the lead ID column.")
	if column("amount", m.Amount, "Choose the amount column.") && m.Amount == m.LeadID {
		reject("amount", apperr.FieldClash, "This is the lead ID column. Choose another column.")
	}
	switch {
	case m.Currency != "" && m.Fixed != 0:
		reject("fixed", apperr.FieldClash, "Choose a currency column or one currency for all rows, not both.")
	case m.Currency != "":
		if column("currency", m.Currency, "") && (m.Currency == m.LeadID || m.Currency == m.Amount) {
			reject("currency", apperr.FieldClash,
				"This is the lead ID column or the amount column. Choose another column, or one currency for all rows.")
		}
	case m.Fixed == 0:
		reject("currency", apperr.Required, "Choose a currency column, or one currency for all rows.")
	case !m.Fixed.Valid():
		reject("fixed", apperr.InvalidValue, "Choose GBP, EUR, USD, CAD or AUD.")
	}
	if !slices.Contains(NumberForms, m.Numbers) {
		reject("numbers", apperr.Required, "Choose the amount format: 1,234.56 or 1.234,56.")
	}
	if m.Date != "" && column("date", m.Date, "") && !slices.Contains(DateForms, m.Dates) {
		reject("dates", apperr.Required, "Choose the date format: year, day or month first.")
	}
	if m.Coverage != "" && !slices.Contains(Coverages, m.Coverage) {
		reject("coverage", apperr.InvalidValue, "Choose the coverage: file or all.")
	}
	if from.IsZero() {
		reject("from", apperr.Required, "Enter the first day of the period.")
	}
	switch {
	case to.IsZero():
		reject("to", apperr.Required, "Enter the last day of the period.")
	case to.Before(from):
		reject("to", apperr.InvalidValue, "The last day is before the first day. Change one of them.")
	}
	if len(wrong) == 0 {
		return nil
	}
	return apperr.New(apperr.Invalid, "mapping", wrong[0].Message).WithFields(wrong...)
}

// undo sets a reconciliation back to the state "uploaded" when its comparison has failed or has been
// cancelled. There are no lines to delete, because a comparison writes all lines in its last
// transaction.
func (s *Service) undo(tx *gorm.DB, w models.Job) error {
	return tx.Model(&models.Reconciliation{}).Where("id = ? AND state = 'comparing'", w.ObjectID).
		Updates(map[string]any{
			"state":       models.ReconciliationUploaded,
			"row_version": gorm.Expr("row_version + 1"),
		}).Error
}
