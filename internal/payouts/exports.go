package payouts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Columns lists the columns of ledger.csv. The column created_by contains the user who made the entry.
var Columns = slices.Concat(StatementColumns, []string{"created_by"})

// StatementColumns lists the columns of a statement's CSV file, which is for the partner. Amounts are in
// major units, signed as in the ledger. Times are in UTC. The column partner contains the partner's slug,
// and partner_id contains the identifier that the partner sends as partnerId.
var StatementColumns = []string{
	"lead_id", "transaction_id", "partner", "partner_id", "kind", "amount", "currency", "occurred_at", "entry", "reference", "run", "run_state", "note", "partner_reference", "sub_id",
}

const exportBatchSize = 2000

// Stream passes every entry that matches the filter to the function each, oldest first. Entries that are
// added while it runs do not appear. The database's time limit for statements applies to each batch of
// entries.
func (s *Service) Stream(ctx context.Context, sc scope.Scope, f Filter, each func(*Entry) error) error {
	tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	// Prefer a plan that returns the first rows soon over one that sorts all rows first.
	if _, err := tx.Exec(ctx, "SET LOCAL cursor_tuple_fraction = 0.001"); err != nil {
		return postgres.Translate(err)
	}
	months, err := s.months(ctx, tx, f)
	if err != nil {
		return postgres.Translate(err)
	}
	batch := make([]Entry, 0, exportBatchSize)
	for _, month := range slices.Backward(months) {
		if err := streamMonth(ctx, tx, f.conditions(sc, month), batch, each); err != nil {
			return err
		}
	}
	return nil
}

// streamMonth passes the entries of one month to the function each, and then releases the locks on the
// month's partitions.
func streamMonth(ctx context.Context, tx pgx.Tx, c *conditions, batch []Entry, each func(*Entry) error) error {
	return postgres.Releasing(ctx, tx, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, "DECLARE entries NO SCROLL CURSOR FOR "+entriesSQL+c.where()+" ORDER BY e.id",
			c.args...); err != nil {
			return postgres.Translate(err)
		}
		for {
			// Read the whole batch before processing it, so that a slow client does not use up the
			// statement timeout.
			if batch, err = fetch(ctx, tx, batch[:0]); err != nil {
				return postgres.Translate(err)
			}
			for i := range batch {
				if err := each(&batch[i]); err != nil {
					return err
				}
			}
			if len(batch) < exportBatchSize {
				return nil
			}
		}
	})
}

func fetch(ctx context.Context, tx pgx.Tx, batch []Entry) ([]Entry, error) {
	rows, err := tx.Query(ctx, fmt.Sprintf("FETCH %d FROM entries", exportBatchSize))
	if err != nil {
		return batch, err
	}
	defer rows.Close()
	for rows.Next() {
		batch = append(batch, Entry{})
		if err := scanEntry(rows, &batch[len(batch)-1]); err != nil {
			return batch, err
		}
	}
	if err := rows.Err(); err != nil {
		return batch, err
	}
	return batch, setLeadTexts(ctx, tx, batch)
}

// CSV writes a header row and the entries that match the filter, and returns the number of entries. Each
// download occupies a database connection, so only a few can run at a time. If too many are running, CSV
// returns an error. Otherwise, it calls the function begin before it writes anything.
func (s *Service) CSV(
	ctx context.Context, sc scope.Scope, f Filter, to io.Writer, begin func() error,
) (rows int64, err error) {
	return s.download(ctx, sc, f, Columns, to, begin)
}

// StatementCSV is like CSV, but writes only the columns for the partner.
func (s *Service) StatementCSV(
	ctx context.Context, sc scope.Scope, f Filter, to io.Writer, begin func() error,
) (rows int64, err error) {
	return s.download(ctx, sc, f, StatementColumns, to, begin)
}

