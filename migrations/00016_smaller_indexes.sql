-- Smaller indexes, so that posts do not become slower as the tables grow. Building the indexes does
-- not block posts. If a build is interrupted, the next attempt starts it again.

-- +goose NO TRANSACTION

-- +goose Up
SET lock_timeout = 0; -- concurrent builds do not block other statements

-- The reference of an accrual is its lead, which is already unique. So only the references of other
-- entries need this index.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_reference_new;
CREATE UNIQUE INDEX CONCURRENTLY ledger_entries_reference_new ON ledger_entries (partner_id, kind, reference) WHERE kind <> 'accrual';
-- +goose StatementBegin
CALL pg_temp.when_free('
    ALTER TABLE ledger_entries DROP CONSTRAINT IF EXISTS ledger_entries_reference_key;
    DROP INDEX IF EXISTS ledger_entries_reference_key;
    ALTER INDEX ledger_entries_reference_new RENAME TO ledger_entries_reference_key');
-- +goose StatementEnd

-- These indexes find a consumer's leads by a key of seven bytes. The first three bytes are the
-- start of the lead's id, which is its time in spans of 2^24 ms. So posts only write to the pages
-- of the current span. The other four are the first bytes of the digest after the id of the
-- digest's key. The indexes include leads without a digest, because Postgres only collects
-- statistics for complete indexes.
DROP INDEX CONCURRENTLY IF EXISTS leads_by_span_email;
CREATE INDEX CONCURRENTLY leads_by_span_email ON leads ((substr(uuid_send(id), 1, 3) || substr(email_digest, 5, 4)));
DROP INDEX CONCURRENTLY IF EXISTS leads_by_span_phone;
CREATE INDEX CONCURRENTLY leads_by_span_phone ON leads ((substr(uuid_send(id), 1, 3) || substr(phone_digest, 5, 4)));
DROP INDEX CONCURRENTLY IF EXISTS leads_by_day_email;
DROP INDEX CONCURRENTLY IF EXISTS leads_by_day_phone;
ANALYZE leads; -- collects the statistics now

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS leads_by_day_email;
CREATE INDEX CONCURRENTLY leads_by_day_email ON leads (((received_at AT TIME ZONE 'UTC')::date), email_digest) WHERE email_digest IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS leads_by_day_phone;
CREATE INDEX CONCURRENTLY leads_by_day_phone ON leads (((received_at AT TIME ZONE 'UTC')::date), phone_digest) WHERE phone_digest IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS leads_by_span_email;
DROP INDEX CONCURRENTLY IF EXISTS leads_by_span_phone;

DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_reference_new;
CREATE UNIQUE INDEX CONCURRENTLY ledger_entries_reference_new ON ledger_entries (partner_id, kind, reference);
-- +goose StatementBegin
DO $$
BEGIN
    ALTER TABLE ledger_entries DROP CONSTRAINT IF EXISTS ledger_entries_reference_key;
    DROP INDEX IF EXISTS ledger_entries_reference_key;
    ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_reference_key UNIQUE USING INDEX ledger_entries_reference_new;
END
$$;
-- +goose StatementEnd
