package ratecard

import (
	"sync"

	"github.com/google/uuid"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// cached is how many compiled cards are kept. A page of a draft compares two or
// three; the table of a large one takes a tenth of a second to make.
const cached = 16

// cache keeps the tables of cards as they were at one row version, which never change.
type cache struct {
	mu    sync.Mutex
	order []cacheKey
	sheet map[cacheKey]*Sheet
}

type cacheKey struct {
	card    uuid.UUID
	version int
}

func newCache() *cache { return &cache{sheet: map[cacheKey]*Sheet{}} }

func (c *cache) get(key cacheKey) *Sheet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sheet[key]
}

func (c *cache) put(key cacheKey, s *Sheet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.sheet[key]; known {
		return
	}
	if len(c.order) == cached {
		delete(c.sheet, c.order[0])
		c.order = c.order[1:]
	}
	c.order, c.sheet[key] = append(c.order, key), s
}

// Sheet is the rules of a card with what they come to. It is shared: nobody changes it.
type Sheet struct {
	Card      pricingrules.Card
	Positions []int               // of the rules, by which the database and the forms name them
	Table     *pricingrules.Table // with gaps where the card has them
	Problems  pricingrules.Problems
}

// Rule is the index in Card.Rules of the rule at a position; -1 where there is none.
func (s *Sheet) Rule(position int) int {
	for i, at := range s.Positions {
		if at == position {
			return i
		}
	}
	return -1
}
