-- The keys that sign evidence packs.

-- +goose Up
CREATE TABLE evidence_keys (
    id         text        CONSTRAINT evidence_keys_pkey PRIMARY KEY, -- the JWK thumbprint of the public key (RFC 7638)
    public_key bytea       NOT NULL CONSTRAINT evidence_keys_size CHECK (length(public_key) = 32),
    sealed     bytea, -- the private key; deleted when the key is retired
    created_at timestamptz NOT NULL,
    retired_at timestamptz, -- null for the key that signs new packs
    CONSTRAINT evidence_keys_sealed CHECK ((sealed IS NULL) = (retired_at IS NOT NULL))
);
COMMENT ON TABLE evidence_keys IS 'The keys that sign evidence packs. One of them signs new packs. The public keys of all others stay, so that older packs can be verified.';
CREATE UNIQUE INDEX evidence_keys_one_active ON evidence_keys ((true)) WHERE retired_at IS NULL;

-- A key can be sealed again and retired. Otherwise, keys never change.
CREATE TRIGGER evidence_keys_unchanged BEFORE UPDATE ON evidence_keys FOR EACH ROW
    WHEN (OLD.retired_at IS NOT NULL OR (NEW.id, NEW.public_key, NEW.created_at) IS DISTINCT FROM (OLD.id, OLD.public_key, OLD.created_at))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER evidence_keys_stay BEFORE DELETE ON evidence_keys FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER evidence_keys_no_truncate BEFORE TRUNCATE ON evidence_keys FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

-- Nodes keep the public keys in memory, so that publishing them needs no query.
INSERT INTO snapshot_versions VALUES ('evidence_keys', 1);
CREATE TRIGGER evidence_keys_snapshot AFTER INSERT OR UPDATE OF retired_at ON evidence_keys FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('evidence_keys');

GRANT SELECT, INSERT (id, public_key, sealed, created_at), UPDATE (sealed, retired_at) ON evidence_keys TO pingpost_app;

-- +goose Down
DELETE FROM snapshot_versions WHERE name = 'evidence_keys';
DROP TABLE evidence_keys;
