package leads

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Texts are the texts by which a partner recognises a lead. All of them are "" if the lead was erased.
type Texts struct{ TransactionID, PartnerReference, SubID string }

// ReadTexts returns the texts of leads by their ids. Its query contains the lowest and highest id, so that
// Postgres reads only the partitions that contain these leads.
func ReadTexts(ctx context.Context, q postgres.Querier, ids []uuid.UUID) (map[uuid.UUID]Texts, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, `SELECT id, transaction_id, partner_reference, sub_id FROM leads
		WHERE id = ANY ($1) AND id >= $2 AND id <= $3`,
		postgres.PlanEachTime, ids, slices.MinFunc(ids, id.Compare), slices.MaxFunc(ids, id.Compare))
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]Texts, len(ids))
	var lead uuid.UUID
	var t Texts
	_, err = pgx.ForEachRow(rows, []any{&lead, &t.TransactionID, &t.PartnerReference, &t.SubID}, func() error {
		found[lead] = t
		return nil
	})
	return found, err
}
