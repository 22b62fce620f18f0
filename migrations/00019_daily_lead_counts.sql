-- Delivered leads by partner and UTC day, for the partners' daily caps (decision 29).

-- +goose Up
CREATE TABLE daily_lead_counts (
    day        date   NOT NULL,
    partner_id uuid   NOT NULL,
    leads      bigint NOT NULL,
    CONSTRAINT daily_lead_counts_pkey PRIMARY KEY (day, partner_id)
);

-- How far the ledger has been counted. When settling_to was set, entries up to it may not have been
-- committed yet. Their transactions are in writers, as virtual transaction ids from pg_locks.
CREATE TABLE daily_lead_counts_state (
    only_row    boolean CONSTRAINT daily_lead_counts_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT daily_lead_counts_state_one CHECK (only_row),
    counted_to  bigint  NOT NULL, -- ledger_entries.id
    settling_to bigint  NOT NULL,
    writers     text[]  NOT NULL
);
-- Counting starts with yesterday's first entry. OFFSET 0 prevents Postgres from scanning all
-- earlier entries by id.
INSERT INTO daily_lead_counts_state (counted_to, settling_to, writers)
SELECT first, first, '{}' FROM (SELECT coalesce(
    (SELECT min(id) - 1 FROM (
        SELECT id FROM ledger_entries WHERE occurred_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '24 hours' OFFSET 0
    ) AS recent),
    (SELECT max(id) FROM ledger_entries), 0) AS first) AS start;

GRANT SELECT, INSERT, UPDATE, DELETE ON daily_lead_counts TO pingpost_app;
GRANT SELECT ON daily_lead_counts_state TO pingpost_app;
GRANT UPDATE (counted_to, settling_to, writers) ON daily_lead_counts_state TO pingpost_app;

-- +goose Down
DROP TABLE daily_lead_counts_state, daily_lead_counts;
