-- Removes two redundant indexes, because every post has to write to each index. They are replaced
-- by unique indexes that are needed anyway. Building the new indexes does not block posts. If a
-- build is interrupted, the next attempt starts it again.

-- +goose NO TRANSACTION

-- +goose Up
SET lock_timeout = 0; -- concurrent builds do not block other statements

-- Allows one accrual for each lead, like ledger_entries_one_accrual, and finds all entries of a
-- lead. No entry has the id 0.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_lead_once;
CREATE UNIQUE INDEX CONCURRENTLY ledger_entries_by_lead_once ON ledger_entries (lead_id, (CASE WHEN kind = 'accrual' THEN 0 ELSE id END));
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_one_accrual;
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_lead;

-- Events are only read by lead.
DROP INDEX CONCURRENTLY IF EXISTS lead_events_key;
CREATE UNIQUE INDEX CONCURRENTLY lead_events_key ON lead_events (lead_id, id);
CALL pg_temp.when_free('ALTER TABLE lead_events DROP CONSTRAINT lead_events_pkey, ADD CONSTRAINT lead_events_pkey PRIMARY KEY USING INDEX lead_events_key');
DROP INDEX CONCURRENTLY IF EXISTS lead_events_by_lead;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS lead_events_key;
CREATE UNIQUE INDEX CONCURRENTLY lead_events_key ON lead_events (id);
ALTER TABLE lead_events DROP CONSTRAINT lead_events_pkey, ADD CONSTRAINT lead_events_pkey PRIMARY KEY USING INDEX lead_events_key;
DROP INDEX CONCURRENTLY IF EXISTS lead_events_by_lead;
CREATE INDEX CONCURRENTLY lead_events_by_lead ON lead_events (lead_id, id);

DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_one_accrual;
CREATE UNIQUE INDEX CONCURRENTLY ledger_entries_one_accrual ON ledger_entries (lead_id) WHERE kind = 'accrual';
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_lead;
CREATE INDEX CONCURRENTLY ledger_entries_by_lead ON ledger_entries (lead_id);
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_lead_once;
