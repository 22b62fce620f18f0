-- oldest program: 26
-- Staff can redact notes on ledger entries. The entries do not change.

-- +goose Up
ALTER TABLE ledger_notes ADD COLUMN redacted_at timestamptz, ADD COLUMN redacted_by text NOT NULL DEFAULT '';
COMMENT ON COLUMN ledger_notes.redacted_at IS 'When the original text was replaced.';

-- redact_ledger_note runs as the owner, so that the service needs no privilege to change notes. The decision about
-- a return contains the same text as the note. The reason's code before the text stays.
-- +goose StatementBegin
CREATE FUNCTION redact_ledger_note(entry bigint, at timestamptz, actor text) RETURNS void
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
REVOKE ALL ON FUNCTION redact_ledger_note(bigint, timestamptz, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION redact_ledger_note(bigint, timestamptz, text) TO pingpost_app;

-- +goose Down
DROP FUNCTION redact_ledger_note(bigint, timestamptz, text);
ALTER TABLE ledger_notes DROP COLUMN redacted_at, DROP COLUMN redacted_by;
