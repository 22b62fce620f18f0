-- Compares a file with the ledger, with one hash join in each direction.
BEGIN;
SET LOCAL work_mem = '64MB';
CREATE TEMP TABLE list (line integer GENERATED ALWAYS AS IDENTITY, lead_id text, day text, amount numeric, currency char(3)) ON COMMIT DROP;
\copy list (lead_id, day, amount, currency) FROM 'LIST' WITH (FORMAT csv, HEADER)
ANALYZE list;
WITH others AS MATERIALIZED (
	SELECT reference, sum(amount_minor)::bigint AS minor FROM ledger_entries
	WHERE kind IN ('return', 'adjustment') AND lead_id IS NOT NULL AND partner_id = :'partner' GROUP BY reference
), ledger AS (
	SELECT a.reference, a.lead_id, a.partner_id, a.account_id, a.currency, a.amount_minor + coalesce(o.minor, 0) AS minor, a.occurred_at
	FROM ledger_entries a LEFT JOIN others o USING (reference) WHERE a.kind = 'accrual'
), again AS (
	SELECT lead_id, min(line) AS line FROM list GROUP BY lead_id HAVING count(*) > 1
)
INSERT INTO result (reconciliation_id, line, file_row, finding, lead_id, account_id, first_row, file_currency, file_minor, ledger_currency, ledger_minor, received_at)
SELECT :'partner'::uuid, l.line, l.line + 1,
	CASE WHEN again.line < l.line THEN 'duplicate' WHEN ledger.partner_id IS DISTINCT FROM :'partner' THEN 'unknown'
		WHEN ledger.occurred_at < :'from' OR ledger.occurred_at >= :'until' THEN 'outside_period'
		WHEN ledger.minor <> l.amount * 100 OR ledger.currency <> l.currency THEN 'amount_differs' ELSE 'matched' END,
	ledger.lead_id, ledger.account_id, again.line + 1, l.currency, l.amount * 100, ledger.currency, CASE WHEN again.line < l.line THEN NULL ELSE ledger.minor END, ledger.occurred_at
FROM list l LEFT JOIN ledger ON ledger.reference = l.lead_id LEFT JOIN again ON again.lead_id = l.lead_id
UNION ALL
SELECT :'partner'::uuid, (SELECT max(line) FROM list) + row_number() OVER (ORDER BY occurred_at, lead_id), NULL, 'missing', lead_id, account_id, NULL, NULL, NULL, currency, minor, occurred_at
FROM ledger WHERE partner_id = :'partner' AND occurred_at >= :'from' AND occurred_at < :'until' AND NOT EXISTS (SELECT FROM list l WHERE l.lead_id = ledger.reference);
COMMIT;
