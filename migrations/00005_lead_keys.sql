-- Leads move between keys.

-- +goose Up

-- Which leads a key version still holds, and in which order they are moved on.
CREATE INDEX leads_by_key ON leads (key_wrapper, key_version, id);

-- The wrapped data key that the partner was sent, once another has taken its
-- place: a retry gets the first answer again (decision 20). Kept as long as body_digest.
ALTER TABLE leads ADD COLUMN answered_key bytea;

-- +goose Down
ALTER TABLE leads DROP COLUMN answered_key;
DROP INDEX leads_by_key;
