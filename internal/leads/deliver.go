package leads

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/postgres"
)

// Within bounds a delivery and a lookup. It leaves a post's answer a second of the
// 5 that it may take (D27).
const Within = 4 * time.Second

// readBackWithin is the part of Within that is kept for the read-back of a commit
// whose outcome is unknown.
const readBackWithin = time.Second

// deliverSQL stores a group of leads with their consents, ledger entries and
// timeline events in one round trip and one transaction. The unique transaction
// is the guard (D3): of many posts at once one inserts, the others find a
// conflict and store nothing. Who delivers must be active now, whatever a
// snapshot said (D21): senders and secrets are few, and looked up once each for
// all of their posts; they are written as look-ups, else a plan made for small
// tables might join all of them. Children are stored only for the leads that were.
// Rows go in by transaction, so that two groups cannot wait for each other.
// newStatement fills in the lists of columns.
const deliverSQL = `
WITH post AS MATERIALIZED (
	SELECT * FROM unnest(%[1]s) AS post (%[2]s)
), sender AS MATERIALIZED (
	SELECT account_id, partner_id FROM (SELECT DISTINCT account_id, partner_id FROM post) AS named
	WHERE (SELECT status FROM partners WHERE id = named.partner_id) = 'approved'
		AND (SELECT status FROM accounts WHERE id = named.account_id AND partner_id = named.partner_id) = 'active'
), secret AS MATERIALIZED (
	SELECT secret_id, active.* FROM (SELECT DISTINCT secret_id FROM post) AS named CROSS JOIN LATERAL (
		SELECT partner_id, not_before, retires_at FROM signing_secrets WHERE id = named.secret_id AND state = 'active' LIMIT 1) AS active
), lead AS (
	INSERT INTO leads (%[3]s)
	SELECT %[3]s
	FROM post JOIN sender USING (account_id, partner_id) LEFT JOIN secret USING (secret_id, partner_id)
	WHERE secret_id IS NULL OR (not_before <= received_at AND (retires_at IS NULL OR retires_at > received_at))
	ORDER BY transaction
	ON CONFLICT (transaction) DO NOTHING
	RETURNING id
), consent AS (
	INSERT INTO consents (lead_id, partner_id, acknowledged, sandbox, received_at, %[4]s)
	SELECT id, partner_id, true, sandbox, received_at, %[4]s FROM post JOIN lead USING (id)
), accrual AS (
	INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	SELECT partner_id, account_id, id, entry_kind, reference, amount_minor, currency, received_at
	FROM post JOIN lead USING (id) WHERE NOT sandbox
), event AS (
	INSERT INTO lead_events (lead_id, kind, detail, at)
	SELECT id, event_kind, detail::jsonb, received_at FROM post JOIN lead USING (id)
)
SELECT id FROM lead`

// Deliver stores the lead, or finds the one that its transaction already holds;
// stored tells which. Posts that arrive together share a database transaction,
// so ctx must outlive the client's connection: pass one that does not end with
// it. Deliver returns by ctx's deadline, or within Within if that is earlier.
// Errors: ErrInactive, or a failure after which the same post may be sent again.
func (s *Store) Deliver(ctx context.Context, d *Delivery) (r Receipt, stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	got := s.group.deliver(ctx, d)
	return got.receipt, got.stored, got.err
}

// commit stores a group and fills in everyone's result.
func (s *Store) commit(ctx context.Context, rows []*waitingDelivery) {
	stored, err := s.insert(ctx, rows)
	switch {
	case err == nil:
		s.answer(ctx, rows, stored)
	case postgres.Ambiguous(err):
		s.readBack(ctx, rows, err)
	case len(rows) > 1 && postgres.Refused(err):
		// One bad row fails alone: halve until it is found.
		half := len(rows) / 2
		s.commit(ctx, rows[:half])
		s.commit(ctx, rows[half:])
	default:
		for _, w := range rows {
			w.result = result{err: postgres.Translate(err)}
		}
	}
}

// keepPlan has Postgres keep one plan for the statement, until the end of the
// transaction. By itself it plans anew each time, because it can count the rows in
// the arrays; that took most of the time of a post that comes alone.
//
// The plan, and those of the foreign keys' checks, are made when the tables may be
// tiny and kept while they grow: one that reads a whole table would be the quickest
// then, and the slowest ever after. Every condition has its index.
const keepPlan = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)`

// insert runs the statement and returns which leads it stored. It leaves time for
// a read-back before ctx's deadline. The server's own timeout does not help when
// the network in between is gone.
func (s *Store) insert(ctx context.Context, rows []*waitingDelivery) (stored map[uuid.UUID]bool, err error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-readBackWithin))
	defer cancel()
	batch := &pgx.Batch{} // one round trip and one transaction
	batch.Queue(keepPlan)
	batch.Queue(s.statement.sql, s.statement.arguments(rows)...)
	results := s.pool.SendBatch(ctx, batch)
	// It is committed when all has been read, and not before.
	defer func() { err = cmp.Or(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	answer, err := results.Query()
	if err != nil {
		return nil, err
	}
	stored = make(map[uuid.UUID]bool, len(rows))
	var id uuid.UUID
	_, err = pgx.ForEachRow(answer, []any{&id}, func() error {
		stored[id] = true
		return nil
	})
	return stored, err
}

// answer fills in the results of a group that was committed: what was not
// stored is a lead that the transaction held already, or nobody's any more.
func (s *Store) answer(ctx context.Context, rows []*waitingDelivery, stored map[uuid.UUID]bool) {
	var others []uuid.UUID
	for _, w := range rows {
		if !stored[w.delivery.Lead.ID] {
			others = append(others, w.delivery.Lead.Transaction)
		}
	}
	found, err := s.findAll(ctx, others)
	for _, w := range rows {
		receipt, ok := found[w.delivery.Lead.Transaction]
		switch {
		case stored[w.delivery.Lead.ID]:
			receipt, wrong := w.delivery.receipt()
			w.result = result{receipt: receipt, stored: true, err: wrong}
		case err != nil:
			w.result = result{err: err}
		case !ok:
			w.result = result{err: ErrInactive}
		default:
			w.result = result{receipt: receipt}
		}
	}
}

// readBack asks on a fresh connection what became of a statement whose answer
// was lost. Not found is no proof that it never commits, so that is a failure
// too: the same post again gives the truth (D21).
func (s *Store) readBack(ctx context.Context, rows []*waitingDelivery, lost error) {
	transactions := make([]uuid.UUID, len(rows))
	for i, w := range rows {
		transactions[i] = w.delivery.Lead.Transaction
	}
	var found map[uuid.UUID]Receipt
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
	if err == nil {
		defer conn.Close(ctx)
		found, err = find(ctx, conn, transactions)
	}
	for _, w := range rows {
		receipt, ok := found[w.delivery.Lead.Transaction]
		if err != nil || !ok {
			w.result = result{err: postgres.Translate(errors.Join(lost, err))}
			continue
		}
		w.result = result{receipt: receipt, stored: receipt.LeadID == w.delivery.Lead.ID}
	}
}
