package envelope

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
)

const (
	// PoolSize data keys are held ready at most: a quarter of a second of posts at
	// full speed, and what a node has when the wrapper is away.
	PoolSize = 1024
	// PoolAge is how old a data key may be when it is used: how long a node may go
	// on with a key version after a rotation.
	PoolAge = 60 * time.Second

	poolBatch   = 64 // data keys a call
	poolCalls   = 4  // at once
	poolLow     = PoolSize * 3 / 4
	poolWait    = time.Second // for a post that finds none
	poolTick    = time.Second
	poolProbe   = 5 * time.Second        // without a call before one is made
	poolRetry   = 100 * time.Millisecond // after a failure, doubled up to
	poolRetryAt = 2 * time.Second
)

// ErrPoolEmpty says that no data key is ready and that the wrapper gives none.
var ErrPoolEmpty = errors.New("no data key is ready")

// Pool holds data keys ready that the wrapper has wrapped already, so that a post
// never waits for the wrapper's network. Each is used once. Safe for concurrent
// use; Run fills it.
type Pool struct {
	writer KeyWrapper
	clock  clock.Clock

	wake chan struct{}

	mu      sync.Mutex
	ready   []pooled  // the oldest first
	version string    // of every ready key
	since   time.Time // when the first key of that version was asked for
	failure error     // of the last call; nil after a success
	arrived chan struct{}
	called  time.Time // when the last call began

	made, taken, waited, expired, purged int64
}

type pooled struct {
	DataKey
	made time.Time
}

// NewPool needs Run to be started before it gives keys.
func NewPool(writer KeyWrapper, c clock.Clock) *Pool {
	return &Pool{writer: writer, clock: c, wake: make(chan struct{}, 1), arrived: make(chan struct{})}
}

// PoolStats are the pool's state and counts since the start.
type PoolStats struct {
	Ready   int
	Version string // of the ready keys; "" before the first
	Failure error  // of the last call to the wrapper; nil after a success
	// Taken by posts; Waited for, of those; Expired and Purged unused.
	Taken, Waited, Expired, Purged int64

	made int64
}

// Stats reads the state.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PoolStats{len(p.ready), p.version, p.failure, p.taken, p.waited, p.expired, p.purged, p.made}
}

// Take gives a data key that nobody else has. With none ready it waits a moment
// for one, unless the wrapper is known to be away.
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

// take gives a ready key, a failure, or what to wait for.
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

// expire forgets keys that are too old to use.
func (p *Pool) expire() {
	oldest := p.clock.Now().Add(-PoolAge)
	n := 0
	for n < len(p.ready) && p.ready[n].made.Before(oldest) {
		n++
	}
	p.expired += int64(n)
	p.drop(n)
}

// drop takes the first n away and leaves nothing of them behind.
func (p *Pool) drop(n int) {
	clear(p.ready[:n])
	p.ready = p.ready[n:]
	if len(p.ready) == 0 {
		p.ready = nil
	}
}

// Run keeps the pool filled until ctx ends, and then forgets what is in it.
func (p *Pool) Run(ctx context.Context) {
	tick := time.NewTicker(poolTick)
	defer tick.Stop()
	defer p.purge()
	for wait := poolRetry; ; {
		before := p.Stats().made
		if err := errors.Join(p.Fill(ctx), p.probe(ctx)); err != nil {
			if p.Stats().made > before {
				wait = poolRetry // it is there, and only some calls failed
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

// Fill brings the pool to its size, in batches, a few of them at once. The error
// is the first call's that failed.
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

// probe replaces a few keys of a pool that has not called for long, so that a
// wrapper that is away, or has another key version, is known before it is needed.
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
	made := p.clock.Now() // before the call: a key is no younger than its key version
	p.mu.Lock()
	p.called = made
	p.mu.Unlock()
	keys, err := NewDataKeys(ctx, p.writer, n)
	defer clear(keys)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
	if err == nil {
		err = p.add(keys, made)
	}
	close(p.arrived) // also after a failure: who waits learns of it
	p.arrived = make(chan struct{})
	return err
}

// add keeps keys of the newest key version alone. One that was asked for before
// the first of that version, and comes with another, is late.
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
