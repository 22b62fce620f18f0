package intake

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	trafficTick  = 2 * time.Second
	flushTimeout = 10 * time.Second
	// maxTrafficKeys limits the number of counters in memory between two writes. Requests
	// that would need another counter are counted as dropped.
	maxTrafficKeys = 50_000
	// maxQueuedDurations limits the number of durations in memory between two writes.
	maxQueuedDurations = 20_000
)

// Traffic counts requests by minute, logs each partner's recent requests and records how long posts took
// (decisions 24, 65). Requests only change data in memory. Run writes it to the database every two seconds and
// at shutdown.
type Traffic struct {
	pool    *pgxpool.Pool
	logger  *slog.Logger
	keep    int // maximum number of logged requests of each kind for each partner
	dropped atomic.Int64

	mu         sync.Mutex
	tallies    map[minuteKey]*tally
	requests   *requestQueue
	durations  []postDuration
	wrongBytes int                // size of the bodies with a wrong signature in requests
	untrimmed  map[requestSet]int // rows of each set that were written since the set was trimmed
}

type minuteKey struct {
	minute int64 // Unix minutes
	TrafficKey
}

// buckets is the number of latency buckets: one for each of models.LatencyBounds, and one for
// slower requests.
const buckets = len(models.LatencyBounds) + 1

type tally struct {
	count   int64
	latency [buckets]int64
}

// postDuration is the duration of a post that delivered a lead.
type postDuration struct {
	request uuid.UUID
	took    time.Duration
}

// NewTraffic returns a Traffic that keeps the given number of requests of each kind for each partner.
func NewTraffic(pool *pgxpool.Pool, log *slog.Logger, keep int) *Traffic {
	return &Traffic{
		pool: pool, logger: log, keep: keep,
		tallies: map[minuteKey]*tally{}, requests: newRequestQueue(keep), untrimmed: map[requestSet]int{},
	}
}

// Dropped returns how many requests could not be counted or logged.
func (t *Traffic) Dropped() int64 { return t.dropped.Load() }

// Count adds one request to the counters.
func (t *Traffic) Count(k TrafficKey, at time.Time, took time.Duration) {
	key := minuteKey{at.Unix() / 60, k}
	t.mu.Lock()
	defer t.mu.Unlock()
	if counts := t.tallyOf(key, 1); counts != nil {
		counts.count++
		counts.latency[bucket(took)]++
	}
}

// tallyOf returns the tally of a key. If there is no room for another tally, it counts the given number of
// requests as dropped and returns nil.
func (t *Traffic) tallyOf(key minuteKey, requests int64) *tally {
	counts := t.tallies[key]
	if counts == nil && len(t.tallies) >= maxTrafficKeys {
		t.dropped.Add(requests)
		return nil
	}
	if counts == nil {
		counts = &tally{}
		t.tallies[key] = counts
	}
	return counts
}

func bucket(took time.Duration) int {
	for i, bound := range models.LatencyBounds {
		if took <= bound {
			return i
		}
	}
	return len(models.LatencyBounds)
}

// log adds a request to the log. The requests that belong to no partner have limits of their own.
func (t *Traffic) log(r loggedRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped.Add(t.requests.add(r))
}

// reserve reserves memory for a body until the next write of the log. It reports whether there was enough.
func (t *Traffic) reserve(size int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrongBytes+size > maxWrongSignatures {
		return false
	}
	t.wrongBytes += size
	return true
}

// addDuration queues durations. Those for which there is no room are dropped.
func (t *Traffic) addDuration(all ...postDuration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := min(len(all), maxQueuedDurations-len(t.durations))
	t.durations = append(t.durations, all[:room]...)
	t.dropped.Add(int64(len(all) - room))
}

// Run writes counts and requests to the database until ctx is cancelled, and then writes the remaining
// ones.
func (t *Traffic) Run(ctx context.Context) {
	tick := time.NewTicker(trafficTick)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			t.Flush(context.WithoutCancel(ctx)) // Flush has its own timeout; cancelling a commit could lose counts
		}
	}
	t.Flush(context.WithoutCancel(ctx))
}

// Flush writes the counts and requests to the database. After a failed write, it queues them again. It
// drops those that may already have been committed, and those for which there is no more room.
func (t *Traffic) Flush(ctx context.Context) {
	t.mu.Lock()
	tallies, requests, durations := t.tallies, t.requests, t.durations
	t.tallies, t.requests, t.durations, t.wrongBytes = map[minuteKey]*tally{}, newRequestQueue(t.keep), nil, 0
	t.mu.Unlock()
	requests.findSecrets()

	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	t.settle("traffic counters", t.writeTallies(ctx, tallies), func() { t.lose(tallies) }, func() { t.putBack(tallies) })
	t.settle("the request log", t.writeRequests(ctx, requests), func() { t.dropped.Add(int64(requests.size)) },
		func() { t.putBackRequests(requests) })
	t.settle("the durations of posts", t.writeDurations(ctx, durations), func() { t.dropped.Add(int64(len(durations))) },
		func() { t.addDuration(durations...) })
}

