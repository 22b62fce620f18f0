package intake

import (
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// owner is whose post it is, as far as the checks have come.
type owner struct {
	base     *partners.Partner // of the base URL; nil for the shared address
	account  *partners.Account // nil until decision 13 has decided
	secret   *partners.Secret  // nil until the signature has been verified
	inactive bool              // the account, its partner or its secret is; only its staff learn that
}

// key is what the post's traffic is counted by, without the outcome unless that is
// the owner's own.
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
