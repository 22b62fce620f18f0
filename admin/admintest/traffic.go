package admintest

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// AddMonthOfTraffic adds a month of traffic and some ledger entries, which the overview shows.
func (h *Console) AddMonthOfTraffic(t *testing.T) {
	t.Helper()
	h.Exec(t, `INSERT INTO traffic_minutes
		SELECT hour, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), kind[1], kind[2], (kind[3]::float * (1.2 + sin(extract(hour FROM hour) / 4 - 2)) * (1 + 0.1 * sin(extract(day FROM hour))))::bigint, '{}'
		FROM generate_series($1::timestamptz - interval '30 days', $1, interval '1 hour') AS hour,
			(VALUES (ARRAY['ping', 'priced', '8400']), (ARRAY['ping', 'excluded', '210']), (ARRAY['ping', 'payload', '60']), (ARRAY['post', 'delivered', '1450']),
				(ARRAY['post', 'expired', '22']), (ARRAY['post', 'signature', '13']), (ARRAY['post', 'payload', '9'])) AS kinds(kind)`, h.Time.Now())
	h.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'accrual', n::text, 1900 + n % 4100, (ARRAY['GBP', 'GBP', 'GBP', 'EUR', 'USD'])[1 + n % 5], $1::timestamptz - n * interval '7 minutes'
		FROM generate_series(1, 3000) AS n`, h.Time.Now())
}

// AddTraffic records n requests from an account, dated ten minutes before the current time.
func AddTraffic(h *Console, t *testing.T, partner, account uuid.UUID, endpoint, outcome string, n int) {
	t.Helper()
	h.Exec(t,
		`INSERT INTO traffic_minutes VALUES (date_trunc('minute', $1::timestamptz), $2, $3, $4, $5, $6, $7, '{}')`,
		h.Time.Now().Add(-10*time.Minute), partner, account, uuid.Nil, endpoint, outcome, n)
}
