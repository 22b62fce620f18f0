package envelope

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/clock"
)

// switched is a wrapper that can be told to fail, to wait, and to take another
// key. What it wraps is real.
type switched struct {
	mu      sync.Mutex
	inner   *Local
	failure error
	calls   int
	most    int           // keys in a call
	gate    chan struct{} // closed: go on
}

func (s *switched) Name() string              { return LocalName }
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

var errAway = errors.New("the wrapper is away")

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
		t.Errorf("%d calls of up to %d keys", w.calls, w.most)
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
					t.Errorf("the wrapped key is another: %v", opened[0].Err)
				}
				mu.Lock()
				if seen[key.Plain] {
					t.Error("a key was given twice")
				}
				seen[key.Plain] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Ready != 0 || s.Taken != PoolSize || s.Waited != 0 {
		t.Errorf("%+v", s)
	}
}

// While the wrapper is away the pool gives what it has, and then fails at once;
// it is filled again as soon as the wrapper is back.
func TestTheWrapperIsAway(t *testing.T) {
	p, w, _ := newPool(t)
	fill(t, p)
	w.set(func() { w.failure = errAway })
	for range PoolSize {
		if _, err := p.Take(t.Context()); err != nil {
			t.Fatalf("with keys left: %v", err)
		}
	}
	if err := p.Fill(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("filled: %v", err)
	}
	start := clock.System{}.Now()
	for range 100 {
		if _, err := p.Take(t.Context()); !errors.Is(err, ErrPoolEmpty) || !errors.Is(err, errAway) {
			t.Fatalf("drained: %v", err)
		}
	}
	if took := (clock.System{}).Now().Sub(start); took > poolWait/2 {
		t.Errorf("100 failures took %s: they waited", took)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	w.set(func() { w.failure = nil })
	deadline := time.After(2 * poolRetryAt)
	for {
		if _, err := p.Take(t.Context()); err == nil {
			break
		}
		select {
		case <-deadline:
			t.Fatal("no key after the wrapper came back")
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	<-ended
	if s := p.Stats(); s.Ready != 0 {
		t.Errorf("%d keys are left in memory at the end", s.Ready)
	}
}

func TestTakeWaitsForACallUnderWay(t *testing.T) {
	p, w, _ := newPool(t)
	w.gate = make(chan struct{})
	go p.Fill(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := p.Take(t.Context())
		got <- err
	}()
	for p.Stats().Waited == 0 {
		runtime.Gosched()
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
		t.Errorf("a call that does not end: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that has gone: %v", err)
	}
}

// A pool that nobody takes from asks the wrapper now and then, so that one that
// is away, or has another key version, is known before it is needed.
func TestAnIdlePoolProbes(t *testing.T) {
	p, w, c := newPool(t)
	fill(t, p)
	calls := w.calls
	if err := p.probe(t.Context()); err != nil || w.calls != calls {
		t.Errorf("asked at once (%v)", err)
	}
	c.Advance(poolProbe)
	if err := p.probe(t.Context()); err != nil || w.calls != calls+1 {
		t.Errorf("did not ask (%v)", err)
	}
	if s := p.Stats(); s.Ready != PoolSize || s.Expired != poolBatch {
		t.Errorf("%+v", s)
	}
	c.Advance(poolProbe)
	w.set(func() { w.failure = errAway })
	if err := p.probe(t.Context()); !errors.Is(err, errAway) || !errors.Is(p.Stats().Failure, errAway) {
		t.Errorf("a wrapper that is away: %v", err)
	}
	if _, err := p.Take(t.Context()); err != nil {
		t.Errorf("what is ready is good: %v", err)
	}
}

func TestKeysAreNotUsedWhenTheyAreOld(t *testing.T) {
	p, w, c := newPool(t)
	fill(t, p)
	c.Advance(PoolAge)
	if _, err := p.Take(t.Context()); err != nil {
		t.Errorf("at its age: %v", err)
	}
	c.Advance(time.Millisecond)
	w.set(func() { w.failure = errAway })
	_ = p.Fill(t.Context())
	if _, err := p.Take(t.Context()); !errors.Is(err, ErrPoolEmpty) {
		t.Errorf("beyond it: %v", err)
	}
	if s := p.Stats(); s.Expired != PoolSize-1 || s.Ready != 0 {
		t.Errorf("%+v", s)
	}
}

// After a rotation no key of the older version is left, even where a call that
// began before it ends after.
func TestAnotherKeyVersionPurges(t *testing.T) {
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
		t.Errorf("%+v", s)
	}
	for range PoolSize {
		key, err := p.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, version, _ := ParseWrapped(key.Wrapped); !w.inner.Reads(version) {
			t.Fatalf("a key of version %s after the rotation", version)
		}
	}
}

// Moving between wrappers keeps every data key, and what cannot be moved fails
// alone.
func TestMove(t *testing.T) {
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
				keys[0].Wrapped = []byte(rapid.SampledFrom([]string{"", "local", "nobody:v1:AAAA",
					"local:00000000:AAAA", "other:v1:!"}).Draw(rt, "text"))
				bad[i] = true
			}
			wrapped, plain = append(wrapped, keys[0].Wrapped), append(plain, keys[0].Plain)
		}
		for i, m := range w.Rewrap(t.Context(), wrapped) {
			if bad[i] {
				if !errors.Is(m.Err, ErrNotWrapped) || m.Wrapped != nil {
					rt.Fatalf("%q was moved: %q, %v", wrapped[i], m.Wrapped, m.Err)
				}
				continue
			}
			if name, _, err := ParseWrapped(m.Wrapped); m.Err != nil || err != nil || name != "other" {
				rt.Fatalf("moved to %q (%v)", m.Wrapped, m.Err)
			}
			if one := w.Unwrap(t.Context(), [][]byte{m.Wrapped})[0]; one.Err != nil || one.Key != plain[i] {
				rt.Fatalf("it became another key: %v", one.Err)
			}
		}
	})
	for _, m := range NewWrappers(nil, from).Rewrap(t.Context(), [][]byte{nil}) {
		if !errors.Is(m.Err, ErrNoWrapper) {
			t.Errorf("without a writer: %v", m.Err)
		}
	}
}

// named is a wrapper under another first word.
type named struct {
	inner *Local
	name  string
}

func (n named) Name() string              { return n.name }
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
