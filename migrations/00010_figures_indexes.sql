-- Indexes and columns for the partner pages and their figures.

-- +goose Up

-- The text that the partner list searches, in lower case. Converting three columns of each partner
-- would take most of the time of a search.
ALTER TABLE partners ADD COLUMN searched text GENERATED ALWAYS AS (lower(name || E'\n' || legal_name || E'\n' || slug)) STORED;
CREATE INDEX partners_by_name ON partners (lower(name), id);

-- This index is used to find when a secret was last used. Pings and unsigned posts have no secret.
CREATE INDEX traffic_minutes_by_secret ON traffic_minutes (secret_id, minute) WHERE secret_id <> '00000000-0000-0000-0000-000000000000';

-- Summarise pages of the ledger as soon as they are full, instead of at the next vacuum. Until a
-- page is summarised, every query has to read it.
ALTER INDEX ledger_entries_by_time SET (autosummarize = on);
SELECT brin_summarize_new_values('ledger_entries_by_time');

-- +goose Down
ALTER INDEX ledger_entries_by_time RESET (autosummarize);
DROP INDEX traffic_minutes_by_secret;
DROP INDEX partners_by_name;
ALTER TABLE partners DROP COLUMN searched;
