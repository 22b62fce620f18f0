package leads

import (
	"fmt"
	"sync"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// maxFailures is the number of consecutive failed groups after which Failing reports an error.
const maxFailures = 3

// failures counts the groups of posts that could not be stored since one was stored. A successful write check
// only lowers the count, because posts can fail for reasons that do not affect the check (decision 73).
type failures struct {
	mu   sync.Mutex
	n    int
	last error
}

// add counts a group that could not be stored. It ignores errors that are caused by the data of a post, because other
// posts can still be stored. It counts errors that are caused by a missing partition.
func (f *failures) add(err error) {
	if postgres.IsInvalidData(err) && !postgres.IsMissingPartition(err) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	f.last = postgres.Translate(err)
}

func (f *failures) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n, f.last = 0, nil
}

// Failing returns the last error if the last three groups of posts could not be stored. After Recovered, one failed
// group is enough. Otherwise, Failing returns nil. Posts that arrive together are a group.
func (s *Store) Failing() error {
	f := &s.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n < maxFailures {
		return nil
	}
	return fmt.Errorf("the last attempts to store leads failed: %w", f.last)
}

// Recovered makes Failing return nil until another group fails. Call it when a write check has succeeded.
func (s *Store) Recovered() {
	f := &s.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n = min(f.n, maxFailures-1)
}
