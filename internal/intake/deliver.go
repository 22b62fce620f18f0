package intake

import (
	"context"
	"errors"

	"github.com/pingpost/pingpost/internal/leads"
)

// deliver stores the lead of a post. If the transaction already has a lead, it replays the post instead.
// It returns leads.ErrInactive or leads.ErrInactiveSecret if the sender is no longer active.
func (in *Intake) deliver(ctx context.Context, p authenticated) (PostResult, error) {
	gate := in.admission(p.claim)
	if !gate.enter(ctx) {
		return PostResult{}, errNotStored
	}
	defer gate.leave()
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()

	result, err := in.newResult(p)
	if err != nil {
		return PostResult{}, err
	}
	receipt, stored, err := in.store(ctx, p, result.Industry)
	switch {
	case err != nil:
		return PostResult{}, err
	case !stored:
		return in.replay(p, result, receipt)
	}
	return result.withReceipt(receipt), nil
}

// store encrypts the contact record and stores the lead. If the transaction already has a
// lead, it returns the receipt of that lead and false.
func (in *Intake) store(ctx context.Context, p authenticated, industry string) (leads.Receipt, bool, error) {
	key, noKey := in.dataKey(ctx)
	if noKey != nil {
		receipt, err := in.findWithoutDataKey(ctx, p, noKey)
		return receipt, false, err
	}
	defer key.Zero()
	delivery, err := in.newDelivery(p, key, industry)
	if err != nil {
		return leads.Receipt{}, false, errNotStored.WithCause(err)
	}
	receipt, stored, err := in.Leads.Deliver(ctx, delivery)
	if err != nil && !errors.Is(err, leads.ErrInactive) && !errors.Is(err, leads.ErrInactiveSecret) {
		err = errNotStored.WithCause(err)
	}
	return receipt, stored, err
}
