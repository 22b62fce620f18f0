package leads

import "context"

// DeliverTogether stores deliveries as one group, in this order. Otherwise the time of arrival
// decides which posts share a group.
func (s *Store) DeliverTogether(ctx context.Context, all ...*Delivery) []error {
	group := make([]*waitingDelivery, len(all))
	for i, d := range all {
		group[i] = &waitingDelivery{delivery: d}
	}
	ctx, cancel := context.WithTimeout(ctx, DeliverTimeout)
	defer cancel()
	s.commit(ctx, group)
	errs := make([]error, len(all))
	for i, w := range group {
		errs[i] = w.err
	}
	return errs
}

// WithScanLimits returns a reader that examines at most these numbers of leads.
func (o *Reader) WithScanLimits(allPartners, onePartner int) *Reader {
	limited := *o
	limited.limit = scanLimits{allPartners, onePartner}
	return &limited
}

// PersonSQL is personSQL for tests.
var PersonSQL = personSQL
