-- Indexes and columns for the partner pages and their figures.

-- +goose Up

-- The text that a search in the list of partners matches, in lower case. Converting three
-- columns of each partner for every search would take most of its time.
ALTER TABLE partners ADD COLUMN searched text GENERATED ALWAYS AS (lower(name || E'\n' || legal_name || E'\n' || slug)) STORED;
CREATE INDEX partners_by_name ON partners (lower(name), id);

-- For the last use of a secret. Pings and unsigned posts have none.
CREATE INDEX traffic_minutes_by_secret ON traffic_minutes (secret_id, minute) WHERE secret_id <> '00000000-0000-0000-0000-000000000000';

-- Summarise new pages of the ledger as they fill, and not only at the next vacuum. Without
-- this, each query for the last minute would read all of them.
ALTER INDEX ledger_entries_by_time SET (autosummarize = on);
SELECT brin_summarize_new_values('ledger_entries_by_time');

-- +goose Down
ALTER INDEX ledger_entries_by_time RESET (autosummarize);
DROP INDEX traffic_minutes_by_secret;
DROP INDEX partners_by_name;
ALTER TABLE partners DROP COLUMN searched;
