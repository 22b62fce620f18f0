package envelope

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/clock"
)

// switched is a local wrapper that a test can cause to fail, block or use another key.
type switched struct {
	mu      sync.Mutex
	inner   *Local
	failure error
	calls   int
	most    int           // maximum number of keys in a call
	gate    chan struct{} // calls wait until it is closed
}

func (s *switched) Name() string              { return LocalName }
func (s *switched) Keys() []string            { return s.inner.Keys() }
func (s *switched) Reads(version string) bool { return s.inner.Reads(version) }
func (s *switched) Unwrap(ctx context.Context, w [][]byte) ([]Unwrapped, error) {
	return s.inner.Unwrap(ctx, w)
}

func (s *switched) Wrap(ctx context.Context, keys [][KeySize]byte) ([][]byte, error) {
	s.mu.Lock()
	s.calls++
	s.most = max(s.most, len(keys))
	inner, failure, gate := s.inner, s.failure, s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if failure != nil {
		return nil, failure
	}
	return inner.Wrap(ctx, keys)
}

func (s *switched) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

var errAway = errors.New("the wrapper is unavailable")

func newPool(t testing.TB) (*Pool, *switched, *clock.Manual) {
	t.Helper()
	w, c := &switched{inner: local(t, 1)}, clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return NewPool(w, c), w, c
}

