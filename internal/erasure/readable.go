package erasure

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// readableFor is how long CheckReadable returns the same result.
	readableFor = 5 * time.Second
	// readableTimeout limits the duration of a check. It is longer than the calls to the journal may take.
	readableTimeout = 15 * time.Second
)

// readable is the last result of CheckReadable.
type readable struct {
	checks singleflight.Group
	mu     sync.Mutex
	until  time.Time
	err    error
}

// last returns the last result, and whether it is still valid.
func (r *readable) last(now time.Time) (valid bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.until), r.err
}

// CheckReadable returns the result of CheckJournal from at most a few seconds ago. Pages that show erasable data
// call it each time. Requests at the same time wait for one check. If the last check failed, they do not wait: they get
// its error until the next check succeeds.
//
// Errors: those of CheckJournal. Any error means that the data may not be shown.
func (s *Service) CheckReadable(ctx context.Context) error {
	valid, err := s.readable.last(s.clock.Now())
	if valid {
		return err
	}
	checked := s.readable.checks.DoChan("",
		func() (any, error) { return nil, s.checkReadable(context.WithoutCancel(ctx)) })
	if err != nil {
		return err
	}
	select {
	case result := <-checked:
		return result.Err
	case <-ctx.Done():
		return errJournalUnavailable.WithCause(ctx.Err())
	}
}

// checkReadable checks the journal, unless another request has just done so. The result is also for other requests, so
// ctx must not end with this one.
func (s *Service) checkReadable(ctx context.Context) error {
	if valid, err := s.readable.last(s.clock.Now()); valid {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readableTimeout)
	defer cancel()
	err := s.CheckJournal(ctx)
	s.readable.mu.Lock()
	defer s.readable.mu.Unlock()
	s.readable.until, s.readable.err = s.clock.Now().Add(readableFor), err
	return err
}
