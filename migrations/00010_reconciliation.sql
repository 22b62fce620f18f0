-- Comparisons of partners' files with the ledger.

-- +goose Up
CREATE TABLE reconciliations (
    id          uuid        CONSTRAINT reconciliations_pkey PRIMARY KEY,
    partner_id  uuid        NOT NULL,
    file_id     uuid        CONSTRAINT reconciliations_file_fkey REFERENCES files ON DELETE SET NULL, -- NULL after the file was deleted
    file_name   text        NOT NULL,
    file_size   bigint      NOT NULL,
    file_sha256 bytea       NOT NULL,
    profile     jsonb       NOT NULL, -- properties of the file's columns, without values
    mapping     jsonb, -- which columns are used, and the formats of their values
    period_from date, -- the first and the last day of the file's coverage
    period_to   date,
    state       text        NOT NULL CONSTRAINT reconciliations_state_known CHECK (state IN ('uploaded', 'comparing', 'compared', 'saved', 'discarded')),
    result      jsonb, -- counts and sums
    as_of       timestamptz, -- the file was compared with the ledger at this time
    created_by  text        NOT NULL,
    created_at  timestamptz NOT NULL,
    compared_at timestamptz,
    saved_by    text        NOT NULL DEFAULT '',
    saved_at    timestamptz,
    row_version integer     NOT NULL DEFAULT 1,
    CONSTRAINT reconciliations_compared_when CHECK (state NOT IN ('compared', 'saved') OR (mapping IS NOT NULL AND result IS NOT NULL AND as_of IS NOT NULL AND period_from <= period_to)),
    CONSTRAINT reconciliations_saved_when CHECK ((state = 'saved') = (saved_at IS NOT NULL))
);
COMMENT ON TABLE reconciliations IS 'Reconciliations, with their file, column mapping and state.';
CREATE INDEX reconciliations_by_partner ON reconciliations (partner_id, id);
CREATE INDEX reconciliations_by_file ON reconciliations (file_sha256);

-- One line for each row of the file, in the same order, and then one line for each lead in the period
-- that is not in the file. Amounts are in minor units, and NULL if they could not be read.
CREATE TABLE reconciliation_lines (
    reconciliation_id uuid    NOT NULL, -- checked by a trigger once per statement; a foreign key would be checked for each row
    line              integer NOT NULL,
    file_row          integer, -- the row number in a spreadsheet; NULL if the lead is not in the file
    finding           text    NOT NULL CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
                          ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable', 'left_out', 'not_compared')),
    problem           text    NOT NULL DEFAULT '', -- the reason why a row is unreadable, or 'currency' if the currency differs
    lead_id           uuid,
    account_id        uuid, -- the lead's account
    other_partner     uuid, -- the lead's partner if it is not the file's; hidden from users who may not see it
    first_row         integer, -- for a duplicate: the lead's first row, which counts
    file_currency     char(3),
    file_minor        bigint, -- the amount in the file
    ledger_currency   char(3),
    ledger_minor      bigint, -- the ledger's total for the lead
    received_at       timestamptz, -- when the lead was received
    CONSTRAINT reconciliation_lines_pkey PRIMARY KEY (reconciliation_id, line)
);
COMMENT ON TABLE reconciliation_lines IS 'Reconciliation findings, one for each row or lead.';
CREATE INDEX reconciliation_lines_findings ON reconciliation_lines (reconciliation_id, finding, line) WHERE finding <> 'matched';
CREATE INDEX reconciliation_lines_by_lead ON reconciliation_lines (lead_id) WHERE finding = 'amount_differs';

CREATE TABLE reconciliation_resolutions (
    id                bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT reconciliation_resolutions_pkey PRIMARY KEY,
    reconciliation_id uuid        NOT NULL,
    line              integer     NOT NULL,
    note              text        NOT NULL, -- '' after the lead was erased
    resolved_by       text        NOT NULL,
    at                timestamptz NOT NULL,
    redacted_at       timestamptz,
    redacted_by       text        NOT NULL DEFAULT '',
    CONSTRAINT reconciliation_resolutions_line_fkey FOREIGN KEY (reconciliation_id, line) REFERENCES reconciliation_lines
);
COMMENT ON TABLE reconciliation_resolutions IS 'Findings that a user resolved, with the user''s note.';
COMMENT ON COLUMN reconciliation_resolutions.redacted_at IS 'When the original text was replaced.';
CREATE INDEX reconciliation_resolutions_by_line ON reconciliation_resolutions (reconciliation_id, line, id);
CREATE INDEX reconciliation_resolutions_by_time ON reconciliation_resolutions (at);

-- +goose StatementBegin
CREATE FUNCTION reject_reconciliation_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('saved', 'discarded') AND (to_jsonb(NEW) - 'file_id') IS DISTINCT FROM (to_jsonb(OLD) - 'file_id') THEN
        RAISE EXCEPTION 'this reconciliation can no longer be changed' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'reconciliations_immutable';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION reject_late_line() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM (SELECT DISTINCT reconciliation_id FROM added) a LEFT JOIN reconciliations r ON r.id = a.reconciliation_id
        WHERE r.state IS DISTINCT FROM 'comparing') THEN
        RAISE EXCEPTION 'nothing can be added to this reconciliation' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'reconciliations_immutable';
    END IF;
    RETURN NULL;
END
$$;
-- drop_reconciliation_lines deletes the first lines of a reconciliation that was discarded or is
-- compared again. It runs as the owner, like release_payout_run. Lines are numbered without gaps and
-- deleted in order.
CREATE FUNCTION drop_reconciliation_lines(reconciliation uuid, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE n bigint;
BEGIN
    PERFORM FROM reconciliations WHERE id = reconciliation AND state NOT IN ('compared', 'saved') FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this reconciliation can no longer be changed' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'reconciliations_immutable';
    END IF;
    DELETE FROM reconciliation_lines WHERE reconciliation_id = reconciliation
        AND line < most + (SELECT min(line) FROM reconciliation_lines WHERE reconciliation_id = reconciliation);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;

-- redact_resolution runs as the owner, like redact_return.
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
-- +goose StatementEnd
CREATE TRIGGER reconciliations_immutable BEFORE UPDATE ON reconciliations FOR EACH ROW EXECUTE FUNCTION reject_reconciliation_change();
CREATE TRIGGER reconciliation_lines_in_time AFTER INSERT ON reconciliation_lines REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION reject_late_line();
CREATE TRIGGER reconciliation_lines_stay BEFORE UPDATE ON reconciliation_lines FOR EACH ROW EXECUTE FUNCTION reject_change();
-- A note can only be erased or redacted.
CREATE TRIGGER reconciliation_resolutions_unchanged BEFORE UPDATE ON reconciliation_resolutions FOR EACH ROW
    WHEN (NEW.note NOT IN ('', '[redacted]') OR (NEW.id, NEW.reconciliation_id, NEW.line, NEW.resolved_by, NEW.at)
        IS DISTINCT FROM (OLD.id, OLD.reconciliation_id, OLD.line, OLD.resolved_by, OLD.at))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER reconciliation_resolutions_stay BEFORE DELETE ON reconciliation_resolutions FOR EACH ROW EXECUTE FUNCTION reject_change();
