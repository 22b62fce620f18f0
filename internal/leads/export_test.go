package leads

import "context"

// DeliverTogether stores deliveries as one group, in this order. Which posts
// happen to share a group is otherwise up to their arrival.
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
func (o *Reader) WithScanLimits(everybodys, partners int) *Reader {
	less := *o
	less.look = scanLimits{everybodys, partners}
	return &less
}

// PersonSQL looks the leads of a person up by "email" or "phone".
var PersonSQL = personSQL
