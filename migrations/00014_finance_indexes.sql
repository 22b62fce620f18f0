-- Indexes for the ledger pages. Building them takes minutes on a large ledger, but does not block
-- posts. If a build is interrupted, the next attempt starts it again.

-- +goose NO TRANSACTION

-- +goose Up
SET lock_timeout = 0; -- concurrent builds do not block other statements

-- An account's entries, for balances, statements and payout runs.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_account;
CREATE INDEX CONCURRENTLY ledger_entries_by_account ON ledger_entries (account_id, id);
-- Entries other than accruals, which are a small part of the ledger.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_others;
CREATE INDEX CONCURRENTLY ledger_entries_others ON ledger_entries (id) WHERE kind <> 'accrual';
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_of_lead;
CREATE INDEX CONCURRENTLY ledger_entries_of_lead ON ledger_entries (lead_id) WHERE kind <> 'accrual' AND lead_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_account;
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_others;
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_of_lead;