// settle handles the error of a write. Data that may already have been committed is not written again,
// so that nothing is counted twice.
func (t *Traffic) settle(what string, err error, lose, putBack func()) {
	switch {
	case err == nil:
	case errors.Is(err, errLost):
		lose()
		t.logger.Warn(what+" may be lost", "error", err)
	default:
		putBack()
		t.logger.Warn("database unavailable, retrying to write "+what, "error", err)
	}
}

func (t *Traffic) lose(tallies map[minuteKey]*tally) {
	for _, counts := range tallies {
		t.dropped.Add(counts.count)
	}
}

func (t *Traffic) putBack(tallies map[minuteKey]*tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, old := range tallies {
		counts := t.tallyOf(k, old.count)
		if counts == nil {
			continue
		}
		counts.count += old.count
		for i := range buckets {
			counts.latency[i] += old.latency[i]
		}
	}
}

// putBackRequests puts requests back at the front of the queue after a failed write, because a full
// queue drops its oldest requests first.
func (t *Traffic) putBackRequests(older *requestQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	newer := t.requests
	t.requests = older
	for _, list := range newer.sets {
		for _, r := range list {
			t.dropped.Add(older.add(r))
		}
	}
}

const addTraffic = `INSERT INTO traffic_minutes AS t (minute, partner_id, account_id, secret_id, endpoint, outcome, count, latency)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
	ON CONFLICT (minute, partner_id, account_id, secret_id, endpoint, outcome) DO UPDATE SET
		count = t.count + excluded.count,
		latency = ARRAY(SELECT a + b FROM unnest(t.latency, excluded.latency) WITH ORDINALITY AS u(a, b, n) ORDER BY n)`

func (t *Traffic) writeTallies(ctx context.Context, tallies map[minuteKey]*tally) error {
	if len(tallies) == 0 {
		return nil
	}
	// All nodes write in the same order, so that they cannot deadlock.
	keys := slices.SortedFunc(maps.Keys(tallies), compareKeys)
	batch := &pgx.Batch{}
	for _, k := range keys {
		counts := tallies[k]
		batch.Queue(addTraffic, time.Unix(k.minute*60, 0).UTC(), k.Partner, k.Account, k.Secret, k.Endpoint, k.Outcome,
			counts.count, counts.latency[:])
	}
	return t.inTransaction(ctx, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
}

func compareKeys(a, b minuteKey) int {
	if a.minute != b.minute {
		return int(a.minute - b.minute)
	}
	for _, pair := range [][2]uuid.UUID{{a.Partner, b.Partner}, {a.Account, b.Account}, {a.Secret, b.Secret}} {
		if c := bytes.Compare(pair[0][:], pair[1][:]); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Endpoint+a.Outcome, b.Endpoint+b.Outcome)
}

// trimRequests deletes all but the newest requests of each set.
const trimRequests = `DELETE FROM api_requests r USING unnest($1::uuid[], $2::text[]) AS s(partner_id, kind)
	WHERE r.partner_id = s.partner_id AND r.kind = s.kind AND r.id <= (
		SELECT k.id FROM api_requests k WHERE k.partner_id = s.partner_id AND k.kind = s.kind
		ORDER BY k.id DESC OFFSET $3 LIMIT 1)`

func (t *Traffic) writeRequests(ctx context.Context, q *requestQueue) error {
	if q.size == 0 {
		return nil
	}
	rows := make([][]any, 0, q.size)
	for _, list := range q.sets {
		for i := range list {
			rows = append(rows, list[i].row())
		}
	}
	partners, kinds := t.fullSets(q)
	return t.inTransaction(ctx, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"api_requests"}, requestColumns, pgx.CopyFromRows(rows))
		if err == nil && len(partners) > 0 {
			_, err = tx.Exec(ctx, trimRequests, partners, kinds, t.keep)
		}
		return err
	})
}

// fullSets returns the sets in the queue that must be trimmed. A set is trimmed when the node first writes
// to it, and whenever it may have become 10 % too large.
func (t *Traffic) fullSets(q *requestQueue) (partners []uuid.UUID, kinds []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for set, list := range q.sets {
		n, known := t.untrimmed[set]
		if n += len(list); known && n <= t.keep/10 {
			t.untrimmed[set] = n
			continue
		}
		t.untrimmed[set] = 0
		partners, kinds = append(partners, set.partner), append(kinds, string(set.kind))
	}
	return partners, kinds
}

func (t *Traffic) writeDurations(ctx context.Context, all []postDuration) error {
	if len(all) == 0 {
		return nil
	}
	return t.inTransaction(ctx, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"post_durations"}, []string{"request_id", "duration_us"},
			pgx.CopyFromSlice(len(all), func(i int) ([]any, error) {
				return []any{all[i].request, microseconds(all[i].took)}, nil
			}))
		return err
	})
}

// errLost means that it is unknown whether a transaction was committed.
var errLost = errors.New("database did not respond")

func (t *Traffic) inTransaction(ctx context.Context, do func(pgx.Tx) error) error {
	began := false
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		began = true
		return do(tx)
	})
	if began && postgres.Ambiguous(err) {
		return errLost
	}
	return postgres.Translate(err)
}
