-- An index and a column for rewrapping leads.

-- +goose Up

-- This index is used to count the leads by key version, and to rewrap them in order.
CREATE INDEX leads_by_key ON leads (key_wrapper, key_version, id);

-- The wrapped data key that the partner received, if the lead has been rewrapped since then. If the
-- post is replayed, the response contains this key again (decision 20). The key is deleted together
-- with body_digest.
ALTER TABLE leads ADD COLUMN answered_key bytea;

-- +goose Down
ALTER TABLE leads DROP COLUMN answered_key;
DROP INDEX leads_by_key;
