package leads

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// ErrNotFound means that there is no such lead, or that the caller may not see it.
var ErrNotFound = apperr.New(apperr.NotFound, "lead", "Not Found")

// errDetached means that a lead is stored, but a partition with its data is detached, so that it cannot be
// read now.
var errDetached = errors.New("the lead is stored but cannot be read: a partition of leads or lead_keys is detached")

// Find returns the receipt of a lead, or a NotFound error if there is no such lead in the scope. The
// lead's id is the id of its transaction.
func (s *Store) Find(ctx context.Context, sc scope.Scope, lead uuid.UUID) (Receipt, error) {
	found, err := s.findAll(ctx, []uuid.UUID{lead})
	if err != nil {
		return Receipt{}, err
	}
	receipt, ok := found[lead]
	if !ok || !sc.Allows(receipt.PartnerID) {
		return Receipt{}, ErrNotFound
	}
	return receipt, nil
}

func (s *Store) findAll(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Receipt, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, DeliverTimeout)
	defer cancel()
	return find(ctx, s.pool, ids)
}

// findSQL finds leads by their ids. A lead can be visible before it is durable. If the wait for a
// synchronous standby was interrupted, the lead is committed only on the primary. The query therefore
// also writes to the WAL, so that its own commit waits until the standby has the lead.
//
// A database that was restored without lead keys has partitions without rows, not detached partitions.
const findSQL = `SELECT l.id, attempt_id, partner_id, sandbox, price_minor, currency, received_at, body_digest,
		ciphertext, iv, auth_tag, coalesce(answered_key, wrapped_key),
		CASE WHEN k.lead_id IS NULL AND state <> 'erased' THEN NOT EXISTS (
			SELECT FROM pg_inherits WHERE inhrelid = to_regclass(replace(l.tableoid::regclass::text, 'leads', 'lead_keys'))) END,
		CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'pingpost', '') END
	FROM leads l LEFT JOIN lead_keys k ON k.lead_id = l.id AND k.lead_id = ANY ($1) WHERE l.id = ANY ($1)`

func find(ctx context.Context, q postgres.Querier, ids []uuid.UUID) (map[uuid.UUID]Receipt, error) {
	rows, err := q.Query(ctx, findSQL, postgres.PlanEachTime, ids)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	defer rows.Close()
	found := make(map[uuid.UUID]Receipt, len(ids))
	for rows.Next() {
		var r Receipt
		var currency string
		var keysDetached *bool
		if err := rows.Scan(&r.LeadID, &r.attemptID, &r.PartnerID, &r.Sandbox, &r.Payout.Minor, &currency, &r.ReceivedAt,
			&r.BodyDigest, &r.Envelope.Ciphertext, &r.Envelope.IV, &r.Envelope.AuthTag, &r.Envelope.Wrapped, &keysDetached, nil); err != nil {
			return nil, postgres.Translate(err)
		}
		if keysDetached != nil && *keysDetached {
			return nil, errDetached
		}
		r.ReceivedAt = r.ReceivedAt.UTC()
		if r.Payout.Currency, err = money.ParseCurrency(currency); err != nil {
			return nil, err
		}
		found[r.LeadID] = r
	}
	return found, postgres.Translate(rows.Err())
}
