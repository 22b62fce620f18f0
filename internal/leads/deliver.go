package leads

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/platform/tracing"
)

// NewStore returns a Store that uses pool.
func NewStore(pool *pgxpool.Pool) *Store { return newStore(pool, groupSize, writers) }

// NewUnbatchedStore returns a Store that stores each post in its own database transaction. It runs as
// many transactions at once as the pool has connections. Benchmarks use it as the baseline for
// batching.
func NewUnbatchedStore(pool *pgxpool.Pool) *Store {
	return newStore(pool, 1, int(pool.Config().MaxConns))
}

func newStore(pool *pgxpool.Pool, size, writers int) *Store {
	s := &Store{pool: pool}
	s.statement = newDeliverStatement(&s.cached)
	s.group = newBatcher(size, writers, s.commit)
	return s
}

// Deliver stores the lead and returns its receipt. If the transaction already has a lead, Deliver
// returns the receipt of that lead, and stored is false.
//
// Posts that arrive together share a database transaction, so ctx must not be cancelled when the
// client disconnects. Deliver returns by ctx's deadline, or within DeliverTimeout if that is earlier.
// After any error except ErrInactive and ErrInactiveSecret, the same post can be sent again.
func (s *Store) Deliver(ctx context.Context, d *Delivery) (r Receipt, stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, DeliverTimeout)
	defer cancel()
	ctx, end := tracing.StartSpan(ctx, "store lead")
	defer func() { end(err) }()
	d.setDisclosureDigest()
	got := s.group.deliver(ctx, d)
	return got.receipt, got.stored, got.err
}

func (s *Store) commit(ctx context.Context, rows []*waitingDelivery) {
	outcomes, err := s.insert(ctx, rows)
	switch {
	case err == nil:
		s.answer(ctx, rows, outcomes)
	case postgres.Ambiguous(err):
		s.readBack(ctx, rows, err)
	case len(rows) > 1 && postgres.IsInvalidData(err):
		// Halve the group until only the invalid row fails.
		half := len(rows) / 2
		s.commit(ctx, rows[:half])
		s.commit(ctx, rows[half:])
	default:
		s.failures.add(err)
		for _, w := range rows {
			w.result = result{err: postgres.Translate(err)}
		}
	}
}

// keepPlan makes Postgres use a generic plan for deliverSQL until the end of the transaction. Otherwise,
// Postgres would plan the statement again for each group, to suit the length of its arrays. For a group
// of one post, planning would take longer than everything else.
//
// Postgres may make this plan while the tables are tiny, and keep it as they grow. Sequential scans are
// disabled, because they would be fast at first but slow later. Every condition can use an index.
const keepPlan = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)`

// outcome is the row of deliverSQL's result for a post. The lead is stored only if its wrapping key is
// registered, its secret and sender are active, and the transaction has no lead yet.
type outcome struct{ keyRegistered, secretActive, senderActive, stored bool }

// insert runs deliverSQL for a group of posts, and returns the outcomes by attempt ID. It stops early
// enough before ctx's deadline that readBack can still run.
func (s *Store) insert(ctx context.Context, rows []*waitingDelivery) (outcomes map[uuid.UUID]outcome, err error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-readBackTimeout))
	defer cancel()
	batch := &pgx.Batch{} // one round trip and one transaction
	batch.Queue(keepPlan)
	batch.Queue(s.statement.sql, s.statement.arguments(rows)...)
	results := s.pool.SendBatch(ctx, batch)
	// The transaction is committed only after all results have been read.
	defer func() { err = cmp.Or(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	answer, err := results.Query()
	if err != nil {
		return nil, err
	}
	outcomes = make(map[uuid.UUID]outcome, len(rows))
	var attempt uuid.UUID
	var o outcome
	_, err = pgx.ForEachRow(answer, []any{&attempt, &o.keyRegistered, &o.secretActive, &o.senderActive, &o.stored}, func() error {
		outcomes[attempt] = o
		return nil
	})
	return outcomes, err
}

// answer sets the results of the posts in a committed group.
func (s *Store) answer(ctx context.Context, rows []*waitingDelivery, outcomes map[uuid.UUID]outcome) {
	var others []uuid.UUID
	for _, w := range rows {
		if !outcomes[w.delivery.Lead.AttemptID].stored {
			others = append(others, w.delivery.Lead.ID)
		}
	}
	// A group that stores nothing, for example because all of its posts are retries, needs no disk space.
	if len(others) < len(rows) {
		s.failures.reset()
	}
	found, err := s.findAll(ctx, others)
	for _, w := range rows {
		receipt, delivered := found[w.delivery.Lead.ID]
		o := outcomes[w.delivery.Lead.AttemptID]
		switch {
		case o.stored:
			receipt, wrong := w.delivery.receipt()
			w.result = result{receipt: receipt, stored: true, err: wrong}
		case err != nil:
			w.result = result{err: err}
		case delivered:
			w.result = result{receipt: receipt}
		case !o.keyRegistered:
			w.result = result{err: fmt.Errorf("%s %s: %w", w.delivery.Key.KeyWrapper, w.delivery.WrappingKey, errUnregistered)}
		case !o.secretActive:
			w.result = result{err: ErrInactiveSecret}
		case !o.senderActive:
			w.result = result{err: ErrInactive}
		default: // the lead was stored before
			w.result = result{err: errDetached}
		}
	}
	s.stored.add(rows, clock.System{}.Now())
}

// readBack sets the results of a group for which the database's response was lost. It uses a new
// connection to check whether the leads were committed. A lead that is not found may still be committed
// later, so its post gets an error. The partner gets the result by sending the post again (decision 21).
func (s *Store) readBack(ctx context.Context, rows []*waitingDelivery, lost error) {
	ids := make([]uuid.UUID, len(rows))
	for i, w := range rows {
		ids[i] = w.delivery.Lead.ID
	}
	var found map[uuid.UUID]Receipt
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
	if err == nil {
		defer conn.Close(ctx)
		found, err = find(ctx, conn, ids)
	}
	committed := false
	for _, w := range rows {
		receipt, ok := found[w.delivery.Lead.ID]
		if err != nil || !ok {
			w.result = result{err: postgres.Translate(errors.Join(lost, err))}
			continue
		}
		w.result = result{receipt: receipt, stored: receipt.attemptID == w.delivery.Lead.AttemptID}
		committed = committed || w.stored
	}
	s.stored.add(rows, clock.System{}.Now())
	if committed {
		s.failures.reset()
	} else {
		s.failures.add(lost)
	}
}
