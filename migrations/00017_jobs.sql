-- Replays and retention runs become background jobs like the others. Before, each had a lease of its own.

-- oldest program: 17
-- +goose Up
ALTER TABLE jobs DROP CONSTRAINT jobs_kind_known,
    ADD CONSTRAINT jobs_kind_known CHECK (kind IN ('reconciliation', 'payout_run', 'export', 'replay', 'retention_run'));
CREATE UNIQUE INDEX jobs_one_open ON jobs (object_id) WHERE state IN ('waiting', 'running');

-- Users can start unfinished replays again. An unfinished retention run is continued.
DELETE FROM rate_card_replays WHERE state <> 'done';
ALTER TABLE rate_card_replays DROP COLUMN state, DROP COLUMN days_done, DROP COLUMN seen_at, DROP COLUMN ended_at;
ALTER TABLE retention_runs DROP COLUMN holder, DROP COLUMN heartbeat_at;
