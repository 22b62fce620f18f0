package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// listSQL creates a temporary table for the rows of the file. Postgres drops the table at the end of the
// transaction.
const listSQL = `CREATE TEMP TABLE list (line integer, file_row integer, lead_id uuid, minor bigint, currency char(3), problem text, reference text) ON COMMIT DROP`

// findReferencesSQL sets the leads of rows with a partner reference. References need not be unique. It looks for leads
// whose ids are between @first and @end. The references are not stored.
const findReferencesSQL = `
WITH found AS (
	SELECT partner_reference AS reference, min(id::text)::uuid AS lead_id, count(*) AS leads FROM leads
	WHERE partner_id = @partner AND id >= @first AND id < @end AND partner_reference <> ''
	AND partner_reference IN (SELECT reference FROM list WHERE reference <> '') GROUP BY 1
), resolved AS (
	SELECT line, CASE WHEN leads = 1 THEN found.lead_id END AS lead_id,
		CASE WHEN found.lead_id IS NULL THEN '` + problemLeadPrefix + `' WHEN leads > 1 THEN '` + problemReference + `' ELSE problem END AS problem
	FROM list LEFT JOIN found USING (reference) WHERE reference <> ''
)
UPDATE list SET lead_id = r.lead_id, problem = r.problem, minor = CASE r.problem WHEN '' THEN minor END, currency = CASE r.problem WHEN '' THEN currency END
FROM resolved r WHERE r.line = list.line`

// referencePeriod is how long before or after the compared period a lead may have been received if it is to be found by
// its reference.
const referencePeriod = 31 * 24 * time.Hour

