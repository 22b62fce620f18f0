package ratecard

import (
	"sync"

	"github.com/google/uuid"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// cachedCards and cachedRules limit the size of the cache. Showing a page requires two or three
// rate cards. A large rate card takes 0.1 s to compile, and its rules take up 20 MB of memory.
const (
	cachedCards = 16
	cachedRules = 2 * pricingrules.MaxRules
)

type cache struct {
	mu    sync.Mutex
	order []cacheKey // oldest first
	cards map[cacheKey]*ExaminedCard
	rules int
}

type cacheKey struct {
	card    uuid.UUID
	version int
}

func newCache() *cache { return &cache{cards: map[cacheKey]*ExaminedCard{}} }

func (c *cache) get(key cacheKey) *ExaminedCard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cards[key]
}

func (c *cache) put(key cacheKey, s *ExaminedCard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.cards[key]; known {
		return
	}
	c.order, c.cards[key], c.rules = append(c.order, key), s, c.rules+len(s.Card.Rules)
	for len(c.order) > 1 && (len(c.order) > cachedCards || c.rules > cachedRules) {
		oldest := c.order[0]
		c.rules -= len(c.cards[oldest].Card.Rules)
		delete(c.cards, oldest)
		c.order = c.order[1:]
	}
}

// ExaminedCard is a compiled rate card that may have problems. It is shared, so callers must not
// change it.
type ExaminedCard struct {
	Card      pricingrules.Card
	Positions []int               // each rule's position in the database, used in URLs
	Table     *pricingrules.Table // a cell without a price is a gap
	Problems  pricingrules.Problems
}

// SameRules reports whether both cards have the same rules, in any order.
func (s *ExaminedCard) SameRules(other *ExaminedCard) bool { return sameRules(s.Card, other.Card) }

// RuleIndex returns the index in Card.Rules of the rule with the given position, or -1.
func (s *ExaminedCard) RuleIndex(position int) int {
	for i, at := range s.Positions {
		if at == position {
			return i
		}
	}
	return -1
}
