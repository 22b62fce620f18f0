package leads

import (
	"maps"
	"sync"
	"time"
)

// Stored describes the leads that a node has stored since it started.
type Stored struct {
	Last  time.Time              // when a lead was last stored, by the machine's clock; zero if never
	Leads map[string]StoredLeads // by currency, without sandbox leads
}

// StoredLeads are the leads in one currency.
type StoredLeads struct {
	Count       int64
	PayoutMinor int64 // in minor units
}

// storedCounter counts the leads that were stored. It is safe for concurrent use.
type storedCounter struct {
	mu     sync.Mutex
	stored Stored
}

// add counts the posts of a group that stored a lead.
func (c *storedCounter) add(rows []*waitingDelivery, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range rows {
		if !w.stored {
			continue
		}
		c.stored.Last = now
		lead := &w.delivery.Lead
		if lead.Sandbox {
			continue
		}
		if c.stored.Leads == nil {
			c.stored.Leads = map[string]StoredLeads{}
		}
		total := c.stored.Leads[lead.Currency]
		total.Count++
		total.PayoutMinor += lead.PriceMinor
		c.stored.Leads[lead.Currency] = total
	}
}

// Stored returns the leads that this node has stored since it started.
func (s *Store) Stored() Stored {
	c := &s.stored
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stored{Last: c.stored.Last, Leads: maps.Clone(c.stored.Leads)}
}
