package intake

import (
	"sync"
	"time"
)

// maxLimiterKeys bounds the memory of a budget. Beyond it everything is forgotten
// at once: an attacker with that many addresses is not held by a budget of each.
const maxLimiterKeys = 100_000

// rateLimiter counts what each spender (an address, a partner) spends in a window of
// time. A new window begins with the first look at it after the last is over.
type rateLimiter[K comparable] struct {
	most   int // 0 for no bound
	window time.Duration

	mu    sync.Mutex
	since time.Time
	spent map[K]int
}

func newRateLimiter[K comparable](most int, window time.Duration) *rateLimiter[K] {
	return &rateLimiter[K]{most: most, window: window, spent: map[K]int{}}
}

// left reports whether somebody may spend, and if not, how long until they may
// again. What is under way at the same time may go beyond the bound by as much.
func (b *rateLimiter[K]) left(who K, now time.Time) (bool, time.Duration) {
	return b.ask(who, now, false)
}

// take spends if there is something left.
func (b *rateLimiter[K]) take(who K, now time.Time) (bool, time.Duration) {
	return b.ask(who, now, true)
}

func (b *rateLimiter[K]) ask(who K, now time.Time, spend bool) (bool, time.Duration) {
	if b.most == 0 {
		return true, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	if b.spent[who] >= b.most {
		return false, b.window - now.Sub(b.since)
	}
	if spend {
		b.spent[who]++
	}
	return true, 0
}

// spend counts whatever is left.
func (b *rateLimiter[K]) spend(who K, now time.Time) {
	if b.most == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	b.spent[who]++
}

// turn begins a new window when the last is over, or the clock was set back.
func (b *rateLimiter[K]) turn(now time.Time) {
	if passed := now.Sub(b.since); passed >= b.window || passed < 0 || len(b.spent) > maxLimiterKeys {
		b.since, b.spent = now, map[K]int{}
	}
}
