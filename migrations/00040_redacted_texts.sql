-- oldest program: 26
-- Staff can also redact the evidence of returns, the reasons for their rejection, and notes on the findings of
-- reconciliations (decision 75). Older programs show the redacted texts.

-- +goose Up
ALTER TABLE returns ADD COLUMN redacted_at timestamptz, ADD COLUMN redacted_by text NOT NULL DEFAULT '',
    ADD COLUMN redactions integer NOT NULL DEFAULT 0; -- exports for consumers notice a redaction by this number
COMMENT ON COLUMN returns.redacted_at IS 'When the evidence, or the reason for the rejection, was replaced last.';
ALTER TABLE reconciliation_resolutions ADD COLUMN redacted_at timestamptz, ADD COLUMN redacted_by text NOT NULL DEFAULT '';
COMMENT ON COLUMN reconciliation_resolutions.redacted_at IS 'When the original text was replaced.';

-- The list of all notes is ordered by time.
CREATE INDEX ledger_notes_by_time ON ledger_notes (occurred_at);
CREATE INDEX returns_by_time ON returns (requested_at);
CREATE INDEX reconciliation_resolutions_by_time ON reconciliation_resolutions (at);

DROP TRIGGER reconciliation_resolutions_unchanged ON reconciliation_resolutions;
CREATE TRIGGER reconciliation_resolutions_unchanged BEFORE UPDATE ON reconciliation_resolutions FOR EACH ROW
    WHEN (NEW.note NOT IN ('', '[redacted]') OR (NEW.id, NEW.reconciliation_id, NEW.line, NEW.resolved_by, NEW.at)
        IS DISTINCT FROM (OLD.id, OLD.reconciliation_id, OLD.line, OLD.resolved_by, OLD.at))
    EXECUTE FUNCTION reject_change();

-- These functions run as the owner, so that the service needs no privilege to change notes.
-- +goose StatementBegin
CREATE FUNCTION redact_return(redacted uuid, at timestamptz, actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    -- The decision about an accepted return contains the same text as the note in the ledger, and is redacted with it.
    UPDATE returns r SET redacted_at = at, redacted_by = actor, redactions = r.redactions + 1,
            evidence = CASE r.evidence WHEN '' THEN '' ELSE '[redacted]' END,
            decision_note = CASE WHEN r.state = 'rejected' AND r.decision_note <> '' THEN '[redacted]' ELSE r.decision_note END
        WHERE r.id = redacted;
    IF NOT FOUND OR at IS NULL OR actor = '' THEN
        RAISE EXCEPTION 'no such return' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'returns_redacted';
    END IF;
END
$$;

CREATE FUNCTION redact_resolution(resolution bigint, at timestamptz, actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE reconciliation_resolutions r SET note = '[redacted]', redacted_at = redact_resolution.at, redacted_by = actor
        WHERE r.id = resolution AND r.note <> '' AND r.redacted_at IS NULL;
    IF NOT FOUND OR redact_resolution.at IS NULL OR actor = '' THEN
        RAISE EXCEPTION 'no such note' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'reconciliation_resolutions_redacted';
    END IF;
END
$$;

-- Exports for consumers contain the decision.
CREATE OR REPLACE FUNCTION redact_ledger_note(entry bigint, at timestamptz, actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    redacted record;
BEGIN
    UPDATE ledger_notes n SET redacted_at = at, redacted_by = actor,
            note = CASE e.kind WHEN 'return' THEN split_part(n.note, ': ', 1) || ': ' ELSE '' END || '[redacted]'
        FROM ledger_entries e
        WHERE n.entry_id = entry AND e.id = n.entry_id AND e.occurred_at = n.occurred_at AND e.kind IN ('return', 'adjustment') AND n.redacted_at IS NULL
        RETURNING e.kind, e.lead_id INTO redacted;
    IF NOT FOUND OR at IS NULL OR actor = '' THEN
        RAISE EXCEPTION 'no such note' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'ledger_notes_entry';
    END IF;
    IF redacted.kind = 'return' THEN
        UPDATE returns SET decision_note = '[redacted]', redactions = redactions + 1
            WHERE lead_id = redacted.lead_id AND state = 'accepted' AND decision_note <> '';
    END IF;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION redact_return(uuid, timestamptz, text), redact_resolution(bigint, timestamptz, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION redact_return(uuid, timestamptz, text), redact_resolution(bigint, timestamptz, text) TO pingpost_app;

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION redact_ledger_note(entry bigint, at timestamptz, actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    redacted record;
BEGIN
    UPDATE ledger_notes n SET redacted_at = at, redacted_by = actor,
            note = CASE e.kind WHEN 'return' THEN split_part(n.note, ': ', 1) || ': ' ELSE '' END || '[redacted]'
        FROM ledger_entries e
        WHERE n.entry_id = entry AND e.id = n.entry_id AND e.occurred_at = n.occurred_at AND e.kind IN ('return', 'adjustment') AND n.redacted_at IS NULL
        RETURNING e.kind, e.lead_id INTO redacted;
    IF NOT FOUND OR at IS NULL OR actor = '' THEN
        RAISE EXCEPTION 'no such note' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'ledger_notes_entry';
    END IF;
    IF redacted.kind = 'return' THEN
        UPDATE returns SET decision_note = '[redacted]' WHERE lead_id = redacted.lead_id AND state = 'accepted' AND decision_note <> '';
    END IF;
END
$$;
-- +goose StatementEnd
DROP FUNCTION redact_return(uuid, timestamptz, text), redact_resolution(bigint, timestamptz, text);
DROP TRIGGER reconciliation_resolutions_unchanged ON reconciliation_resolutions;
CREATE TRIGGER reconciliation_resolutions_unchanged BEFORE UPDATE ON reconciliation_resolutions FOR EACH ROW
    WHEN (NEW.note <> '' OR (NEW.id, NEW.reconciliation_id, NEW.line, NEW.resolved_by, NEW.at)
        IS DISTINCT FROM (OLD.id, OLD.reconciliation_id, OLD.line, OLD.resolved_by, OLD.at))
    EXECUTE FUNCTION reject_change();
DROP INDEX ledger_notes_by_time, returns_by_time, reconciliation_resolutions_by_time;
ALTER TABLE reconciliation_resolutions DROP COLUMN redacted_at, DROP COLUMN redacted_by;
ALTER TABLE returns DROP COLUMN redacted_at, DROP COLUMN redacted_by, DROP COLUMN redactions;