func (s *Service) download(
	ctx context.Context, sc scope.Scope, f Filter, columns []string, to io.Writer, begin func() error,
) (rows int64, err error) {
	end, err := s.db.AcquireDownload()
	if err != nil {
		return 0, err
	}
	defer end()
	if err := begin(); err != nil {
		return 0, err
	}
	return s.writeCSV(ctx, sc, f, columns, to, func(int64) {})
}

// writeCSV is like CSV, but writes only the given columns, which must be the first of Columns, and does not
// limit the number of downloads. After every batch, it calls the function progress with the number of rows
// written.
func (s *Service) writeCSV(
	ctx context.Context, sc scope.Scope, f Filter, columns []string, to io.Writer, progress func(rows int64),
) (rows int64, err error) {
	w, err := csvcell.NewWriter(to, columns, "amount", "entry")
	if err != nil {
		return 0, err
	}
	record := make([]string, len(Columns))
	err = s.Stream(ctx, sc, f, func(e *Entry) error {
		if rows++; rows%exportBatchSize == 0 {
			progress(rows)
		}
		return w.Write(e.record(record)[:len(columns)])
	})
	if err == nil { // do not flush after an error, so that an error page can still be sent
		err = w.Flush()
	}
	return rows, err
}

// record returns the entry as a row of the CSV file. It reuses the memory of the slice into.
func (e *Entry) record(into []string) []string {
	lead, run := "", ""
	if e.LeadID != nil {
		lead = id.Format(id.Lead, *e.LeadID)
	}
	if e.Run != uuid.Nil {
		run = RunID(e.Run)
	}
	return append(into[:0],
		lead, e.TransactionID, e.Partner, e.Identifier,
		string(e.Kind), e.Amount().Decimal(), e.Currency,
		e.OccurredAt.Format(TimeLayout), strconv.FormatInt(e.ID, 10), e.Reference, run, string(e.RunState), e.Note,
		e.PartnerReference, e.SubID, e.CreatedBy)
}

// TimeLayout is the layout of exported times, in UTC.
const TimeLayout = "2006-01-02T15:04:05.000Z"

type exportRequest struct {
	Filter
	All      bool        `json:"all,omitempty"`
	Partners []uuid.UUID `json:"partners,omitempty"`
}

func (w exportRequest) scope() scope.Scope {
	if w.All {
		return scope.Everywhere
	}
	return scope.Partners(w.Partners...)
}

// RequestExport enqueues a job that writes the entries that match the filter to a file.
func (s *Service) RequestExport(ctx context.Context, sc scope.Scope, f Filter) (e models.Export, err error) {
	if s.by.Staff == uuid.Nil {
		return e, errExportNeedsUser
	}
	filter, err := json.Marshal(exportRequest{Filter: f, All: sc.All(), Partners: sc.IDs()})
	if err != nil {
		return e, err
	}
	now := s.clock.Now()
	e = models.Export{ID: id.New(now), StaffID: s.by.Staff, Filter: string(filter), CreatedAt: now}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&e).Error; err != nil {
			return err
		}
		if _, err := s.queue.Enqueue(tx, s.by, models.JobExport, e.ID, f.Partner); err != nil {
			return err
		}
		return s.auditChange(tx, "ledger.export", "export", id.Format(id.Export, e.ID), f.Partner, f.Describe(), "")
	})
	return e, err
}

