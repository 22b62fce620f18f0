package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
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

	result, err := p.result(in.Clock.Now())
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
		receipt, err := in.Leads.Find(ctx, scope.System, p.quote.ID)
		if err != nil {
			err = noKey
		}
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

// dataKey returns a data key wrapped by Vault or by the local key. It returns errNoWrapper if
// neither is configured, and errNotStored if no key is available. While Vault is unavailable, posts
// use the data keys that envelope.Pool has prepared. When these are used up, posts get a 503 and nothing
// is stored, so partners retry later. A retry of a post that was stored earlier still gets the result of
// that post.
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

func (in *Intake) newDelivery(p authenticated, key envelope.DataKey, industry string) (*leads.Delivery, error) {
	lead := in.newLead(p, industry)
	d, err := leads.NewDelivery(lead, p.payload, in.Keys, key)
	if err != nil {
		return nil, err
	}
	d.Key.BodyDigest = in.Keys.Digest(keyring.Body, p.Body)
	detail, err := json.Marshal(map[string]any{
		"request_id":    id.Format(id.Request, p.ID),
		"hmac_verified": lead.HMACVerified,
	})
	d.Event = models.LeadEvent{Kind: models.EventDelivered, Detail: string(detail)}
	return d, err
}

// newLead returns the lead without its personal data, which leads.NewDelivery adds.
func (in *Intake) newLead(p authenticated, industry string) models.Lead {
	account, q := p.owner.account, p.quote
	lead := models.Lead{
		ID: q.ID, AttemptID: uuid.New(), TransactionID: p.payload.TransactionID,
		PartnerID: account.Partner.ID, AccountID: account.ID, Sandbox: account.Sandbox,
		PriceMinor: q.Price.Minor, Currency: q.Price.Currency.String(), Industry: industry, TermID: q.TermID,
		Urgency: pricingrules.Class(q.Urgency).String(), CardVersion: q.CardVersion,
		QuotedPartner: nullable(q.Partner), QuotedCountry: string(q.Country[:]), QuotedPostcode: q.Postcode,
		QuotedAt: q.IssuedAt(), ReceivedAt: p.start,
		Country: p.leadCountry(), Postcode: cmp.Or(p.payload.Location.Postcode, q.Postcode),
		PartnerReference: p.payload.Reference, SubID: p.payload.SubID,
	}
	if p.owner.secret != nil {
		lead.SecretID, lead.HMACVerified = &p.owner.secret.ID, true
	}
	return lead
}
