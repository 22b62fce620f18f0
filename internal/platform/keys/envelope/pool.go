package envelope

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
)

const (
	// PoolSize is the maximum number of ready data keys. At full load, posts use this many in a quarter
	// of a second.
	PoolSize = 1024
	// PoolAge is the maximum age of a data key when it is used. After a rotation, a node uses the old
	// key version for at most this long.
	PoolAge = 60 * time.Second

	poolBatch   = 64 // data keys per call
	poolCalls   = 4  // concurrent calls
	poolLow     = PoolSize * 3 / 4
	poolWait    = time.Second // maximum time that a post waits for a key
	poolTick    = time.Second
	poolProbe   = 5 * time.Second        // time between the last call and a probe
	poolRetry   = 100 * time.Millisecond // pause after a failure, doubled each time up to poolRetryAt
	poolRetryAt = 2 * time.Second
)

// ErrPoolEmpty means that no data key is ready and the wrapper did not provide one in time.
var ErrPoolEmpty = errors.New("no data key available")

// Pool contains data keys that are already wrapped, so that posts do not wait for a call to the wrapper.
// Each key is used once. Pool is safe for concurrent use. Run fills it.
type Pool struct {
	writer KeyWrapper
	clock  clock.Clock

	wake chan struct{}

	mu      sync.Mutex
	ready   []pooled  // oldest first
	version string    // key version of all ready keys
	since   time.Time // when the first key of that version was requested
	failure error     // of the last call; nil after a success
	arrived chan struct{}
	called  time.Time // when the last call began
	ended   bool      // a call has ended

	made, taken, waited, expired, purged int64
}

type pooled struct {
	DataKey
	made time.Time
}

// NewPool returns an empty pool. Run fills it.
func NewPool(writer KeyWrapper, c clock.Clock) *Pool {
	return &Pool{writer: writer, clock: c, wake: make(chan struct{}, 1), arrived: make(chan struct{})}
}

// PoolStats contains the pool's state and its counts since the node started.
type PoolStats struct {
	Ready   int
	Version string // of the ready keys; "" before the first key arrives
	Failure error  // of the last call to the wrapper; nil after a success
	Called  bool   // a call to the wrapper has ended, so Failure is known
	// Taken is the number of keys that posts have used, and Waited the number of posts that had
	// to wait for one. Expired is the number of unused keys that were too old or were replaced,
	// and Purged the number of unused keys that were dropped because the key version changed.
	Taken, Waited, Expired, Purged int64

	made int64
}

// Stats returns the current state of the pool and its counts.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PoolStats{len(p.ready), p.version, p.failure, p.ended, p.taken, p.waited, p.expired, p.purged, p.made}
}

// Take returns a data key that no other caller gets. If none is ready, it waits up to a
// second, unless the wrapper is known to be unavailable.
func (p *Pool) Take(ctx context.Context) (DataKey, error) {
	timeout := time.NewTimer(poolWait)
	defer timeout.Stop()
	for waiting := false; ; waiting = true {
		key, arrived, err := p.take(waiting)
		if arrived == nil {
			return key, err
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return DataKey{}, ctx.Err()
		case <-timeout.C:
			return DataKey{}, fmt.Errorf("%w within %s", ErrPoolEmpty, poolWait)
		}
	}
}

// This method returns a ready key, an error, or a channel that is closed when new keys arrive or a call
// to the wrapper fails.
func (p *Pool) take(waiting bool) (key DataKey, arrived <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	if len(p.ready) < poolLow {
		p.signal()
	}
	if len(p.ready) == 0 {
		if p.failure != nil {
			return key, nil, fmt.Errorf("%w: %w", ErrPoolEmpty, p.failure)
		}
		if !waiting {
			p.waited++
		}
		return key, p.arrived, nil
	}
	key = p.ready[0].DataKey
	p.drop(1)
	p.taken++
	return key, nil, nil
}

func (p *Pool) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Pool) expire() {
	oldest := p.clock.Now().Add(-PoolAge)
	n := 0
	for n < len(p.ready) && p.ready[n].made.Before(oldest) {
		n++
	}
	p.expired += int64(n)
	p.drop(n)
}

// drop removes the first n keys and overwrites them.
func (p *Pool) drop(n int) {
	clear(p.ready[:n])
	p.ready = p.ready[n:]
	if len(p.ready) == 0 {
		p.ready = nil
	}
}

// Run keeps the pool filled until ctx ends, and then overwrites its keys.
func (p *Pool) Run(ctx context.Context) {
	tick := time.NewTicker(poolTick)
	defer tick.Stop()
	defer p.purge()
	for wait := poolRetry; ; {
		before := p.Stats().made
		if err := errors.Join(p.Fill(ctx), p.probe(ctx)); err != nil {
			if p.Stats().made > before {
				wait = poolRetry // the wrapper is available, and only some calls failed
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			wait = min(2*wait, poolRetryAt)
			continue
		}
		wait = poolRetry
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.wake:
		}
	}
}

// Fill fills the pool, with a few concurrent calls to the wrapper. After a failed call, it stops and
// returns the error.
func (p *Pool) Fill(ctx context.Context) error {
	for {
		missing := p.missing()
		if missing == 0 {
			return nil
		}
		calls := min(poolCalls, (missing+poolBatch-1)/poolBatch)
		ended := make(chan error, calls)
		for i := range calls {
			n := min(poolBatch, missing-i*poolBatch)
			go func() { ended <- p.call(ctx, n) }()
		}
		var failed error
		for range calls {
			failed = errors.Join(failed, <-ended)
		}
		if failed != nil {
			return failed
		}
	}
}

// probe gets a few new keys if the pool has not called the wrapper for a while. This detects an
// unavailable wrapper or a new key version before a post needs a key.
func (p *Pool) probe(ctx context.Context) error {
	p.mu.Lock()
	due := !p.clock.Now().Before(p.called.Add(poolProbe))
	p.mu.Unlock()
	if !due {
		return nil
	}
	return p.call(ctx, poolBatch)
}

func (p *Pool) missing() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	return PoolSize - len(p.ready)
}

func (p *Pool) call(ctx context.Context, n int) error {
	made := p.clock.Now() // read before the call, so that a key never seems newer than its version
	p.mu.Lock()
	p.called = made
	p.mu.Unlock()
	keys, err := NewDataKeys(ctx, p.writer, n)
	defer clear(keys)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure, p.ended = err, true
	if err == nil {
		err = p.add(keys, made)
	}
	close(p.arrived) // even after a failure, so that waiting posts get the error
	p.arrived = make(chan struct{})
	return err
}

// add adds keys to the pool. The parameter made is the time when the keys were requested. All keys in
// the pool have the same key version. If the new keys have a different version, add keeps only those
// that were requested later: either the new keys or the keys in the pool.
func (p *Pool) add(keys []DataKey, made time.Time) error {
	_, version, err := ParseWrapped(keys[0].Wrapped)
	if err != nil {
		p.failure = err
		return err
	}
	switch {
	case version == p.version:
	case made.Before(p.since):
		p.purged += int64(len(keys))
		return nil
	default:
		p.purged += int64(len(p.ready))
		p.drop(len(p.ready))
		p.version, p.since = version, made
	}
	p.made += int64(len(keys))
	for _, k := range keys {
		p.ready = append(p.ready, pooled{k, made})
	}
	if over := len(p.ready) - PoolSize; over > 0 {
		p.expired += int64(over)
		p.drop(over)
	}
	return nil
}

func (p *Pool) purge() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(len(p.ready))
}