// compareSQL writes one line for each row of the file, and one for each of the period's leads that is
// not in the file. It returns the totals. It is a single statement, so that all of it sees the same
// state of the ledger.
//
// If several rows have the same lead, a row with the same amount as an earlier one is a duplicate, and so is a row
// whose currency differs from that of the lead's first row. The amounts of the others are added, such as a payout and
// its reversal, and the sum is compared in the line of the first row.
//
// A lead that is not in the file is "missing" if the file covers it, and "left_out" otherwise. With
// FullCoverage, the file covers all leads. Otherwise, it covers a lead if it covers both the lead's
// currency and the lead's account. A file covers the currencies in its readable rows, or all currencies
// if it has no readable rows. It covers the accounts of the leads in these rows, or all accounts if none
// of these leads belongs to the partner.
//
// The subquery "ledger" is not materialized, because that would read the leads of all partners. Instead,
// each use of it reads only the leads in the file, or the partner's leads in the period.
//
// The occurred_at of an accrual is the time when the lead was received. Sandbox leads have no accrual.
// All accruals that are needed occurred between @first and @last, and the other entries of their leads
// occurred after @first. These limits let Postgres skip the other partitions of the ledger.
const compareSQL = `
WITH others AS MATERIALIZED (
	SELECT lead_id, currency, sum(amount_minor)::bigint AS minor FROM ledger_entries
	WHERE kind <> 'accrual' AND lead_id IS NOT NULL AND partner_id = @partner AND occurred_at >= @first
	GROUP BY lead_id, currency
), ledger AS NOT MATERIALIZED (
	SELECT a.lead_id, a.partner_id, a.account_id, a.currency, a.amount_minor + coalesce(o.minor, 0) AS minor, a.occurred_at AS received_at
	FROM ledger_entries a LEFT JOIN others o ON o.lead_id = a.lead_id AND o.currency = a.currency
	WHERE a.kind = 'accrual' AND a.occurred_at >= @first AND a.occurred_at < @last
), repeated AS (
	SELECT *, min(file_row) OVER (PARTITION BY lead_id) AS lead_row,
		first_value(currency) OVER (PARTITION BY lead_id ORDER BY file_row) AS lead_currency,
		min(file_row) OVER (PARTITION BY lead_id, currency, minor) AS same_row
	FROM list WHERE problem = ''
		AND lead_id IN (SELECT lead_id FROM list WHERE problem = '' GROUP BY lead_id HAVING count(*) > 1)
), parts AS (
	SELECT line, CASE WHEN currency = lead_currency AND same_row < file_row THEN same_row ELSE lead_row END AS first_row,
		CASE WHEN currency <> lead_currency OR same_row < file_row THEN 'duplicate'
			WHEN lead_row < file_row THEN 'addend' ELSE 'sum' END AS part,
		sum(minor) FILTER (WHERE currency = lead_currency AND same_row = file_row) OVER (PARTITION BY lead_id) AS minor,
		count(*) FILTER (WHERE currency = lead_currency AND same_row = file_row) OVER (PARTITION BY lead_id) AS added
	FROM repeated
), rows AS (
	SELECT l.line, l.file_row, l.lead_id, l.currency, l.problem, CASE part WHEN 'sum' THEN parts.minor ELSE l.minor END AS minor,
		parts.first_row, part, added
	FROM list l LEFT JOIN parts USING (line)
), judged AS (
	SELECT r.*, ledger.partner_id, ledger.account_id, ledger.currency AS ledger_currency, ledger.minor AS lead_minor, ledger.received_at,
		CASE WHEN r.problem = '` + problemLeadless + `' OR part = 'addend' THEN 'not_compared'
			WHEN r.problem <> '' THEN 'unreadable'
			WHEN part = 'duplicate' THEN 'duplicate'
			WHEN ledger.partner_id IS DISTINCT FROM @partner THEN 'unknown'
			WHEN ledger.received_at < @from OR ledger.received_at >= @until THEN 'outside_period'
			WHEN ledger.currency <> r.currency OR ledger.minor <> r.minor THEN 'amount_differs'
			ELSE 'matched' END AS finding
	FROM rows r LEFT JOIN ledger ON ledger.lead_id = r.lead_id AND r.problem = ''
), written AS (
	INSERT INTO reconciliation_lines (reconciliation_id, line, file_row, finding, problem, lead_id, account_id, other_partner, first_row,
		file_currency, file_minor, ledger_currency, ledger_minor, received_at)
	SELECT @id::uuid, line, file_row, finding, CASE WHEN finding = 'amount_differs'
	AND ledger_currency <> currency THEN 'currency'
			WHEN part = 'addend' THEN '` + problemAddend + `' WHEN part = 'sum' AND added > 1 THEN '` + ProblemSum + `' ELSE problem END, lead_id,
		CASE WHEN known THEN account_id END, CASE WHEN finding = 'unknown' THEN partner_id END,
		CASE WHEN part IN ('duplicate', 'addend') THEN first_row END,
		currency, minor, CASE WHEN known THEN ledger_currency END, CASE WHEN known THEN lead_minor END, CASE WHEN known THEN received_at END
	FROM (SELECT *, finding IN ('matched', 'amount_differs', 'outside_period') AS known FROM judged) AS j
	RETURNING finding, account_id, file_currency AS currency, ledger_currency, file_minor, ledger_minor
), findings AS MATERIALIZED (
	SELECT finding, account_id, currency, ledger_currency, count(*) AS lines, sum(file_minor) AS file_total, sum(ledger_minor) AS ledger_total
	FROM written GROUP BY finding, account_id, currency, ledger_currency
), covered AS (
	SELECT DISTINCT currency FROM findings WHERE currency IS NOT NULL AND finding <> 'not_compared'
), unlisted AS MATERIALIZED ( -- the period's leads without a readable row
	SELECT ledger.lead_id, account_id, currency, minor, received_at, CASE
			WHEN unreadable.lead_id IS NOT NULL THEN 'named'
			WHEN @everything THEN 'missing'
			WHEN currency NOT IN (SELECT currency FROM covered)
			AND EXISTS (SELECT FROM covered) THEN '` + problemOtherCurrency + `'
			WHEN account_id NOT IN (SELECT account_id FROM findings WHERE account_id IS NOT NULL)
			AND EXISTS (SELECT FROM findings WHERE account_id IS NOT NULL) THEN '` + problemOtherAccount + `'
			ELSE 'missing' END AS outcome
	FROM ledger LEFT JOIN (SELECT DISTINCT lead_id FROM list WHERE problem <> '') AS unreadable USING (lead_id)
	WHERE partner_id = @partner AND received_at >= @from AND received_at < @until
		AND NOT EXISTS (SELECT FROM list l WHERE l.lead_id = ledger.lead_id AND l.problem = '')
), unlisted_lines AS (
	INSERT INTO reconciliation_lines (reconciliation_id, line, finding, problem, lead_id, account_id, ledger_currency, ledger_minor, received_at)
	SELECT @id::uuid, @rows::integer + (row_number() OVER (ORDER BY outcome <> 'missing', received_at, lead_id))::integer,
		CASE outcome WHEN 'missing' THEN 'missing' ELSE 'left_out' END, CASE outcome WHEN 'missing' THEN '' ELSE outcome END,
		lead_id, account_id, currency, minor, received_at
	FROM unlisted WHERE outcome <> 'named'
)
SELECT finding, NULL::uuid, coalesce(currency, ''), coalesce(ledger_currency, ''), sum(lines)::bigint, coalesce(sum(file_total), 0)::bigint, coalesce(sum(ledger_total), 0)::bigint
FROM findings GROUP BY finding, currency, ledger_currency
UNION ALL
SELECT outcome, CASE outcome WHEN '` + problemOtherAccount + `' THEN account_id END, '', currency, count(*), 0, sum(minor)::bigint
FROM unlisted GROUP BY 1, 2, 4`

