-- Indexes for the ledger pages. Posts continue while the indexes are built, which takes minutes
-- on a large ledger. An interrupted build starts again.

-- +goose NO TRANSACTION

-- +goose Up
SET lock_timeout = 0; -- concurrent builds do not block other statements

-- An account's entries, for its balance, its statements and payout runs.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_account;
CREATE INDEX CONCURRENTLY ledger_entries_by_account ON ledger_entries (account_id, id);
-- Entries that are not a lead's accrual. They are rare among very many accruals.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_others;
CREATE INDEX CONCURRENTLY ledger_entries_others ON ledger_entries (id) WHERE kind <> 'accrual';
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_of_lead;
CREATE INDEX CONCURRENTLY ledger_entries_of_lead ON ledger_entries (lead_id) WHERE kind <> 'accrual' AND lead_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_account;
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_others;
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_of_lead;
