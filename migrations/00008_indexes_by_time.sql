-- Digests are random: an index of them alone is written to all over, a page of it
-- for each lead, and each page whole after a checkpoint. With the day in front only
-- the day's part is written to; a look-up asks each day's part, which is a few
-- milliseconds for years.

-- +goose Up
CREATE INDEX leads_by_day_email ON leads (((received_at AT TIME ZONE 'UTC')::date), email_digest) WHERE email_digest IS NOT NULL;
CREATE INDEX leads_by_day_phone ON leads (((received_at AT TIME ZONE 'UTC')::date), phone_digest) WHERE phone_digest IS NOT NULL;
DROP INDEX leads_by_email;
DROP INDEX leads_by_phone;

-- Entries come in the order of time: to add up a month, its pages are enough.
CREATE INDEX ledger_entries_by_time ON ledger_entries USING brin (occurred_at);

-- +goose Down
DROP INDEX ledger_entries_by_time;
CREATE INDEX leads_by_email ON leads (email_digest) WHERE email_digest IS NOT NULL;
CREATE INDEX leads_by_phone ON leads (phone_digest) WHERE phone_digest IS NOT NULL;
DROP INDEX leads_by_day_email;
DROP INDEX leads_by_day_phone;
