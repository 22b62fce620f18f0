package leads

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
)

const (
	// groupSize bounds the posts that share a database transaction.
	groupSize = 128
	// writers is how many groups are at the database at once. While they are at
	// it the next ones form by themselves: nobody waits for company.
	writers = 2
	// commitTimeout is how long before its deadline a post leaves the queue, so that
	// its group has time for the statement and the read-back.
	commitTimeout = readBackTimeout + 500*time.Millisecond
)

var errBusy = apperr.New(apperr.Unavailable, "busy", "Unable to save lead record.")

// waitingDelivery is a post on its way into a group.
type waitingDelivery struct {
	delivery *Delivery
	deadline time.Time
	queued   context.Context // ends when the post has too little time left for a group
	done     chan struct{}
	result
}

func (w *waitingDelivery) answered() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

type result struct {
	receipt Receipt
	stored  bool
	err     error
}

// batcher lets concurrent posts share a database transaction. There is no writer
// of its own: of the posts that wait, one takes all that are there, its own
// included or not, and stores them for the others. A lone post finds nobody and
// goes at once.
type batcher struct {
	commit func(context.Context, []*waitingDelivery)
	size   int
	slots  chan struct{} // one place for each writer

	mu    sync.Mutex
	queue []*waitingDelivery
}

func newBatcher(size, writers int, commit func(context.Context, []*waitingDelivery)) *batcher {
	return &batcher{commit: commit, size: size, slots: make(chan struct{}, writers)}
}

// deliver returns when the post has been stored, or could not be stored by ctx's
// deadline, which is required. ctx serves the group's other posts too and must not end
// with one client.
func (b *batcher) deliver(ctx context.Context, d *Delivery) result {
	deadline, _ := ctx.Deadline()
	queued, cancel := context.WithDeadline(ctx, deadline.Add(-commitTimeout))
	defer cancel()
	return b.await(ctx, b.join(queued, d, deadline))
}

func (b *batcher) join(queued context.Context, d *Delivery, deadline time.Time) *waitingDelivery {
	w := &waitingDelivery{delivery: d, deadline: deadline, queued: queued, done: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, w)
	return w
}

func (b *batcher) await(ctx context.Context, w *waitingDelivery) result {
	for {
		select {
		case <-w.done:
			return w.result
		case b.slots <- struct{}{}:
			if w.answered() { // both were ready, and select chose: nobody waits for this post
				<-b.slots
				return w.result
			}
			if !b.commitNext(ctx) {
				<-w.done // nobody waits, so another writer has it
				return w.result
			}
		case <-w.queued.Done():
			if b.withdraw(w) {
				return result{err: errBusy}
			}
			<-w.done // taken already: whoever took it answers
			return w.result
		}
	}
}

// commitNext stores the next group and gives the place free; false when nobody waits.
func (b *batcher) commitNext(ctx context.Context) bool {
	defer func() { <-b.slots }()
	// Whoever is about to join runs first. Nobody is waited for: with nothing else
	// to do this takes no time, and under load the groups become larger.
	runtime.Gosched()
	taken := b.take()
	if len(taken) == 0 {
		return false
	}
	// Whatever happens to the writer, nobody waits for ever.
	defer func() {
		for _, w := range taken {
			close(w.done)
		}
	}()
	// A post that has too little time left does not take it from the others.
	var earliest time.Time
	inTime := make([]*waitingDelivery, 0, len(taken))
	for _, w := range taken {
		w.err = errBusy
		if w.queued.Err() != nil {
			continue
		}
		inTime = append(inTime, w)
		if earliest.IsZero() || w.deadline.Before(earliest) {
			earliest = w.deadline
		}
	}
	if len(inTime) == 0 {
		return true
	}
	ctx, cancel := context.WithDeadline(ctx, earliest)
	defer cancel()
	b.commit(ctx, inTime)
	return true
}

func (b *batcher) take() []*waitingDelivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.queue), b.size)
	taken := b.queue[:n:n]
	b.queue = b.queue[n:]
	if len(b.queue) == 0 {
		b.queue = nil // the taken ones hold the array
	}
	return taken
}

// withdraw takes a post out of the queue; false when a writer has it already.
func (b *batcher) withdraw(w *waitingDelivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, one := range b.queue {
		if one == w {
			b.queue = append(b.queue[:i:i], b.queue[i+1:]...)
			return true
		}
	}
	return false
}