func fill(t testing.TB, p *Pool) {
	t.Helper()
	if err := p.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPoolReturnsEachKeyOnce(t *testing.T) {
	p, w, _ := newPool(t)
	fill(t, p)
	if w.most > poolBatch || w.calls != PoolSize/poolBatch {
		t.Errorf("got %d calls with up to %d keys", w.calls, w.most)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[[KeySize]byte]bool{}
	for range 8 {
		wg.Go(func() {
			for range PoolSize / 8 {
				key, err := p.Take(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				opened, err := w.Unwrap(t.Context(), [][]byte{key.Wrapped})
				if err != nil || opened[0].Err != nil || opened[0].Key != key.Plain {
					t.Errorf("the wrapped key is a different key: %v", opened[0].Err)
				}
				mu.Lock()
				if seen[key.Plain] {
					t.Error("a key was returned twice")
				}
				seen[key.Plain] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Ready != 0 || s.Taken != PoolSize || s.Waited != 0 {
		t.Errorf("got stats %+v", s)
	}
}

// While the wrapper is unavailable, the pool returns the keys it has and then fails without
// waiting. It is refilled as soon as the wrapper is available again.
func TestPoolWithUnavailableWrapper(t *testing.T) {
	p, w, _ := newPool(t)
	fill(t, p)
	w.set(func() { w.failure = errAway })
	for range PoolSize {
		if _, err := p.Take(t.Context()); err != nil {
			t.Fatalf("taking a key while some are left: %v", err)
		}
	}
	if err := p.Fill(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("filling: got error %v", err)
	}
	for range 100 {
		if _, err := p.Take(t.Context()); !errors.Is(err, ErrPoolEmpty) || !errors.Is(err, errAway) {
			t.Fatalf("empty pool: got error %v", err)
		}
	}
	if s := p.Stats(); s.Waited != 0 {
		t.Errorf("%d calls waited, want 0", s.Waited)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	w.set(func() { w.failure = nil })
	deadline := time.After(time.Minute)
	for {
		if _, err := p.Take(t.Context()); err == nil {
			break
		}
		select {
		case <-deadline:
			t.Fatal("got no key after the wrapper was available again")
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	<-ended
	if s := p.Stats(); s.Ready != 0 {
		t.Errorf("%d keys left in memory after Run", s.Ready)
	}
}

func TestTakeWaitsForACallInProgress(t *testing.T) { synctest.Test(t, takeDuringCall) }

func takeDuringCall(t *testing.T) {
	p, w, _ := newPool(t)
	w.gate = make(chan struct{})
	go p.Fill(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := p.Take(t.Context())
		got <- err
	}()
	synctest.Wait()
	if s := p.Stats(); s.Waited != 1 {
		t.Errorf("%d calls wait, want 1", s.Waited)
	}
	close(w.gate)
	if err := <-got; err != nil {
		t.Error(err)
	}

	p, w, _ = newPool(t)
	w.gate = make(chan struct{})
	defer close(w.gate)
	go p.Fill(t.Context())
	if _, err := p.Take(t.Context()); !errors.Is(err, ErrPoolEmpty) {
		t.Errorf("call that does not end: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled request: got %v", err)
	}
}

// An idle pool calls the wrapper from time to time. This detects an unavailable wrapper or a
// new key version before a post needs a key.
func TestIdlePoolCallsTheWrapper(t *testing.T) {
	p, w, c := newPool(t)
	fill(t, p)
	calls := w.calls
	if err := p.probe(t.Context()); err != nil || w.calls != calls {
		t.Errorf("called the wrapper too early (%v)", err)
	}
	c.Advance(poolProbe)
	if err := p.probe(t.Context()); err != nil || w.calls != calls+1 {
		t.Errorf("did not call the wrapper (%v)", err)
	}
	if s := p.Stats(); s.Ready != PoolSize || s.Expired != poolBatch {
		t.Errorf("got stats %+v", s)
	}
	c.Advance(poolProbe)
	w.set(func() { w.failure = errAway })
	if err := p.probe(t.Context()); !errors.Is(err, errAway) || !errors.Is(p.Stats().Failure, errAway) {
		t.Errorf("unavailable wrapper: got %v", err)
	}
	if _, err := p.Take(t.Context()); err != nil {
		t.Errorf("taking a ready key: %v", err)
	}
}

func TestPoolDropsOldKeys(t *testing.T) {
	p, w, c := newPool(t)
	fill(t, p)
	c.Advance(PoolAge)
	if _, err := p.Take(t.Context()); err != nil {
		t.Errorf("key at the maximum age: %v", err)
	}
	c.Advance(time.Millisecond)
	w.set(func() { w.failure = errAway })
	_ = p.Fill(t.Context())
	if _, err := p.Take(t.Context()); !errors.Is(err, ErrPoolEmpty) {
		t.Errorf("key above the maximum age: %v", err)
	}
	if s := p.Stats(); s.Expired != PoolSize-1 || s.Ready != 0 {
		t.Errorf("got stats %+v", s)
	}
}

// After a rotation, the pool contains no keys of the old version, even if a call started
// before the rotation and ended after it.
func TestPoolDropsKeysOfTheOldVersion(t *testing.T) {
	p, w, c := newPool(t)
	fill(t, p)
	for range poolBatch {
		if _, err := p.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	late, err := NewDataKeys(t.Context(), w, 3)
	if err != nil {
		t.Fatal(err)
	}
	began := c.Now()
	c.Advance(time.Second)
	w.set(func() { w.inner = local(t, 2) })
	fill(t, p)
	if err := p.add(late, began); err != nil {
		t.Fatal(err)
	}
	s := p.Stats()
	if s.Ready != PoolSize || s.Purged != PoolSize-poolBatch+3 || !w.inner.Reads(s.Version) {
		t.Errorf("got stats %+v", s)
	}
	for range PoolSize {
		key, err := p.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, version, _ := ParseWrapped(key.Wrapped); !w.inner.Reads(version) {
			t.Fatalf("got a key of version %s after the rotation", version)
		}
	}
}

// Rewrapping with another wrapper does not change data keys. Keys that cannot be rewrapped do not
// affect the others.
func TestRewrapWithAnotherWrapper(t *testing.T) {
	from, to := local(t, 1), named{local(t, 2), "other"}
	w := NewWrappers(to, from)
	rapid.Check(t, func(rt *rapid.T) {
		var wrapped [][]byte
		var plain [][KeySize]byte
		bad := map[int]bool{}
		for i := range rapid.IntRange(0, 20).Draw(rt, "keys") {
			var source KeyWrapper = from
			if rapid.Bool().Draw(rt, "theirs") {
				source = to
			}
			keys, err := NewDataKeys(t.Context(), source, 1)
			if err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 4).Draw(rt, "bad") == 0 {
				keys[0].Wrapped = []byte(rapid.SampledFrom([]string{"", "local", "unknown:v1:AAAA",
					"local:00000000:AAAA", "other:v1:!"}).Draw(rt, "text"))
				bad[i] = true
			}
			wrapped, plain = append(wrapped, keys[0].Wrapped), append(plain, keys[0].Plain)
		}
		for i, m := range w.Rewrap(t.Context(), wrapped) {
			if bad[i] {
				if !errors.Is(m.Err, ErrNotWrapped) || m.Wrapped != nil {
					rt.Fatalf("%q was rewrapped: %q, %v", wrapped[i], m.Wrapped, m.Err)
				}
				continue
			}
			if name, _, err := ParseWrapped(m.Wrapped); m.Err != nil || err != nil || name != "other" {
				rt.Fatalf("rewrapped as %q (%v)", m.Wrapped, m.Err)
			}
			if result := w.Unwrap(t.Context(), [][]byte{m.Wrapped})[0]; result.Err != nil || result.Key != plain[i] {
				rt.Fatalf("rewrapping changed the key: %v", result.Err)
			}
		}
	})
	for _, m := range NewWrappers(nil, from).Rewrap(t.Context(), [][]byte{nil}) {
		if !errors.Is(m.Err, ErrNoWrapper) {
			t.Errorf("without a writer: %v", m.Err)
		}
	}
}

// named is a wrapper with another name.
type named struct {
	inner *Local
	name  string
}

func (n named) Name() string              { return n.name }
func (n named) Keys() []string            { return n.inner.Keys() }
func (n named) Reads(version string) bool { return n.inner.Reads(version) }

func (n named) Wrap(ctx context.Context, keys [][KeySize]byte) ([][]byte, error) {
	out, err := n.inner.Wrap(ctx, keys)
	for i := range out {
		out[i] = append([]byte(n.name), out[i][len(LocalName):]...)
	}
	return out, err
}

func (n named) Unwrap(ctx context.Context, wrapped [][]byte) ([]Unwrapped, error) {
	theirs := make([][]byte, len(wrapped))
	for i := range wrapped {
		theirs[i] = append([]byte(LocalName), wrapped[i][len(n.name):]...)
	}
	return n.inner.Unwrap(ctx, theirs)
}
