package leads

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/models"
)

// Result is the result of a delivery.
type Result struct {
	Receipt Receipt
	Stored  bool
	Err     error
}

// DeliverTogether stores deliveries as one group, in the given order. With Deliver, the groups
// would depend on when the posts arrive.
func (s *Store) DeliverTogether(ctx context.Context, all ...*Delivery) []Result {
	group := make([]*waitingDelivery, len(all))
	for i, d := range all {
		d.setDisclosureDigest()
		group[i] = &waitingDelivery{delivery: d}
	}
	ctx, cancel := context.WithTimeout(ctx, DeliverTimeout)
	defer cancel()
	s.commit(ctx, group)
	results := make([]Result, len(all))
	for i, w := range group {
		results[i] = Result{w.receipt, w.stored, w.err}
	}
	return results
}

// WithScanLimits returns a copy of the reader with the given scan limits.
func (r *Reader) WithScanLimits(allPartners, onePartner int) *Reader {
	limited := *r
	limited.limit = scanLimits{allPartners, onePartner}
	return &limited
}

// PersonSQL is personSQL for tests.
var PersonSQL = personSQL

// FindSQL is findSQL for tests.
const FindSQL = findSQL

// NewText returns the disclosure text that a post sends to the database, or nil if the text is cached.
func (s *Store) NewText(text *string, at time.Time) *string {
	d := Delivery{Lead: models.Lead{ReceivedAt: at}, Consent: models.Consent{DisclosureText: text}}
	d.setDisclosureDigest()
	return s.cached.newText(&d)
}