func (s *Service) writeExport(ctx context.Context, w *jobs.Attempt) error {
	var e models.Export
	if err := s.db.Gorm.WithContext(ctx).Where("id = ?", w.ObjectID).Take(&e).Error; err != nil {
		return err
	}
	var want exportRequest
	if err := json.Unmarshal([]byte(e.Filter), &want); err != nil {
		return err
	}
	file, err := s.files.Create(ctx, s.clock.Now().Add(s.policy.ExportRetention))
	if err != nil {
		return err
	}
	var rows int64
	setRows := func(tx *gorm.DB) error {
		q := tx.Model(&models.Export{}).Where("id = ? AND file_id = ?", e.ID, file.ID).Update("rows", rows)
		if q.Error == nil && q.RowsAffected == 0 {
			return errFileDeleted
		}
		return q.Error
	}
	err = w.Step(ctx, func(tx *gorm.DB) error { return attachFile(tx, e.ID, file.ID) })
	if err == nil {
		rows, err = s.writeCSV(ctx, want.scope(), want.Filter, Columns, file,
			func(rows int64) { w.Progress("writing entries", rows, 0) })
	}
	if err == nil {
		err = w.Step(ctx, setRows) // before the file is complete, because it can be downloaded from then on
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		s.files.Delete(context.WithoutCancel(ctx), file.ID) //nolint:errcheck // the file expires if this fails
		return err
	}
	w.Progress("writing entries", rows, rows)
	// Do not delete the file if Commit returns an error, because the commit may have succeeded
	// nevertheless. If it did not, the file expires unused.
	return w.Commit(ctx, setRows)
}

// attachFile sets the file of an export before the entries are read. If a text in the entries is erased after that,
// the file is deleted, even if it is incomplete, and the job writes a new one. An erasure that has already looked for
// files holds the lock until it has ended.
func attachFile(tx *gorm.DB, export, file uuid.UUID) error {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('ledger exports'))`).Error; err != nil {
		return err
	}
	return tx.Model(&models.Export{}).Where("id = ?", export).Update("file_id", file).Error
}

var (
	errFileDeleted     = errors.New("the file was deleted, because a text that it contains was erased") // the job is repeated
	errNoExport        = apperr.New(apperr.NotFound, "export", "Not Found")
	errExportNeedsUser = apperr.New(apperr.Forbidden, "person",
		"Only a signed-in user can start an export. Start it in the console.")
)

// Export returns one of the user's own exports. Users cannot see each other's exports. FileID is nil until the file is
// complete.
func (s *Service) Export(ctx context.Context, export uuid.UUID) (e models.Export, err error) {
	q := s.db.Gorm.WithContext(ctx).
		Select("id, staff_id, filter, rows, created_at, (SELECT f.id FROM files f WHERE f.id = file_id AND f.complete) AS file_id").
		Where("id = ? AND staff_id = ?", export, s.by.Staff).Limit(1).Find(&e)
	if q.Error == nil && (q.RowsAffected == 0 || s.by.Staff == uuid.Nil) {
		return models.Export{}, errNoExport
	}
	return e, postgres.Translate(q.Error)
}

// ExportAvailable reports whether the file of an export is ready and has not expired.
func (s *Service) ExportAvailable(e models.Export) bool {
	return e.FileID != nil && s.clock.Now().Before(e.CreatedAt.Add(s.policy.ExportRetention))
}

// OpenExport opens an export's file. It returns a NotFound error if the user's current scope does
// not include everything that the export contains.
func (s *Service) OpenExport(ctx context.Context, sc scope.Scope, e models.Export) (io.ReadCloser, error) {
	var want exportRequest
	if err := json.Unmarshal([]byte(e.Filter), &want); err != nil {
		return nil, err
	}
	if want.All && !sc.All() {
		return nil, errNoExport
	}
	for _, partner := range want.Partners {
		if !sc.Allows(partner) {
			return nil, errNoExport
		}
	}
	if e.FileID == nil {
		return nil, apperr.New(apperr.Conflict, "export_unfinished",
			"This export is not ready or has expired. Wait for it, or export the entries again from the ledger.")
	}
	return s.files.Open(ctx, *e.FileID)
}

// DeleteExpiredExports deletes the exports whose files have expired, and returns how many it deleted.
func (s *Service) DeleteExpiredExports(ctx context.Context) (int64, error) {
	return postgres.InBatches(ctx, s.db.Pool,
		`DELETE FROM exports WHERE id IN (SELECT id FROM exports WHERE created_at < $1 LIMIT $2)`,
		s.clock.Now().Add(-s.policy.ExportRetention))
}
