package leads

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

const (
	checkPeriod = time.Hour
	// checkDelay is longer than a post can take to be stored.
	checkDelay = time.Minute
	// maxIncomplete is the maximum number of leads that a check returns.
	maxIncomplete = 100
	checkTimeout  = "2min"
)

// incompleteSQL selects the ids of leads that lack a row in another table, and the ids of missing leads
// for which another table has a row. Leads received between $3 and $4 have ids between $1 and $2. Quotes
// issued between $3 and $4 have ids between $5 and $6. Each range includes its start but not its end.
// Erased leads have no keys, and sandbox leads have no accrual.
const incompleteSQL = `
SELECT l.id FROM leads l
	LEFT JOIN lead_keys k ON k.lead_id = l.id AND k.lead_id >= $1 AND k.lead_id < $2
	LEFT JOIN consents c ON c.lead_id = l.id AND c.lead_id >= $1 AND c.lead_id < $2
WHERE l.id >= $1 AND l.id < $2 AND l.received_at >= $3 AND l.received_at < $4 AND (
	(k.lead_id IS NULL) <> (l.state = 'erased') OR c.lead_id IS NULL
	OR NOT EXISTS (SELECT FROM lead_events e WHERE e.lead_id = l.id AND e.lead_id >= $1 AND e.lead_id < $2
		AND e.kind = 'delivered')
	OR l.sandbox = EXISTS (SELECT FROM ledger_entries e WHERE e.lead_id = l.id AND e.kind = 'accrual'
		AND e.occurred_at >= $3 AND e.occurred_at < $4))
UNION
SELECT other.lead_id FROM (
	SELECT lead_id FROM lead_keys WHERE lead_id >= $5 AND lead_id < $6
	UNION ALL SELECT lead_id FROM consents WHERE lead_id >= $5 AND lead_id < $6
	UNION ALL SELECT lead_id FROM lead_events WHERE lead_id >= $5 AND lead_id < $6
	UNION ALL SELECT lead_id FROM ledger_entries WHERE lead_id >= $5 AND lead_id < $6 AND kind = 'accrual'
	AND occurred_at >= $7 AND occurred_at < $8) other
WHERE NOT EXISTS (SELECT FROM leads l WHERE l.id = other.lead_id AND l.id >= $5 AND l.id < $6)
LIMIT $9`

// Incomplete checks the leads of a period. It returns the ids of up to 100 leads that lack a row in
// another table, or that have rows in other tables but no row in leads. The database does not prevent
// this, because the tables have no foreign keys (decision 48).
func (s *Store) Incomplete(ctx context.Context, from, until time.Time) (found []uuid.UUID, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		found, err = incomplete(ctx, tx, from, until)
		return err
	})
	return found, postgres.Translate(err)
}

func incomplete(ctx context.Context, tx pgx.Tx, from, until time.Time) ([]uuid.UUID, error) {
	first, end := quote.IDRange(from, until)
	if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+checkTimeout+`'`); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, incompleteSQL, postgres.PlanEachTime, first, end, from, until, id.First(from), id.First(until),
		from.Add(-quote.MaxAhead), until.Add(quote.Validity), maxIncomplete)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// CheckNext checks the leads of the earliest hour that has not been checked yet. It does nothing if more
// leads may still be stored for this hour, or if another node is checking. In these cases, checked is
// false.
func (s *Store) CheckNext(ctx context.Context, now time.Time) (found []uuid.UUID, checked bool, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtext('lead checks'))`).Scan(&mine); err != nil ||
			!mine {
			return err
		}
		var from time.Time
		switch err := tx.QueryRow(ctx, `SELECT checked_until FROM lead_checks`).Scan(&from); {
		case errors.Is(err, pgx.ErrNoRows):
			from = now.Truncate(checkPeriod)
			_, err = tx.Exec(ctx, `INSERT INTO lead_checks (checked_until) VALUES ($1)`, from)
			return err
		case err != nil:
			return err
		}
		until := from.Add(checkPeriod)
		// Posts can still use quotes from the last minutes of the period.
		if now.Before(until.Add(quote.Validity + checkDelay)) {
			return nil
		}
		if found, err = incomplete(ctx, tx, from, until); err != nil {
			return err
		}
		checked = true
		_, err = tx.Exec(ctx, `UPDATE lead_checks SET checked_until = $1`, until)
		return err
	})
	return found, checked, postgres.Translate(err)
}
