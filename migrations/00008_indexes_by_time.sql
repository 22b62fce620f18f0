-- Digests are random. If an index contained only the digest, each lead would write to a different
-- page of it, and after a checkpoint Postgres would log each of these pages in full. With the day
-- as the first column, leads only write to one part of the index. A lookup has to read the parts of
-- all days. This takes a few milliseconds for years of data.

-- +goose Up
CREATE INDEX leads_by_day_email ON leads (((received_at AT TIME ZONE 'UTC')::date), email_digest) WHERE email_digest IS NOT NULL;
CREATE INDEX leads_by_day_phone ON leads (((received_at AT TIME ZONE 'UTC')::date), phone_digest) WHERE phone_digest IS NOT NULL;
DROP INDEX leads_by_email;
DROP INDEX leads_by_phone;

-- Entries are stored in chronological order, so a query for a month only reads that month's pages.
CREATE INDEX ledger_entries_by_time ON ledger_entries USING brin (occurred_at);

-- +goose Down
DROP INDEX ledger_entries_by_time;
CREATE INDEX leads_by_email ON leads (email_digest) WHERE email_digest IS NOT NULL;
CREATE INDEX leads_by_phone ON leads (phone_digest) WHERE phone_digest IS NOT NULL;
DROP INDEX leads_by_day_email;
DROP INDEX leads_by_day_phone;
