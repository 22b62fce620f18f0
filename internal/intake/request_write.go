package intake

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

var requestColumns = []string{
	"partner_id", "kind", "at", "request_id", "endpoint", "account_id", "secret_id", "lead_id", "outcome", "status",
	"code", "message", "detail", "fields", "duration_us",
}

func (r *loggedRequest) row() []any {
	return []any{
		r.Partner, r.kind, r.at, r.id, r.Endpoint, nullable(r.Account), nullable(r.Secret), nullable(r.lead), r.Outcome,
		r.status, string(r.code), r.message, r.detail, append([]string{}, r.fields...), microseconds(r.took),
	}
}

func nullable(u uuid.UUID) *uuid.UUID {
	if u == uuid.Nil {
		return nil
	}
	return &u
}

// trimRequests deletes all but the newest requests of each set.
const trimRequests = `DELETE FROM api_requests r USING unnest($1::uuid[], $2::text[]) AS s(partner_id, kind)
	WHERE r.partner_id = s.partner_id AND r.kind = s.kind AND r.id <= (
		SELECT k.id FROM api_requests k WHERE k.partner_id = s.partner_id AND k.kind = s.kind
		ORDER BY k.id DESC OFFSET $3 LIMIT 1)`

func (t *Traffic) writeRequests(ctx context.Context, q *requestQueue) error {
	if q.size == 0 {
		return nil
	}
	rows := make([][]any, 0, q.size)
	for _, list := range q.sets {
		for i := range list {
			rows = append(rows, list[i].row())
		}
	}
	partners, kinds := t.fullSets(q)
	return t.inTransaction(ctx, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"api_requests"}, requestColumns, pgx.CopyFromRows(rows))
		if err == nil && len(partners) > 0 {
			_, err = tx.Exec(ctx, trimRequests, partners, kinds, t.keep)
		}
		return err
	})
}

// fullSets returns the sets in the queue that must be trimmed. A set is trimmed when the node first writes
// to it, and whenever it may have become 10 % too large.
func (t *Traffic) fullSets(q *requestQueue) (partners []uuid.UUID, kinds []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for set, list := range q.sets {
		n, known := t.untrimmed[set]
		if n += len(list); known && n <= t.keep/10 {
			t.untrimmed[set] = n
			continue
		}
		t.untrimmed[set] = 0
		partners, kinds = append(partners, set.partner), append(kinds, string(set.kind))
	}
	return partners, kinds
}
