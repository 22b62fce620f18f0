package intake

import (
	"context"

	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/scope"
)

// While Vault is unavailable, pings are priced as usual. Posts use the data keys that
// envelope.Pool holds ready. Once those are used up, a post gets a 503 and nothing is stored,
// so the partner sends it again later; a retry of a post that was stored gets its answer.

// dataKey takes a data key that Vault, or the local key, has wrapped. It returns
// errNoWrapper if neither is configured, and errNotStored if there is no key to use.
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

// findWithoutDataKey answers a post for which there is no data key: with the receipt
// if its transaction was delivered before, otherwise with noKey, the error of dataKey.
func (in *Intake) findWithoutDataKey(ctx context.Context, p authenticated, noKey error) (leads.Receipt, error) {
	receipt, err := in.Leads.Find(ctx, scope.System, p.quote.ID)
	if err != nil {
		return leads.Receipt{}, noKey
	}
	return receipt, nil
}
