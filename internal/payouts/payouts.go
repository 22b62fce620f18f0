// Package payouts owns what happens to money after a lead has earned it: the ledger as
// people read it, returns and adjustments, payout runs with their statements, and
// exports of it all.
//
// It does not own what a ledger entry is and its sign (ledger), accruals, which are stored
// with their leads (leads), totals by day and partner (reporting), permissions (authz,
// admin), or how jobs are queued, resumed and cancelled (jobs).
//
// Its times, all from the service's clock but received_at, which is intake's:
//
//   - The occurred_at of an accrual is its lead's received_at, of a return its decision, of
//     an adjustment its creation, and of a payment the moment that a user marks the run as
//     paid, whatever day the bank pays.
//   - A run takes the entries before its cutoff that no run has claimed. They include
//     old ones that earlier runs could not see because their transactions had not ended.
//     The order of entries is their id.
//   - A run's made_at is when its preparer started it, and prepared_at when its job
//     finished.
//   - A lead can be returned for Policy.ReturnWindow after its received_at. What counts is
//     when the return is requested.
//   - An export is available for ExportRetention after its made_at.
//
// [models.RunState] lists the states of a run and what changes them: BeginRun, the job
// (prepare, finish, undoRun), ApproveRun, PayRun and CancelRun.
//
// Invariants that the schema holds:
//
//   - Ledger entries, statements and payees never change.
//   - Paid and cancelled runs never change.
//   - An entry belongs to at most one run, and a currency has at most one open run.
//   - The user who approves a run is not the one who prepared it.
//   - A lead has at most one return that is open or accepted.
//
// Invariants that this package holds:
//
//   - A statement is the sum of exactly those entries that the run claimed or held for
//     the account: one SQL statement adds up and claims.
//   - The entries of a paid run, payments included, sum to zero for each account.
//   - A cancelled run claims no entries.
package payouts

import (
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/blobstore"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// Policy is what the platform's owner settles.
type Policy struct {
	ReturnWindow time.Duration // how long after its delivery a lead can be returned
}

// Service does everything in the name of somebody.
type Service struct {
	db     *postgres.DB
	clock  clock.Clock
	queue  *jobs.Queue
	files  *blobstore.Store
	policy Policy
	atOnce int // accounts that a run claims in a transaction at most
	by     audit.Actor
}

// NewService handles the kinds of work that are its own at the queue.
func NewService(db *postgres.DB, c clock.Clock, queue *jobs.Queue, blobs *blobstore.Store, p Policy) *Service {
	s := &Service{
		db: db.WithConstraints(constraints()), clock: c, queue: queue, files: blobs,
		policy: p, atOnce: accountBatchSize, by: audit.Service,
	}
	queue.Handle(models.WorkPayoutRun, jobs.Handler{
		Object:      id.Payout,
		Do:          s.prepare,
		Undo:        s.undoRun,
		Constraints: constraints(),
	})
	queue.Handle(models.WorkExport, jobs.Handler{Object: id.Export, Do: s.writeExport, Constraints: constraints()})
	return s
}

// By is the service on behalf of somebody.
func (s *Service) By(who audit.Actor) *Service {
	mine := *s
	mine.by = who
	return &mine
}

// Policy is the one in force.
func (s *Service) Policy() Policy { return s.policy }

// auditChange writes the change's audit event, as the last statement of its transaction.
func (s *Service) auditChange(
	tx *gorm.DB, action, kind, object string, partner uuid.UUID, after map[string]any, why string,
) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
		Action: action, Kind: kind, Object: object, Partner: partner, After: after, Reason: why,
	})
}

// RunID is how a run is named to people.
func RunID(run uuid.UUID) string { return id.Format(id.Payout, run) }

// extendStatementTimeout lets a statement of a piece of work take its time: the pool's time-out
// is for what a person or a partner waits for.
func extendStatementTimeout(tx *gorm.DB) error {
	return tx.Exec(`SET LOCAL statement_timeout = '15min'`).Error
}
