-- oldest program: 26
-- Stolen evidence keys can be revoked.

-- +goose Up
ALTER TABLE evidence_keys ADD COLUMN revoked_at timestamptz;
COMMENT ON COLUMN evidence_keys.revoked_at IS 'Packs that were signed later are not valid, because the key was stolen.';

-- A retired key can be revoked. The time of a revocation can only become earlier.
DROP TRIGGER evidence_keys_unchanged ON evidence_keys;
CREATE TRIGGER evidence_keys_unchanged BEFORE UPDATE ON evidence_keys FOR EACH ROW
    WHEN ((NEW.id, NEW.public_key, NEW.created_at) IS DISTINCT FROM (OLD.id, OLD.public_key, OLD.created_at)
        OR OLD.retired_at IS NOT NULL AND (NEW.retired_at IS DISTINCT FROM OLD.retired_at OR NEW.sealed IS NOT NULL
            OR NEW.revoked_at IS NOT DISTINCT FROM OLD.revoked_at)
        OR NEW.revoked_at IS NULL AND OLD.revoked_at IS NOT NULL OR NEW.revoked_at > OLD.revoked_at)
    EXECUTE FUNCTION reject_change();
ALTER TABLE evidence_keys ADD CONSTRAINT evidence_keys_revoked CHECK (revoked_at IS NULL OR retired_at IS NOT NULL);

DROP TRIGGER evidence_keys_snapshot ON evidence_keys;
CREATE TRIGGER evidence_keys_snapshot AFTER INSERT OR UPDATE OF retired_at, revoked_at ON evidence_keys FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('evidence_keys');

GRANT UPDATE (revoked_at) ON evidence_keys TO pingpost_app;

-- +goose Down
DROP TRIGGER evidence_keys_unchanged ON evidence_keys;
CREATE TRIGGER evidence_keys_unchanged BEFORE UPDATE ON evidence_keys FOR EACH ROW
    WHEN (OLD.retired_at IS NOT NULL OR (NEW.id, NEW.public_key, NEW.created_at) IS DISTINCT FROM (OLD.id, OLD.public_key, OLD.created_at))
    EXECUTE FUNCTION reject_change();
DROP TRIGGER evidence_keys_snapshot ON evidence_keys;
CREATE TRIGGER evidence_keys_snapshot AFTER INSERT OR UPDATE OF retired_at ON evidence_keys FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('evidence_keys');
ALTER TABLE evidence_keys DROP COLUMN revoked_at;