// accrualsSQL returns a period that contains the accruals of all leads in the file and of all leads
// received in the compared period. It relies on the times in the IDs of leads, which are within minutes
// of the accruals. It ignores IDs whose time is outside the ledger's partitions, because no lead has
// such an ID.
const accrualsSQL = `
WITH whole AS MATERIALIZED (
	SELECT min(starts_at) AS starts_at, max(ends_at) AS ends_at FROM partitions WHERE parent = 'ledger_entries'
), listed AS MATERIALIZED (
	SELECT lead_id FROM list, whole WHERE problem = '' AND lead_id >= first_id(starts_at - interval '1 day')
	AND lead_id < first_id(ends_at)
)
SELECT least(@from, (SELECT partition_time(lead_id::text) - interval '1 day' FROM listed ORDER BY lead_id LIMIT 1)),
	greatest(@until, (SELECT partition_time(lead_id::text) + interval '1 day' FROM listed ORDER BY lead_id DESC LIMIT 1))`

func (s *Service) compare(ctx context.Context, w *jobs.Attempt) error {
	return s.runComparison(ctx, w, func(string, int64, int64) {})
}

// runComparison compares a file with the ledger. The lines and the result are written in one
// transaction, so a failed comparison leaves nothing behind.
func (s *Service) runComparison(
	ctx context.Context, w *jobs.Attempt, progress func(phase string, done, total int64),
) error {
	began := s.clock.Now()
	r, err := s.Get(ctx, scope.System, w.ObjectID) // the scope was checked when the job was enqueued
	if err != nil {
		return err
	}
	if r.State != models.ReconciliationComparing || r.FileID == nil {
		return errStale
	}
	file, err := s.files.Open(ctx, *r.FileID)
	if err != nil {
		return err
	}
	defer file.Close()
	list, err := newReader(file, *r.Mapping)
	if err != nil {
		return err
	}
	report := func(phase string, done, total int64) {
		w.Progress(phase, done, total)
		progress(phase, done, total)
	}
	err = s.deleteLines(ctx, r.ID, func(drop func(*gorm.DB) error) error {
		report("deleting the previous result", 0, 0)
		return w.Step(ctx, drop)
	})
	if err != nil {
		return err
	}
	tx, err := s.db.Pool.Begin(ctx)
	if err != nil {
		return postgres.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if w.RiverJobID == nil { // there is no job, so busy checks this lock instead
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(`+lockOf+`)`, r.ID); err != nil {
			return postgres.Translate(err)
		}
	}
	if err := copyList(ctx, tx, list, r, report); err != nil {
		return err
	}
	report("comparing with the ledger", 0, 0) // a single statement, so no progress can be reported
	result, asOf, err := s.classifyLines(ctx, tx, r)
	if err != nil {
		return err
	}
	return w.CommitPgx(ctx, tx, func() error { return s.storeComparison(ctx, tx, r, result, asOf, began) })
}

func copyList(
	ctx context.Context, tx pgx.Tx, list *reader, r Reconciliation, report func(phase string, done, total int64),
) error {
	for _, sql := range []string{
		`SET LOCAL statement_timeout = '30min'`,
		// More than the default of 4 MB is possible, because only a few comparisons run at a time.
		`SET LOCAL work_mem = '64MB'`,
		listSQL,
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return postgres.Translate(err)
		}
	}
	source := &listSource{from: list, report: func(rows int64) { report("reading rows", rows, int64(r.Profile.Rows)) }}
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{"list"}, listColumns, source); err != nil {
		return postgres.Translate(cmp.Or(source.Err(), err))
	}
	if source.refs {
		first, end := quote.IDRange(r.PeriodFrom.Add(-referencePeriod), r.PeriodTo.Add(referencePeriod))
		args := pgx.NamedArgs{"partner": r.PartnerID, "first": first, "end": end}
		if _, err := tx.Exec(ctx, findReferencesSQL, postgres.PlanEachTime, args); err != nil {
			return postgres.Translate(err)
		}
	}
	_, err := tx.Exec(ctx, `ANALYZE list`)
	return postgres.Translate(err)
}

// classifyLines writes a line with a finding for each row and for each missing lead, and returns the
// totals.
func (s *Service) classifyLines(
	ctx context.Context, tx pgx.Tx, r Reconciliation,
) (result Result, asOf time.Time, err error) {
	asOf = s.clock.Now()
	everything := r.Mapping.Coverage == FullCoverage
	from, until := *r.PeriodFrom, r.PeriodTo.AddDate(0, 0, 1)
	var first, last time.Time
	if err := tx.QueryRow(ctx, accrualsSQL, pgx.NamedArgs{"from": from, "until": until}).Scan(&first, &last); err != nil {
		return result, asOf, postgres.Translate(err)
	}
	rows, err := tx.Query(ctx, compareSQL, postgres.PlanEachTime, pgx.NamedArgs{
		"id":         r.ID,
		"partner":    r.PartnerID,
		"from":       from,
		"until":      until,
		"first":      first,
		"last":       last,
		"rows":       r.Profile.Rows,
		"everything": everything,
	})
	if err != nil {
		return result, asOf, constraints().Translate(err)
	}
	sums := newSums()
	var p resultRow
	if _, err = pgx.ForEachRow(rows, []any{&p.outcome, &p.account, &p.fileCurrency, &p.ledgerCurrency, &p.lines, &p.fileAmount, &p.ledgerAmount}, func() error {
		sums.add(p)
		return nil
	}); err != nil {
		return result, asOf, constraints().Translate(err)
	}
	result = Result{Rows: r.Profile.Rows, Tallies: sums.sorted(), Covered: sums.covered(everything)}
	result.Covered.AccountNames, err = accountNames(ctx, tx, sums.otherAccounts)
	return result, asOf, err
}

const maxNamed = 20

func accountNames(ctx context.Context, tx pgx.Tx, accounts map[uuid.UUID]bool) ([]string, error) {
	if len(accounts) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `SELECT identifier FROM accounts WHERE id = ANY ($1) ORDER BY identifier LIMIT $2`,
		slices.Collect(maps.Keys(accounts)), maxNamed)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, postgres.Translate(err)
}

func durationText(d time.Duration) string {
	if d < 100*time.Millisecond {
		return "less than 0.1 s"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// storeComparison stores the result of a comparison. It returns ErrSuperseded if the comparison was
// cancelled.
func (s *Service) storeComparison(
	ctx context.Context, tx pgx.Tx, r Reconciliation, result Result, asOf, began time.Time,
) error {
	now := s.clock.Now()
	result.Took = durationText(now.Sub(began))
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	q, err := tx.Exec(ctx, `UPDATE reconciliations SET state = 'compared', result = $3, as_of = $4, compared_at = $5, row_version = row_version + 1
		WHERE id = $1 AND row_version = $2 AND state = 'comparing'`, r.ID, r.RowVersion, string(text), asOf, now)
	if err == nil && q.RowsAffected() == 0 {
		return jobs.ErrSuperseded
	}
	return constraints().Translate(err)
}
