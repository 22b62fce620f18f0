-- Stores digests instead of links, so that a copy of the database contains no link that works. Also
-- prevents the service from choosing the id of an audit event, because an event with the largest
-- possible id would stay the last one in the chain forever.

-- +goose Up

-- A token has 256 random bits, so its SHA-256 needs no key. Changing the type rewrites the table,
-- so that no page contains a token. After this, nodes of the previous release cannot open links.
ALTER TABLE partner_links ALTER COLUMN token TYPE bytea
    USING CASE WHEN token LIKE 'sha256:%' THEN decode(substr(token, 8), 'hex') ELSE sha256(convert_to(token, 'UTF8')) END;
ALTER TABLE partner_links RENAME COLUMN token TO digest;
ALTER TABLE partner_links ADD CONSTRAINT partner_links_digest_length CHECK (length(digest) = 32);

REVOKE INSERT ON audit_events FROM pingpost_app;
GRANT INSERT (at, staff_id, actor, role, action, object_kind, object_id, partner_id, before, after, reason, address, request_id, outcome, prev_hash, hash)
    ON audit_events TO pingpost_app;

-- +goose Down
REVOKE INSERT (at, staff_id, actor, role, action, object_kind, object_id, partner_id, before, after, reason, address, request_id, outcome, prev_hash, hash)
    ON audit_events FROM pingpost_app;
GRANT INSERT ON audit_events TO pingpost_app;

-- Tokens never start with sha256:, so the links do not work until this migration is applied again.
ALTER TABLE partner_links DROP CONSTRAINT partner_links_digest_length;
ALTER TABLE partner_links ALTER COLUMN digest TYPE text USING 'sha256:' || encode(digest, 'hex');
ALTER TABLE partner_links RENAME COLUMN digest TO token;
