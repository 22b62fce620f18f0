-- Digests are random, so an index on a digest alone writes to a different page for each lead,
-- and each page is written in full after a checkpoint. With the day as the first column, only
-- one part of the index is written. A lookup has to read each day's part, which takes a few
-- milliseconds for years of data.

-- +goose Up
CREATE INDEX leads_by_day_email ON leads (((received_at AT TIME ZONE 'UTC')::date), email_digest) WHERE email_digest IS NOT NULL;
CREATE INDEX leads_by_day_phone ON leads (((received_at AT TIME ZONE 'UTC')::date), phone_digest) WHERE phone_digest IS NOT NULL;
DROP INDEX leads_by_email;
DROP INDEX leads_by_phone;

-- Entries are stored in order of time, so the sum of a month only reads that month's pages.
CREATE INDEX ledger_entries_by_time ON ledger_entries USING brin (occurred_at);

-- +goose Down
DROP INDEX ledger_entries_by_time;
CREATE INDEX leads_by_email ON leads (email_digest) WHERE email_digest IS NOT NULL;
CREATE INDEX leads_by_phone ON leads (phone_digest) WHERE phone_digest IS NOT NULL;
DROP INDEX leads_by_day_email;
DROP INDEX leads_by_day_phone;
