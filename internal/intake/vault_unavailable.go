package intake

import (
	"context"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
)

// While Vault is unavailable, pings are priced as usual, and posts use the data keys that
// envelope.Pool has prepared. When these are used up, posts get a 503 and nothing is stored.
// Partners retry later. A retry of a post that was stored earlier still gets the result of that
// post.

// dataKey returns a data key wrapped by Vault or by the local key. It returns errNoWrapper if
// neither is configured, and errNotStored if no key is available.
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

// findWithoutDataKey handles a post for which dataKey returned the error noKey. It returns
// the receipt if the transaction already has a lead, and noKey otherwise.
func (in *Intake) findWithoutDataKey(ctx context.Context, p authenticated, noKey error) (leads.Receipt, error) {
	receipt, err := in.Leads.Find(ctx, scope.System, p.quote.ID)
	if err != nil {
		return leads.Receipt{}, noKey
	}
	return receipt, nil
}
