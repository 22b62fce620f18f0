package ratecard

import (
	"sync"

	"github.com/google/uuid"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// cachedCards and cachedRules bound what is kept compiled. A page of a draft compares
// two or three cards; the table of a large one takes a tenth of a second to make, and
// its rules twenty megabytes.
const (
	cachedCards = 16
	cachedRules = 2 * MaxRules
)

// cache keeps compiled cards as they were at one row version, which never change.
type cache struct {
	mu    sync.Mutex
	order []cacheKey // the oldest first
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

// ExaminedCard is the rules of a card with what they come to. It is shared: nobody changes it.
type ExaminedCard struct {
	Card      pricingrules.Card
	Positions []int               // of the rules, by which the database and the forms name them
	Table     *pricingrules.Table // with gaps where the card has them
	Problems  pricingrules.Problems
}

// RuleIndex is the index in Card.Rules of the rule at a position; -1 where there is none.
func (s *ExaminedCard) RuleIndex(position int) int {
	for i, at := range s.Positions {
		if at == position {
			return i
		}
	}
	return -1
}
