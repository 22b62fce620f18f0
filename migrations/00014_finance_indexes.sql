-- What the books look up in the ledger. Leads go on being paid for while these are built,
-- which takes minutes of a large ledger; one that was broken off is built anew.

-- +goose NO TRANSACTION

-- +goose Up
SET lock_timeout = 0; -- nobody waits behind what is built concurrently

-- An account's entries: its balance, its statement, what a run claims for it.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_account;
CREATE INDEX CONCURRENTLY ledger_entries_by_account ON ledger_entries (account_id, id);
-- What is not a lead's first entry is rare, and looked for among very many that are.
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_others;
CREATE INDEX CONCURRENTLY ledger_entries_others ON ledger_entries (id) WHERE kind <> 'accrual';
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_of_lead;
CREATE INDEX CONCURRENTLY ledger_entries_of_lead ON ledger_entries (lead_id) WHERE kind <> 'accrual' AND lead_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_account;
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_others;
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_of_lead;
