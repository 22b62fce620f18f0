package intake

import "github.com/pingpost/pingpost/internal/partners"

// owner identifies the partner and the account that a post belongs to. Its fields are set as the checks
// proceed.
type owner struct {
	base    *partners.Partner // whose base URL was used; nil for the shared base URL
	account *partners.Account // nil until it is found (decision 13)
	secret  *partners.Secret  // nil until the signature has been verified
	quoted  *partners.Partner // to whom the quote was issued, if the partnerId is unknown; may be nil
}

// partner returns nil until the partner is known.
func (o owner) partner() *partners.Partner {
	if o.account != nil {
		return o.account.Partner
	}
	return o.base
}

func (o owner) active() bool { return o.account != nil && o.account.Active() }

// key returns the key under which the owner's post is counted.
func (o owner) key() TrafficKey {
	k := TrafficKey{Endpoint: EndpointPost, Partner: partnerID(o.partner())}
	if o.account != nil {
		k.Account = o.account.ID
	}
	if o.secret != nil {
		k.Secret = o.secret.ID
	}
	return k
}
