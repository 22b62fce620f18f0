package intake

import (
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// owner identifies the partner and the account that a post belongs to. Its fields are set as the checks
// proceed.
type owner struct {
	base     *partners.Partner // whose base URL was used; nil for the shared base URL
	account  *partners.Account // nil until it is found (decision 13)
	secret   *partners.Secret  // nil until the signature has been verified
	inactive bool              // the account, its partner or its secret is inactive; shown to staff only
}

// key returns the key under which the owner's post is counted. The key contains an outcome only if the
// owner is inactive.
func (o owner) key() TrafficKey {
	k := TrafficKey{Endpoint: EndpointPost}
	switch {
	case o.account != nil:
		k.Partner, k.Account = o.account.Partner.ID, o.account.ID
	case o.base != nil:
		k.Partner = o.base.ID
	}
	if o.secret != nil {
		k.Secret = o.secret.ID
	}
	if o.inactive {
		k.Outcome = string(models.OutcomeInactive)
	}
	return k
}
