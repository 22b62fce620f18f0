package intake

import (
	"sync"
	"time"
)

// maxLimiterKeys limits the memory of a rateLimiter. If there are more keys, all counts are reset. A
// limit per address would not stop an attacker with that many addresses anyway.
const maxLimiterKeys = 100_000

// rateLimiter limits the number of requests in a time window for each key, such as an address
// or a partner. The first call after the end of a window begins the next one.
type rateLimiter[K comparable] struct {
	most   int // 0 for no limit
	window time.Duration

	mu    sync.Mutex
	since time.Time
	spent map[K]int
}

func newRateLimiter[K comparable](most int, window time.Duration) *rateLimiter[K] {
	return &rateLimiter[K]{most: most, window: window, spent: map[K]int{}}
}

// allows reports whether a key is below its limit. If not, it also returns the time until the next window. A request
// calls allows first and spend later, so concurrent requests can exceed the limit.
func (b *rateLimiter[K]) allows(key K, now time.Time) (bool, time.Duration) {
	return b.ask(key, now, false)
}

// take is like allows, but also counts the request if the key is below its limit.
func (b *rateLimiter[K]) take(key K, now time.Time) (bool, time.Duration) {
	return b.ask(key, now, true)
}

func (b *rateLimiter[K]) ask(key K, now time.Time, spend bool) (bool, time.Duration) {
	if b.most == 0 {
		return true, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	if b.spent[key] >= b.most {
		return false, b.window - now.Sub(b.since)
	}
	if spend {
		b.spent[key]++
	}
	return true, 0
}

// spend counts a request, even if the limit has been reached.
func (b *rateLimiter[K]) spend(key K, now time.Time) {
	if b.most == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	b.spent[key]++
}

// turn begins a new window if the last one has ended or the clock was set back.
func (b *rateLimiter[K]) turn(now time.Time) {
	if passed := now.Sub(b.since); passed >= b.window || passed < 0 || len(b.spent) > maxLimiterKeys {
		b.since, b.spent = now, map[K]int{}
	}
}
