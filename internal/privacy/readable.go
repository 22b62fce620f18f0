package privacy

import (
	"context"
	"sync"
	"time"
)

const (
	// readableFor is how long CheckReadable returns the same result.
	readableFor = 5 * time.Second
	// readableTimeout limits a check, which is longer than the calls of the journal may take.
	readableTimeout = 15 * time.Second
)

// readable is the last result of CheckReadable.
type readable struct {
	mu    sync.Mutex
	until time.Time
	err   error
}

// CheckReadable returns the result of CheckJournal from at most a few seconds ago. Pages that show erasable data
// call it each time. Requests at the same time wait for one check.
//
// Errors: those of CheckJournal. Any error means that the data may not be shown.
func (s *Service) CheckReadable(ctx context.Context) error {
	r := s.readable
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.clock.Now().Before(r.until) {
		return r.err
	}
	// The result is also for other requests, so it must not depend on whether this client is still there.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readableTimeout)
	defer cancel()
	r.err = s.CheckJournal(ctx)
	r.until = s.clock.Now().Add(readableFor)
	return r.err
}
