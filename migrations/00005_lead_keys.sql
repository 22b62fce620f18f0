-- Rewrapping of leads with other keys.

-- +goose Up

-- For the number of leads with a key version, and the order in which they are rewrapped.
CREATE INDEX leads_by_key ON leads (key_wrapper, key_version, id);

-- The wrapped data key that the partner received, if the lead was rewrapped since. A replay of
-- the post gets the first answer again (decision 20). Deleted together with body_digest.
ALTER TABLE leads ADD COLUMN answered_key bytea;

-- +goose Down
ALTER TABLE leads DROP COLUMN answered_key;
DROP INDEX leads_by_key;
