package leads

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

const (
	// groupSize is the maximum number of posts in a database transaction.
	groupSize = 128
	// writers is the maximum number of groups that are stored at the same time. Posts that arrive
	// while all writers are busy form the next groups. A post never waits for a group to fill.
	writers = 2
	// commitTimeout is the time reserved for storing a group and, if the database's response is lost,
	// for checking whether the group was committed. A post that has less time left is removed from the
	// queue and gets an error.
	commitTimeout = readBackTimeout + 500*time.Millisecond
)

var errBusy = apperr.New(apperr.Unavailable, "busy", "Unable to save lead record.")

type waitingDelivery struct {
	delivery *Delivery
	deadline time.Time
	queued   context.Context // ends commitTimeout before the deadline
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

// batcher lets concurrent posts share a database transaction. It has no goroutine of its own: the
// goroutine of one waiting post stores a group of waiting posts. A post that arrives alone is stored
// immediately.
type batcher struct {
	commit func(context.Context, []*waitingDelivery)
	size   int
	slots  chan struct{} // one slot for each writer

	mu    sync.Mutex
	queue []*waitingDelivery
}

func newBatcher(size, writers int, commit func(context.Context, []*waitingDelivery)) *batcher {
	return &batcher{commit: commit, size: size, slots: make(chan struct{}, writers)}
}

// deliver stores a post. It returns before the deadline of ctx, with an error if there was not enough
// time. ctx must have a deadline, and must not be cancelled when the client disconnects, because deliver
// may also use ctx to store other posts.
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
			if w.answered() { // both cases were ready
				<-b.slots
				return w.result
			}
			if !b.commitNext(ctx) {
				<-w.done // the queue is empty, so another writer has the post
				return w.result
			}
		case <-w.queued.Done():
			if b.withdraw(w) {
				return result{err: errBusy}
			}
			<-w.done // another writer already has the post
			return w.result
		}
	}
}

// commitNext stores the next group and frees the caller's slot. It returns false if no posts are
// waiting.
func (b *batcher) commitNext(ctx context.Context) bool {
	defer func() { <-b.slots }()
	// Let goroutines that are about to join the queue run first. This makes groups larger under
	// load and costs nothing otherwise.
	runtime.Gosched()
	taken := b.take()
	if len(taken) == 0 {
		return false
	}
	// Wake the waiting posts even if commit panics.
	defer func() {
		for _, w := range taken {
			close(w.done)
		}
	}()
	// Leave out posts that have too little time left. Otherwise their deadline would apply to the
	// whole group.
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
		b.queue = nil // so that the array can be freed when the group is done
	}
	return taken
}

// withdraw removes a post from the queue. It returns false if a writer already has the post.
func (b *batcher) withdraw(w *waitingDelivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, post := range b.queue {
		if post == w {
			b.queue = append(b.queue[:i:i], b.queue[i+1:]...)
			return true
		}
	}
	return false
}
