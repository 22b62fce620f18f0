package intake

import (
	"context"
	"errors"

	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/scope"
)

// deliver stores the lead, or finds that its transaction holds one already. Its error
// is leads.ErrInactive when the owner has stopped being active.
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

// store seals the contact record and stores the lead. Without a data key an
// earlier delivery can still be found, so that a retry gets its answer.
func (in *Intake) store(ctx context.Context, p authenticated, industry string) (leads.Receipt, bool, error) {
	key, keyErr := in.dataKey(ctx)
	if keyErr != nil {
		receipt, err := in.Leads.Find(ctx, scope.System, p.quote.ID)
		if err != nil {
			return receipt, false, keyErr
		}
		return receipt, false, nil
	}
	defer key.Zero()
	delivery, err := in.newDelivery(p, key, industry)
	if err != nil {
		return leads.Receipt{}, false, errNotStored.WithCause(err)
	}
	receipt, stored, err := in.Leads.Deliver(ctx, delivery)
	if err != nil && !errors.Is(err, leads.ErrInactive) {
		err = errNotStored.WithCause(err)
	}
	return receipt, stored, err
}

// dataKey takes a data key that Vault, or the local key, has wrapped. While Vault is away
// there are keys until those held ready are used up (package envelope), and then an error.
func (in *Intake) dataKey(ctx context.Context) (envelope.DataKey, error) {
	if !in.Wrappers.Configured() {
		return envelope.DataKey{}, errNoWrapper
	}
	key, err := in.Wrappers.DataKey(ctx)
	if err != nil {
		return key, errNotStored.WithCause(err)
	}
	return key, nil
}
