-- oldest program: 26
-- Entries of the erasure journal are signed (decision 69). Programs without signatures cannot erase leads. Entries
-- without a signature stay, but nothing can follow them.

-- +goose Up
ALTER TABLE erasure_entries ADD COLUMN key bytea,
    ADD CONSTRAINT erasure_entries_key_size CHECK (key IS NOT NULL AND length(key) = 32) NOT VALID,
    DROP CONSTRAINT erasure_entries_reason_known,
    ADD CONSTRAINT erasure_entries_reason_known CHECK (reason IN ('request', 'complaint', 'no_consent', 'legal', 'other', 'retention', 'key'));
COMMENT ON COLUMN erasure_entries.key IS 'The public key that signs the next entry.';
GRANT INSERT (key) ON erasure_entries TO pingpost_app;
DROP TRIGGER erasure_entries_unchanged ON erasure_entries;
CREATE TRIGGER erasure_entries_unchanged BEFORE UPDATE ON erasure_entries FOR EACH ROW
    WHEN (OLD.erased_at IS NOT NULL OR (NEW.sequence, NEW.hash, NEW.body, NEW.key, NEW.reason, NEW.actor, NEW.staff_id, NEW.requested_at, NEW.keeps_consent)
        IS DISTINCT FROM (OLD.sequence, OLD.hash, OLD.body, OLD.key, OLD.reason, OLD.actor, OLD.staff_id, OLD.requested_at, OLD.keeps_consent))
    EXECUTE FUNCTION reject_change();

-- +goose Down
DROP TRIGGER erasure_entries_unchanged ON erasure_entries;
ALTER TABLE erasure_entries DROP COLUMN key, DROP CONSTRAINT erasure_entries_reason_known,
    ADD CONSTRAINT erasure_entries_reason_known CHECK (reason IN ('request', 'complaint', 'no_consent', 'legal', 'other', 'retention')) NOT VALID;
CREATE TRIGGER erasure_entries_unchanged BEFORE UPDATE ON erasure_entries FOR EACH ROW
    WHEN (OLD.erased_at IS NOT NULL OR (NEW.sequence, NEW.hash, NEW.body, NEW.reason, NEW.actor, NEW.staff_id, NEW.requested_at, NEW.keeps_consent)
        IS DISTINCT FROM (OLD.sequence, OLD.hash, OLD.body, OLD.reason, OLD.actor, OLD.staff_id, OLD.requested_at, OLD.keeps_consent))
    EXECUTE FUNCTION reject_change();
