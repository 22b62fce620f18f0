package admintest

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// AddMonthOfTraffic adds a month of traffic, and the ledger entries of its leads, which the overview shows.
func (h *Console) AddMonthOfTraffic(t *testing.T) {
	t.Helper()
	h.Exec(t, `INSERT INTO traffic_minutes
		SELECT hour, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), kind[1], kind[2],
			(kind[3]::float * (1.2 + sin(extract(hour FROM hour) / 4 - 2)) * (1 + 0.1 * sin(extract(day FROM hour))))::bigint, '{}'
		FROM generate_series(date_trunc('minute', $1::timestamptz - interval '30 days'), $1, interval '1 hour') AS hour,
			(VALUES (ARRAY['ping', 'priced', '90']), (ARRAY['ping', 'excluded', '3']), (ARRAY['ping', 'payload', '2']),
				(ARRAY['post', 'delivered', '15']), (ARRAY['post', 'expired', '1.2']), (ARRAY['post', 'signature', '0.9']),
				(ARRAY['post', 'payload', '0.6'])) AS kinds(kind)`, h.Time.Now())
	h.Exec(t, `INSERT INTO ledger_entries
			(partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT partner_id, account_id, gen_random_uuid(), 'accrual', gen_random_uuid()::text, 1900 + n * 137 % 4100,
			(ARRAY['GBP', 'GBP', 'GBP', 'EUR', 'USD'])[1 + n % 5], minute - n * interval '1 second'
		FROM traffic_minutes, generate_series(1, count) AS n WHERE outcome = 'delivered'`)
}

// AddTraffic records n requests from an account, dated ten minutes before the current time.
func AddTraffic(h *Console, t *testing.T, partner, account uuid.UUID, endpoint, outcome string, n int) {
	t.Helper()
	h.Exec(t,
		`INSERT INTO traffic_minutes VALUES (date_trunc('minute', $1::timestamptz), $2, $3, $4, $5, $6, $7, '{}')`,
		h.Time.Now().Add(-10*time.Minute), partner, account, uuid.Nil, endpoint, outcome, n)
}
