// Package payouts reads the ledger and manages returns, adjustments, payout runs with their
// statements, and exports.
//
// Other packages define ledger entries and their signs (ledger), store leads and their accruals
// (leads), report totals by day and partner (reporting), check permissions (authz, admin), and
// enqueue, resume and cancel jobs (jobs).
//
// All times come from the service's clock, except received_at, which intake sets:
//
//   - occurred_at is the lead's received_at for an accrual, the time of the decision for a return,
//     and the time of creation for an adjustment. For a payment, it is the time when a user marks
//     the run as paid, which can differ from the day when the bank pays.
//   - A run claims all unclaimed entries that occurred before its cutoff. Some of them can be older than
//     the cutoff of an earlier run. The earlier run did not see them, because their database
//     transactions had not been committed yet.
//   - Lists of entries are ordered by the UTC month of occurred_at, and within a month by id.
//   - created_at is the time when the preparer started the run. prepared_at is the time when its job
//     finished.
//   - A return can be requested until Policy.ReturnWindow has passed since the lead's received_at.
//   - An export is available until Policy.ExportRetention has passed since its created_at.
//
// [models.RunState] lists the states of a run. BeginRun, the job (prepare, finish, undoRun),
// ApproveRun, PayRun and CancelRun change the state.
//
// Invariants that the schema enforces:
//
//   - Ledger entries, statements and payees never change.
//   - Paid and cancelled runs never change.
//   - An entry belongs to at most one run, and a currency has at most one open run.
//   - The user who approves a run is not the one who prepared it.
//   - The user who approves an adjustment above a limit is not the one who requested it.
//   - A lead has at most one return that is open or accepted.
//
// Invariants that this package enforces:
//
//   - The sums of a statement exactly match the entries that the run claimed or held for the
//     account, because one SQL statement adds up the entries and claims them.
//   - For each account, the entries of a paid run, including the payment, sum to zero.
//   - A cancelled run has no claims.
package payouts

import (
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Policy is the configuration of payouts.
type Policy struct {
	ReturnWindow    time.Duration            // how long after its delivery a lead can be returned
	ExportRetention time.Duration            // how long an exported file is available
	ApprovalLimits  map[money.Currency]int64 // see ApprovalLimit
}

// Service manages the ledger, returns, payout runs and exports. By selects the user on whose behalf
// it acts. Without By, it acts as the service itself.
type Service struct {
	db     *postgres.DB
	clock  clock.Clock
	queue  *jobs.Queue
	files  *blobstore.Store
	policy Policy
	atOnce int // maximum number of accounts whose entries a run claims in one transaction
	by     audit.Actor
}

// NewService returns a Service and registers its job handlers with the queue.
func NewService(db *postgres.DB, c clock.Clock, queue *jobs.Queue, blobs *blobstore.Store, p Policy) *Service {
	s := &Service{
		db: db.WithConstraints(constraints()), clock: c, queue: queue, files: blobs,
		policy: p, atOnce: accountBatchSize, by: audit.Service,
	}
	queue.Handle(models.JobPayoutRun, jobs.Handler{
		Object:      id.Payout,
		Do:          s.prepare,
		Undo:        s.undoRun,
		Constraints: constraints(),
	})
	queue.Handle(models.JobExport, jobs.Handler{Object: id.Export, Do: s.writeExport, Constraints: constraints()})
	return s
}

// By returns a copy of the service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	mine := *s
	mine.by = actor
	return &mine
}

// Policy returns the configuration of payouts.
func (s *Service) Policy() Policy { return s.policy }

// auditChange adds an audit event to the transaction.
func (s *Service) auditChange(
	tx *gorm.DB, action, kind, object string, partner uuid.UUID, after map[string]any, why string,
) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
		Action: action, Kind: kind, Object: object, Partner: partner, After: after, Reason: why,
	})
}

// RunID formats the ID of a run as users see it, such as po_….
func RunID(run uuid.UUID) string { return id.Format(id.Payout, run) }

// extendStatementTimeout raises the time limit for statements in a job's transaction. The default limit
// is meant for requests.
func extendStatementTimeout(tx *gorm.DB) error {
	return tx.Exec(`SET LOCAL statement_timeout = '15min'`).Error
}
