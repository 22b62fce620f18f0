-- What the partners' pages and the figures behind them look up.

-- +goose Up

-- What a list of partners is searched for, in lower case already: to fold three
-- columns of each partner anew takes most of the time of a search.
ALTER TABLE partners ADD COLUMN searched text GENERATED ALWAYS AS (lower(name || E'\n' || legal_name || E'\n' || slug)) STORED;
CREATE INDEX partners_by_name ON partners (lower(name), id);

-- When a secret was last used. Pings and unsigned posts have none.
CREATE INDEX traffic_minutes_by_secret ON traffic_minutes (secret_id, minute) WHERE secret_id <> '00000000-0000-0000-0000-000000000000';

-- New pages of the ledger are summarised as they fill, and not at the next vacuum
-- only: until then each look at the last minute would read them all.
ALTER INDEX ledger_entries_by_time SET (autosummarize = on);
SELECT brin_summarize_new_values('ledger_entries_by_time');

-- +goose Down
ALTER INDEX ledger_entries_by_time RESET (autosummarize);
DROP INDEX traffic_minutes_by_secret;
DROP INDEX partners_by_name;
ALTER TABLE partners DROP COLUMN searched;
