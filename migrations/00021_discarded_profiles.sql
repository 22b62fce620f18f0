-- A discarded reconciliation keeps no column names of the partner's file, because they can contain
-- personal data if the file has no header.

-- +goose Up
GRANT UPDATE (profile) ON reconciliations TO pingpost_app;
ALTER TABLE reconciliations DISABLE TRIGGER reconciliations_immutable;
UPDATE reconciliations SET profile = profile - 'columns' WHERE state = 'discarded' AND profile ? 'columns';
ALTER TABLE reconciliations ENABLE TRIGGER reconciliations_immutable;

-- +goose Down
REVOKE UPDATE (profile) ON reconciliations FROM pingpost_app;
