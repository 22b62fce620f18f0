-- What a post writes to grows with the platform's years: these indexes grow less, so that
-- a post costs the same on large tables. Leads go on being delivered meanwhile; what was
-- broken off is built anew.

-- +goose NO TRANSACTION

-- +goose Up
SET lock_timeout = 0; -- nobody waits behind what is built concurrently

-- A lead's accrual is referred to by its lead, and that is unique already: only the other
-- entries' references are left to be.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_reference_new;
CREATE UNIQUE INDEX CONCURRENTLY ledger_entries_reference_new ON ledger_entries (partner_id, kind, reference) WHERE kind <> 'accrual';
-- +goose StatementBegin
CALL pg_temp.when_free('
    ALTER TABLE ledger_entries DROP CONSTRAINT IF EXISTS ledger_entries_reference_key;
    DROP INDEX IF EXISTS ledger_entries_reference_key;
    ALTER INDEX ledger_entries_reference_new RENAME TO ledger_entries_reference_key');
-- +goose StatementEnd

-- Seven bytes find a person's leads: when a lead came, in spans of 2^24 ms, which is how
-- its id begins, and how the digest goes on after the name of its key. Posts write to
-- the pages of the span, however many leads there are. Leads without one are in it too:
-- Postgres knows how rare a key is of whole indexes only.
DROP INDEX CONCURRENTLY IF EXISTS leads_by_span_email;
CREATE INDEX CONCURRENTLY leads_by_span_email ON leads ((substr(uuid_send(id), 1, 3) || substr(email_digest, 5, 4)));
DROP INDEX CONCURRENTLY IF EXISTS leads_by_span_phone;
CREATE INDEX CONCURRENTLY leads_by_span_phone ON leads ((substr(uuid_send(id), 1, 3) || substr(phone_digest, 5, 4)));
DROP INDEX CONCURRENTLY IF EXISTS leads_by_day_email;
DROP INDEX CONCURRENTLY IF EXISTS leads_by_day_phone;
ANALYZE leads; -- else it does not know yet

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
